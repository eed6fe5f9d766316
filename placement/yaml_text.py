"""YAML 1.2 as plain data: the core schema, no surprises, and never more than was written.

The text is read as a stream of events, in one pass and without recursion: how deep it nests and
how large its aliases expand is known before anything is built from it.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from placement.faults import Location
from placement.quantities import WrittenFloat, WrittenInt, shown
from placement.text_faults import TextError, TextFault

MOST_DEPTH = 64
"""Deepest nesting of mappings and lists."""

MOST_EXPANDED = 1_000_000
"""Most values that aliases may add to those that are written."""

_CORE = "tag:yaml.org,2002:"
_NULL = ("", "~", "null", "Null", "NULL")
_BOOLEAN = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_RADIX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MOST_NUMBER = 64
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is being read.

    ``size`` counts its values with aliases expanded, ``height`` how deep they nest.
    """

    value: dict[str, Any] | list[Any]
    anchor: str | None
    key: str | None = None
    size: int = 1
    height: int = 1


@dataclass(slots=True)
class _Reader:
    frames: list[_Frame] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int, int] | None] = field(default_factory=dict)
    scalars: dict[str, Any] = field(default_factory=dict)
    faults: list[TextFault] = field(default_factory=list)
    root: Any = None
    written: int = 0

    def location(self) -> Location:
        return tuple(
            len(frame.value) if isinstance(frame.value, list) else str(frame.key)
            for frame in self.frames
        )

    def fail(self, message: str, event: Any) -> TextError:
        return TextError(*self.faults, TextFault(message, _line(event)))

    def add(self, value: Any, size: int, height: int, event: Any) -> None:
        """Put a finished value where it belongs."""
        if not self.frames:
            self.root = value
            return
        frame = self.frames[-1]
        frame.size += size
        frame.height = max(frame.height, height + 1)
        if len(self.frames) + height > MOST_DEPTH:
            raise self.fail(f"nests deeper than {MOST_DEPTH} levels", event)
        if frame.size > MOST_EXPANDED + self.written:
            raise self.fail(f"aliases expand to over {MOST_EXPANDED} values", event)
        if isinstance(frame.value, list):
            frame.value.append(value)
        else:
            frame.value[str(frame.key)] = value
            frame.key = None

    def expects_key(self) -> bool:
        return (
            bool(self.frames)
            and self.frames[-1].key is None
            and isinstance(self.frames[-1].value, dict)
        )

    def add_key(self, key: str, event: Any) -> None:
        frame = self.frames[-1]
        frame.key = key
        if key in frame.value:
            self.faults.append(TextFault("is written twice", _line(event), self.location()))


def parse_yaml(text: str) -> tuple[Any, list[TextFault]]:
    """Read one YAML document; the second part are the keys that a mapping has twice.

    Keys are the text as written; floats and odd integers remember theirs.

    Raises
    ------
    TextError
        If it is not YAML, not one document, or nests or expands too far.
    """
    reader = _Reader()
    documents = 0
    for event in _events(text):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise reader.fail("holds more than one document", event)
        elif isinstance(event, yaml.NodeEvent):
            reader.written += 1
            _read_node(reader, event)
        elif isinstance(event, yaml.CollectionEndEvent):
            frame = reader.frames.pop()
            if frame.anchor is not None:
                reader.anchors[frame.anchor] = (frame.value, frame.size, frame.height)
            reader.add(frame.value, frame.size, frame.height, event)
    return reader.root, reader.faults


def _read_node(reader: _Reader, event: Any) -> None:
    if isinstance(event, yaml.AliasEvent):
        value, size, height = _aliased(reader, event)
    elif isinstance(event, yaml.ScalarEvent):
        if reader.expects_key() and event.tag is None:
            value = event.value
        else:
            value = _scalar(reader, event)
        size, height = 1, 0
        if event.anchor is not None:
            reader.anchors[event.anchor] = (value, 1, 0)
    else:
        if reader.expects_key():
            raise reader.fail("a key that is a mapping or a list; keys are text", event)
        if len(reader.frames) >= MOST_DEPTH:
            raise reader.fail(f"nests deeper than {MOST_DEPTH} levels", event)
        is_list = isinstance(event, yaml.SequenceStartEvent)
        if event.tag not in (None, "!", _CORE + ("seq" if is_list else "map")):
            raise reader.fail(f"the tag {_tag(event.tag)} is not known", event)
        if event.anchor is not None:
            reader.anchors[event.anchor] = None
        reader.frames.append(_Frame([] if is_list else {}, event.anchor))
        return
    if reader.expects_key():
        if isinstance(value, dict | list):
            raise reader.fail("a key that is a mapping or a list; keys are text", event)
        reader.add_key(value if isinstance(value, str) else event.value, event)
    else:
        reader.add(value, size, height, event)


def _aliased(reader: _Reader, event: Any) -> tuple[Any, int, int]:
    if event.anchor not in reader.anchors:
        raise reader.fail(f"the alias *{event.anchor[:40]} has no anchor before it", event)
    found = reader.anchors[event.anchor]
    if found is None:
        raise reader.fail(f"the alias *{event.anchor[:40]} contains itself", event)
    if reader.expects_key() and not isinstance(found[0], str):
        raise reader.fail("an alias as key; keys are text", event)
    return found


def _scalar(reader: _Reader, event: Any) -> Any:
    text: str = event.value
    tag = event.tag
    if tag is None:
        if not event.implicit[0]:
            return text
        if text not in reader.scalars:
            reader.scalars[text] = resolve_plain(text)
        return reader.scalars[text]
    if tag in ("!", _CORE + "str"):
        return text
    value = resolve_plain(text)
    kinds = {
        "null": value is None,
        "bool": isinstance(value, bool),
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool),
    }
    kind = tag.removeprefix(_CORE)
    if kind not in kinds:
        raise reader.fail(f"the tag {_tag(tag)} is not known", event)
    if not kinds[kind]:
        raise reader.fail(f"{shown(text)} is not of the type {_tag(tag)}", event)
    return value


def _tag(tag: str) -> str:
    return tag.replace(_CORE, "!!", 1)[:60]


def resolve_plain(text: str) -> object:
    """Value of a scalar without quotes, by the YAML 1.2 core schema."""
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if len(text) > _MOST_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        value = int(text)
        return value if str(value) == text else WrittenInt(value, text)
    if _FLOAT.fullmatch(text):
        return WrittenFloat(text)
    if _RADIX.fullmatch(text):
        return WrittenInt(int(text[2:], 8 if text[1] == "o" else 16), text)
    if _NOT_FINITE.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text


def _events(text: str) -> Iterator[Any]:
    try:
        yield from yaml.parse(text, Loader=yaml.CSafeLoader)
    except yaml.reader.ReaderError as error:
        found = _FORBIDDEN.search(text)
        line = None if found is None else text.count("\n", 0, found.start()) + 1
        what = error.reason if found is None else f"the character U+{ord(found[0]):04X}"
        raise TextError(TextFault(f"is not YAML: {what} is not allowed in text", line)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = " ".join(part for part in (error.context, error.problem) if part)
        # At the end of the text the mark may be on a line that is not there.
        last = text.rstrip("\n").count("\n") + 1
        line = None if mark is None else min(mark.line + 1, last)
        raise TextError(TextFault(f"is not YAML: {said}", line)) from None
    except yaml.YAMLError as error:
        raise TextError(TextFault(f"is not YAML: {str(error)[:200]}", None)) from None


def yaml_lines(text: str, wanted: Collection[Location]) -> dict[Location, int]:
    """Line of each wanted location that is written in the text; lines count from 1.

    A value of a mapping is where its key is. What stands behind an alias is not found.
    """
    lines: dict[Location, int] = {}
    depths = {len(location) for location in wanted}
    path: list[str | int | None] = []  # in a mapping the key; None where one is expected

    def note(event: Any) -> None:
        if len(path) in depths and tuple(path) in wanted:
            lines.setdefault(tuple(part for part in path if part is not None), _line(event))

    def advance() -> None:
        if path:
            part = path[-1]
            path[-1] = part + 1 if isinstance(part, int) else None

    for event in _events(text):
        if isinstance(event, yaml.CollectionEndEvent):
            path.pop()
            advance()
        elif isinstance(event, yaml.NodeEvent):
            if path and path[-1] is None:
                path[-1] = getattr(event, "value", "")
                note(event)
                continue
            if path and isinstance(path[-1], int):
                note(event)
            if isinstance(event, yaml.CollectionStartEvent):
                path.append(0 if isinstance(event, yaml.SequenceStartEvent) else None)
            else:
                advance()
    return lines


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1
