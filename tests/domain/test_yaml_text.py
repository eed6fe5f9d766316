"""YAML 1.2: the core schema, one document, nothing that grows."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.faults import Location
from placement.text_faults import TextError
from placement.yaml_text import parse_yaml, yaml_lines


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-1", -1),
        ("010", 10),
        ("0o10", 8),
        ("0x1f", 31),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        # Numbers, truths and times of YAML 1.1 are text.
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("0b11", "0b11"),
        ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z"),
        ("2026-11-30", "2026-11-30"),
        ("+90m", "+90m"),
        ("1g.10gb", "1g.10gb"),
        ("=", "="),
        ('"12"', "12"),
        ("'true'", "true"),
        ("!!str 12", "12"),
        ("!!int 12", 12),
        ("!!float 12", 12),
        ("! 12", "12"),
        ("[a, [b], {c: 1}]", ["a", ["b"], {"c": 1}]),
        (
            "{on: 1, 2: b, ~: c, 1.50: d, true: e}",
            {"on": 1, "2": "b", "~": "c", "1.50": "d", "true": "e"},
        ),
        ("&a x", "x"),
        ("[&a {b: 1}, *a]", [{"b": 1}, {"b": 1}]),
        ("{&k key: 1, other: *k}", {"key": 1, "other": "key"}),
    ],
)
def test_values(text: str, value: object) -> None:
    data, repeated = parse_yaml(text)
    assert data == value
    assert type(data) is type(value) or isinstance(data, int | float)
    assert not repeated


@pytest.mark.parametrize("text", ["12.10", "1e3", "1.0", "+1", "007", "0x1F", "0.0"])
def test_numbers_remember_their_text(text: str) -> None:
    assert parse_yaml(text)[0].text == text


def _layers(count: int, width: int) -> str:
    lines = ["a0: &a0 [" + ", ".join("x" * width) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * width) + "]" for n in range(1, count)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a: [1", "not YAML", 1),
        ("a: 1\n b: 2", "not YAML", 2),
        ("a: 'b", "not YAML", 1),
        ("a: \x07", "U+0007", 1),
        ("a: b\n---\nc: d", "more than one document", 2),
        ("a: &x [*x]", "contains itself", 1),
        ("a: &x {b: *x}", "contains itself", 1),
        ("a: *x", "no anchor", 1),
        ("a: 1\n? [b]\n: 2", "a key that is a mapping or a list", 2),
        ("x: &l [1]\n*l : 2", "alias as key", 2),
        ("a: !!python/object:os.system rm", "tag", 1),
        ("a: !thing 1", "tag", 1),
        ("a: !thing [1]", "tag", 1),
        ("a: !!int x", "not of the type", 1),
        ("a: !!timestamp 2026-11-30", "tag", 1),
        ("[" * 65 + "]" * 65, "deeper than 64", 1),
        ("[" * 200_000, "not YAML|deeper than 64", 1),
        ("- " * 200_000, "not YAML|deeper than 64", 1),
        ("{a: " * 200_000, "not YAML|deeper than 64", 1),
        (_layers(12, 9), "aliases expand", 7),
        (_layers(70, 1), "deeper than 64", 64),
    ],
)
def test_refused(text: str, message: str, line: int) -> None:
    with pytest.raises(TextError, match=message.replace("+", r"\+")) as error:
        parse_yaml(text)
    assert error.value.faults[0].line == line


def test_modest_use_of_aliases_is_welcome() -> None:
    data, _ = parse_yaml("base: &b {a: 1, b: 2}\njobs:\n" + "- *b\n" * 1000)
    assert data["jobs"] == [{"a": 1, "b": 2}] * 1000


def test_repeated_keys_have_places() -> None:
    _, repeated = parse_yaml("a: 1\nb:\n- {c: 1, c: 2}\na: 3\n")
    assert [(fault.location, fault.line) for fault in repeated] == [(("b", 0, "c"), 3), (("a",), 4)]


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("a",), 1),
        (("b",), 2),
        (("b", 0), 3),
        (("b", 0, "c"), 3),
        (("b", 0, "d"), 4),
        (("b", 1), 5),
        (("b", 1, 0), 5),
        (("e",), 6),
        (("e", "f"), 7),
        (("g",), 8),
        (("h",), None),
        (("b", 2), None),
    ],
)
def test_lines(location: Location, line: int | None) -> None:
    text = "a: 1\nb:\n- c: 1\n  d: 2\n- [1, 2]\ne:\n  f: {x: y}\ng: 1\n"
    assert yaml_lines(text, {location}) == ({} if line is None else {location: line})


# Not beyond U+FFFF: JSON escapes such letters in halves, which YAML does not know.
_TEXT = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=5)
_DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(_DATA)
def test_json_is_yaml(data: object) -> None:
    text = json.dumps(data)
    assert parse_yaml(text)[0] == data


@given(st.text() | st.text(alphabet="ab:-[]{}&*!\"'#\n ,?|>%@"))
def test_anything_is_read_or_refused(text: str) -> None:
    try:
        parse_yaml(text)
    except TextError as error:
        assert error.faults
