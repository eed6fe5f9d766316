#!/usr/bin/env python3
"""Resolve the dependencies into requirements/*.lock: every version and hash, for every Python.

    lock.py [--upgrade]

Without ``--upgrade`` a version already locked stays where it still fits.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UV = ROOT / ".venv-lock" / "bin" / "uv"

LOCKS = {
    # The first holds everything that meets in one environment; the next two are parts of it.
    "dev.lock": ["pyproject.toml", "--group", "dev", "--group", "build"],
    "build.lock": ["--group", "build", "--constraints", "requirements/dev.lock"],
    "runtime.lock": ["pyproject.toml", "--constraints", "requirements/dev.lock"],
    "protos.lock": ["requirements/protos.in"],
}
HEADER = "# Made by `make lock`; do not edit.\n"


def set_up():
    """Make the environment that uv runs in."""
    if not (ROOT / ".venv-lock" / "bin" / "python").exists():
        subprocess.run(
            [sys.executable, "-m", "venv", "--clear", ".venv-lock"], cwd=ROOT, check=True
        )
    pip = [".venv-lock/bin/python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "-r", "requirements/lock.in"], cwd=ROOT, check=True)


def compile_lock(name, sources, upgrade):
    """Write one lock file."""
    path = ROOT / "requirements" / name
    command = [UV, "pip", "compile", "--quiet", *sources, "--output-file", path]
    command += ["--system-certs"]  # as pip does: a proxy may have an authority of its own
    command += ["--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--fork-strategy", "fewest"]  # one version for every Python, where there is one
    command += ["--exclude-newer", "7 days"]  # a release younger than a week waits
    command += ["--no-header", "--no-emit-index-url", "--no-emit-find-links", "--no-annotate"]
    if upgrade:
        command.append("--upgrade")
    subprocess.run(command, cwd=ROOT, check=True)
    lines = path.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("-", "#"))]
    path.write_text(HEADER + "".join(kept))


def main():
    """Make every lock file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upgrade", action="store_true", help="take the newest that fit")
    arguments = parser.parse_args()
    set_up()
    for name, sources in LOCKS.items():
        compile_lock(name, sources, arguments.upgrade)


if __name__ == "__main__":
    main()
