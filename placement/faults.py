"""Errors of input: each names its place; all are reported at once."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Location = tuple[str | int, ...]
"""Keys and list indices from the root of a document to a value."""


def format_path(location: Iterable[str | int]) -> str:
    """Write a location as ``jobs[3].tasks[0].cpu``; odd keys as ``labels["a.b"]``."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif re.fullmatch(r"[A-Za-z0-9_/-]+", part):
            path += f".{part}" if path else part
        else:
            path += f"[{json.dumps(part if len(part) <= 60 else part[:57] + '...')}]"
    return path


class FieldFaultsError(ValueError):
    """What a model found wrong with itself: places inside it, each with a message.

    Raised in validators only; it becomes one :class:`Fault` for each entry.
    """

    def __init__(self, faults: Sequence[tuple[Location, str]]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(message for _, message in self.faults))


def raise_faults(faults: Sequence[tuple[Location, str]]) -> None:
    """Raise :class:`FieldFaultsError` if there are any."""
    if faults:
        raise FieldFaultsError(faults)


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
