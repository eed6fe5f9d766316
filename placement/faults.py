"""Errors of input: each names its place; all are reported at once."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the input.

    Attributes
    ----------
    path
        Place in the document, such as ``jobs[3].tasks[0].cpu``; empty for the whole.
    message
        What is wrong, and the nearest right value where there is one.
    file, line
        Where it was written, if it came from a file; lines count from 1.
    """

    path: str
    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ": ".join(part for part in (place, self.path, self.message) if part)


class InvalidProblemError(ValueError):
    """The input cannot be understood, or contradicts itself.

    Attributes
    ----------
    faults
        Everything that was found wrong, in document order; at least one.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class UnsupportedProblemError(InvalidProblemError):
    """The input is well formed, but asks for what this version does not honour yet."""
