"""JSON as plain data: repeated keys are found, floats keep their text, lines come late."""

import json
import re
from collections.abc import Collection
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from placement.faults import Location
from placement.quantities import WrittenFloat
from placement.text_faults import TextError, TextFault
from placement.yaml_text import MOST_DEPTH

_SPACE = re.compile(r"[ \t\n\r]*")


def parse_json(text: str) -> tuple[Any, list[TextFault]]:
    """Read one JSON document; the second part are the keys that a mapping has twice.

    Raises
    ------
    TextError
        If it is not JSON, or nests too deep.
    """
    repeats = False

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        made = dict(pairs)
        repeats = repeats or len(made) < len(pairs)
        return made

    try:
        data = json.loads(text, object_pairs_hook=mapping, parse_float=WrittenFloat)
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} (column {error.colno})"
        raise TextError(TextFault(message, error.lineno)) from None
    except RecursionError:
        raise TextError(TextFault(f"nests deeper than {MOST_DEPTH} levels", None)) from None
    except ValueError:
        raise TextError(TextFault("has a number of thousands of digits", None)) from None
    return data, _repeated_keys(text) if repeats else []


def json_lines(text: str, wanted: Collection[Location]) -> dict[Location, int]:
    """Line of each wanted location that is written in the text; lines count from 1.

    A value of a mapping is where its key is. ``text`` is JSON.
    """
    prefixes = {location[:length] for location in wanted for length in range(len(location))}
    walk = _Walk(text, set(wanted), prefixes)
    walk.value(walk.skip_space(0), ())
    return {location: walk.line(offset) for location, offset in walk.offsets.items()}


def _repeated_keys(text: str) -> list[TextFault]:
    walk = _Walk(text, set(), None)
    walk.value(walk.skip_space(0), ())
    return [
        TextFault("is written twice", walk.line(offset), location)
        for location, offset in walk.repeated
    ]


class _Walk:
    """Walks through JSON text; what nobody asks about is skipped by the decoder."""

    def __init__(self, text: str, wanted: set[Location], prefixes: set[Location] | None) -> None:
        self.text = text
        self.wanted = wanted
        self.prefixes = prefixes  # None: look at everything
        self.offsets: dict[Location, int] = {}
        self.repeated: list[tuple[Location, int]] = []
        self._decoder = json.JSONDecoder()
        self._counted = (0, 1)

    def skip_space(self, offset: int) -> int:
        match = _SPACE.match(self.text, offset)
        return offset if match is None else match.end()

    def line(self, offset: int) -> int:
        """Line of an offset; quick if asked in ascending order."""
        start, line = self._counted if self._counted[0] <= offset else (0, 1)
        line += self.text.count("\n", start, offset)
        self._counted = (offset, line)
        return line

    def value(self, offset: int, path: Location) -> int:
        """Walk through the value at ``offset`` and return where it ends."""
        opener = self.text[offset]
        deep = opener in "{[" and (self.prefixes is None or path in self.prefixes)
        if not deep:
            end: int = self._decoder.raw_decode(self.text, offset)[1]
            return end
        seen: set[str] = set()
        index = 0
        offset = self.skip_space(offset + 1)
        while self.text[offset] not in "}]":
            at = offset
            if opener == "{":
                key, offset = scanstring(self.text, offset + 1, True)
                inner: Location = (*path, key)
                if key in seen:
                    self.repeated.append((inner, at))
                seen.add(key)
                offset = self.skip_space(self.skip_space(offset) + 1)
            else:
                inner = (*path, index)
                index += 1
            if inner in self.wanted:
                self.offsets.setdefault(inner, at)
            offset = self.skip_space(self.value(offset, inner))
            if self.text[offset] == ",":
                offset = self.skip_space(offset + 1)
        return offset + 1
