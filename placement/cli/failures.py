"""How the command fails: which exit status, and what is said on standard error."""

import contextlib
import errno
import sys
from enum import IntEnum

from placement.faults import InvalidProblemError


class ExitStatus(IntEnum):
    """Exit status of every command."""

    OK = 0
    """An answer (also when jobs wait); for ``verify``: no violations."""

    FAILED = 1
    """Anything else; for ``verify``: violations."""

    BAD_INPUT = 2
    """The input or the command line cannot be understood, or asks for what is not honoured."""

    INTERRUPTED = 130
    """Ctrl-C before there was an answer."""


class CommandError(Exception):
    """A failure that is explained to the user in one line.

    Attributes
    ----------
    status
        Exit status.
    """

    def __init__(self, message: str, status: ExitStatus = ExitStatus.FAILED) -> None:
        self.status = status
        super().__init__(message)


def failure_status(error: Exception) -> ExitStatus:
    """Exit status for a failure."""
    if isinstance(error, CommandError):
        return error.status
    if isinstance(error, InvalidProblemError):
        return ExitStatus.BAD_INPUT
    return ExitStatus.FAILED


def report_failure(error: Exception) -> None:
    """Say on standard error what went wrong: one line for each fault, else one line."""
    if isinstance(error, InvalidProblemError):
        for fault in error.faults:
            complain(str(fault))
    elif isinstance(error, CommandError):
        complain(f"placement: {error}")
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
        complain("placement: no space left on the device")
    else:
        text = " ".join(str(error).split())[:300]
        complain(
            f"placement: unexpected {type(error).__name__}{': ' if text else ''}{text} "
            "(placement --debug COMMAND ... shows where)"
        )


def complain(text: str) -> None:
    """Write one line to standard error."""
    # Nobody may be listening there any more; that is no failure of the command.
    with contextlib.suppress(BrokenPipeError):
        print(one_line(text, sys.stderr.encoding), file=sys.stderr, flush=True)


def one_line(text: str, encoding: str | None) -> str:
    """Text that stays on its line: what cannot be shown there is written as an escape."""
    line = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
    encoding = encoding or "utf-8"
    return line.encode(encoding, "backslashreplace").decode(encoding)
