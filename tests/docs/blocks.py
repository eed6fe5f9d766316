"""Fenced blocks of Markdown files, and how each kind is run.

``sh``
    Commands; each block is one bash script in the repository, and must end with status 0.
``console``
    Lines that begin with ``$ `` are commands, what follows is what they print (standard output and
    error together). A line ``...`` stands for any lines. Seconds may differ.
``python``
    A program; ``>>>`` blocks are doctests.

``make`` only shows what it would do. The port 50551 is replaced by a free one; a Python program
that names it finds a server there.
"""

import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PORT = "50551"

RUNNABLE = ("sh", "console", "python")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; ``line`` is the first line of its text."""

    path: Path
    line: int
    kind: str
    text: str

    @property
    def name(self) -> str:
        """File and line, for test names."""
        return f"{self.path.name}:{self.line}"


@dataclass(frozen=True, slots=True)
class Session:
    """One command of a ``console`` block and what it prints."""

    command: str
    output: str


def blocks(path: Path) -> Iterator[Block]:
    """All fenced blocks of a file."""
    text = path.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        yield Block(path, line, match[1], match[2])


def sessions(text: str) -> list[Session]:
    """Commands and outputs of a ``console`` block."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    assert parts[0] == "", "a console block begins with a command"
    return [
        Session(command, output) for command, output in zip(parts[1::2], parts[2::2], strict=True)
    ]


def script(commands: str, port: int) -> str:
    """A bash script of these commands that stops at the first failure."""
    dry = re.sub(r"^make\b", "make -n", commands, flags=re.MULTILINE)
    return "set -euo pipefail\n" + with_port(dry, port)


def with_port(text: str, port: int) -> str:
    """The text with this port in place of the documents' one."""
    return text.replace(PORT, str(port))


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def comparable(text: str) -> str:
    """Output without what may differ: seconds, and blanks at the ends of lines."""
    text = re.sub(r"\b[0-9]+\.[0-9]+ s\b", "# s", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def matches(expected: str, printed: str) -> bool:
    """Whether this is what was to be printed."""
    parts = re.split(r"^\.\.\.$", comparable(expected), flags=re.MULTILINE)
    pattern = ".*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, comparable(printed), re.DOTALL) is not None
