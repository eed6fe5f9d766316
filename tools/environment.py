#!/usr/bin/env python3
"""Make a virtual environment hold exactly what lock files name; quick when it already does.

    environment.py DIRECTORY [--editable] LOCK...

The locks are installed in the order given, with hashes checked, from the index pip is set up for.
A fingerprint of the locks is left in the directory, so that a second call has nothing to do. A
directory that is half made, or whose Python no longer runs, is made anew. ``--editable`` installs
this repository as well.

Runs on any Python 3, in order to say clearly when that Python is too old.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys

OLDEST = (3, 11)
ROOT = pathlib.Path(__file__).resolve().parent.parent


def stop(message):
    """End with a message and exit code 1."""
    sys.exit("error: " + message)


def require_python():
    """Stop unless this Python is new enough and can make virtual environments."""
    if sys.version_info < OLDEST:
        stop(
            "Python {}.{} or newer is needed; {} is {}.{}. "
            "Name another one: make PYTHON=/path/to/python3.11".format(
                *OLDEST, sys.executable, *sys.version_info[:2]
            )
        )
    try:
        import ensurepip
        import venv
    except ImportError:
        stop(
            "{} cannot make virtual environments (module venv or ensurepip is missing). "
            "On Debian and Ubuntu: apt-get install python3-venv".format(sys.executable)
        )
    del ensurepip, venv


def fingerprint(locks, editable):
    """Name what the environment is to hold."""
    digest = hashlib.sha256(repr(editable).encode())
    sources = [*locks, ROOT / "tools" / "environment.py"]
    if editable:
        sources.append(ROOT / "pyproject.toml")
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()


def works(python):
    """Whether an environment's Python runs, is new enough, and has pip."""
    check = "import sys, pip; sys.exit(sys.version_info < {!r})".format(OLDEST)
    try:
        done = subprocess.run(
            [str(python), "-c", check],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def run(*command):
    """Run a command, or stop with its exit code."""
    done = subprocess.run([str(part) for part in command], cwd=str(ROOT), check=False)
    if done.returncode != 0:
        stop("failed ({}): {}".format(done.returncode, " ".join(map(str, command))))


def install(directory, locks, editable):
    """Bring the environment to what the locks name."""
    python = directory / "bin" / "python"
    if not works(python):
        print("making {}".format(directory), flush=True)
        run(sys.executable, "-m", "venv", "--clear", directory)
    # No build isolation: what builds a source distribution is locked too.
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-input", "--no-build-isolation", "--use-pep517"]
    for lock in locks:
        print("installing {}".format(lock.relative_to(ROOT)), flush=True)
        run(*pip, "--require-hashes", "--requirement", lock)
    if editable:
        run(*pip, "--no-deps", "--editable", ROOT)


@contextlib.contextmanager
def only_one(directory):
    """Let one process at a time work on the directory."""
    path = directory.parent / (directory.name + ".lock")
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def main():
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--editable", action="store_true")
    parser.add_argument("locks", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    require_python()
    directory = ROOT / arguments.directory
    locks = [(ROOT / lock).resolve() for lock in arguments.locks]
    stamp = directory / ".installed"
    wanted = fingerprint(locks, arguments.editable)

    def current():
        return stamp.is_file() and stamp.read_text() == wanted and works(directory / "bin/python")

    if current():
        return
    for place in (ROOT, directory):
        if place.exists() and not os.access(str(place), os.W_OK):
            stop("{} is not writable for this user".format(place))
    with only_one(directory):
        if current():
            return
        if stamp.exists():
            stamp.unlink()
        install(directory, locks, arguments.editable)
        stamp.write_text(wanted)


if __name__ == "__main__":
    main()
