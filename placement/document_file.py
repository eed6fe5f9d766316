"""One file of a problem: read within bounds, decoded, parsed, and asked for line numbers later."""

import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from placement.faults import Location
from placement.json_text import json_lines, parse_json
from placement.text_faults import TextError, TextFault
from placement.yaml_text import parse_yaml, yaml_lines

STANDARD_INPUT = "-"
"""Path that stands for standard input."""


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """What one file holds.

    Attributes
    ----------
    name
        As in messages.
    data
        Mappings, lists and scalars.
    text
        The file, decoded.
    is_json
        Whether it was read as JSON.
    repeated
        Keys that a mapping has twice; ``data`` has the last.
    """

    name: str
    data: Any
    text: str
    is_json: bool
    repeated: tuple[TextFault, ...]

    def lines(self, wanted: Collection[Location]) -> dict[Location, int]:
        """Line of each location, or of the nearest around it that is written; from 1."""
        around = {location[:end] for location in wanted for end in range(len(location) + 1)}
        found = (json_lines if self.is_json else yaml_lines)(self.text, around)
        lines: dict[Location, int] = {}
        for location in wanted:
            for end in range(len(location), 0, -1):
                if location[:end] in found:
                    lines[location] = found[location[:end]]
                    break
        return lines


def display_name(path: Path | str) -> str:
    """Name of a file in messages."""
    return "<stdin>" if str(path) == STANDARD_INPUT else str(path)


def read_document(path: Path | str, *, most_bytes: int) -> DocumentFile:
    """Read and parse one YAML or JSON file; ``-`` is standard input.

    Raises
    ------
    TextError
        If it cannot be read, is larger than ``most_bytes``, or is not YAML or JSON.
    """
    text = _decoded(_bytes(path, most_bytes))
    if not text.strip():
        raise TextError(TextFault("is empty", None))
    named_json = str(path).lower().endswith(".json")
    if named_json or text.lstrip()[0] in "{[":
        try:
            data, repeated = parse_json(text)
            return DocumentFile(display_name(path), data, text, True, tuple(repeated))
        except TextError:
            # What is in braces may be YAML in flow style.
            if named_json:
                raise
    data, repeated = parse_yaml(text)
    if data is None:
        raise TextError(TextFault("is empty", None))
    return DocumentFile(display_name(path), data, text, False, tuple(repeated))


def _bytes(path: Path | str, most_bytes: int) -> bytes:
    try:
        if str(path) == STANDARD_INPUT:
            return _bounded(sys.stdin.buffer, most_bytes)
        with Path(path).open("rb") as file:
            return _bounded(file, most_bytes)
    except FileNotFoundError:
        raise TextError(TextFault("there is no such file", None)) from None
    except IsADirectoryError:
        raise TextError(TextFault("is a directory, not a file", None)) from None
    except PermissionError:
        raise TextError(TextFault("may not be read: permission denied", None)) from None
    except OSError as error:
        raise TextError(TextFault(f"cannot be read: {error.strerror or error}", None)) from None
    except ValueError:
        raise TextError(TextFault("is not a file name", None)) from None


def _bounded(file: BinaryIO, most_bytes: int) -> bytes:
    # Read rather than asked for its size: pipes and devices have none.
    data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise TextError(TextFault(f"is larger than {most_bytes} bytes", None))
    return data


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TextError(TextFault("is UTF-16; save it as UTF-8", None))
    nul = data.find(b"\0")
    if nul >= 0:
        message = f"is not text: byte {nul} is NUL"
        raise TextError(TextFault(message, data.count(b"\n", 0, nul) + 1))
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}"
        raise TextError(TextFault(message, data.count(b"\n", 0, error.start) + 1)) from None
