"""Tests that what the documents show can be typed, and prints what they say."""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import ROOT, environment
from tests.docs.blocks import (
    PORT,
    RUNNABLE,
    Block,
    blocks,
    comparable,
    free_port,
    matches,
    script,
    sessions,
    with_port,
)

DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
)
BLOCKS = [block for path in DOCUMENTS for block in blocks(path) if block.kind in RUNNABLE]


def shell(commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands of a document, with the `placement` of this environment first in the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", script(commands, free_port())],
        cwd=ROOT,
        env=environment(PATH=path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def server() -> Iterator[int]:
    """A server of its own on a free port, which it yields."""
    process = subprocess.Popen(
        [sys.executable, "-m", "placement", "serve", "--port", "0"],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().rpartition(":")[2])
    finally:
        process.terminate()
        process.communicate(timeout=30)


def program(source: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program of a document."""
    return subprocess.run(
        [sys.executable, "-c", source],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_block_runs(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests one block of a document."""
    if block.kind == "sh":
        done = shell(block.text)
        assert done.returncode == 0, done.stdout
    elif block.kind == "console":
        for session in sessions(block.text):
            done = shell(session.command)
            assert matches(session.output, done.stdout), (
                f"{block.name}: `{session.command}` prints\n{comparable(done.stdout)}"
            )
    elif ">>>" in block.text:
        monkeypatch.chdir(ROOT)
        test = doctest.DocTestParser().get_doctest(
            block.text, {}, block.name, str(block.path), block.line
        )
        results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
        assert results.attempted
        assert results.failed == 0
    elif PORT in block.text:
        with server() as port:
            done = program(with_port(block.text, port))
        assert done.returncode == 0, done.stderr
    else:
        done = program(block.text)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """Tests that each relative link names a file that is there."""
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_readme_begins_with_what_a_new_user_needs() -> None:
    """Tests that the two commands and an output stand within the first forty lines."""
    first = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40])
    for words in ("make demo", "make test", "$ placement solve"):
        assert words in first


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a, 0.12 s\n", "a, 3.45 s  \n", True),
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n...\nc\n", "a\nb\n", False),
        ("1 of 2\n", "2 of 2\n", False),
    ],
)
def test_outputs_are_compared(expected: str, printed: str, same: bool) -> None:
    """Tests that a stale output in a document is noticed."""
    assert matches(expected, printed) is same
