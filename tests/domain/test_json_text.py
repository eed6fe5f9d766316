"""JSON: repeated keys, floats as written, lines only when asked for."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.faults import Location
from placement.json_text import json_lines, parse_json
from placement.text_faults import TextError

_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


def _locations(data: object, path: Location = ()) -> dict[Location, object]:
    found: dict[Location, object] = {path: data} if path else {}
    if isinstance(data, dict):
        for key, value in data.items():
            found |= _locations(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            found |= _locations(value, (*path, index))
    return found


@given(_DATA, st.sampled_from([None, 0, 1]))
def test_every_value_has_a_line(data: object, indent: int | None) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    wanted = _locations(data)
    lines = json_lines(text, wanted)
    assert lines.keys() == wanted.keys()
    written = text.split("\n")
    for location, line in lines.items():
        if isinstance(location[-1], str):
            assert json.dumps(location[-1], ensure_ascii=False) in written[line - 1]


def test_one_value_is_found_among_many() -> None:
    text = json.dumps({"skip": [{"a": [1, 2]}] * 3, "b": [{}, {"c": 1}]}, indent=1)
    assert json_lines(text, {("b", 1, "c"), ("nope",)}) == {
        ("b", 1, "c"): text.split("\n").index('   "c": 1') + 1
    }


def test_floats_remember_their_text() -> None:
    data, _ = parse_json('{"a": 12.10}')
    assert data["a"].text == "12.10"


def test_repeated_keys_have_places() -> None:
    _, repeated = parse_json('{"a": 1,\n"b": [{"c": 1,\n"c": 2}],\n"a": 3}')
    assert [(fault.location, fault.line) for fault in repeated] == [(("b", 0, "c"), 3), (("a",), 4)]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("{", "not JSON", 1),
        ('{"a": 1,}', "not JSON", 1),
        ('{"a": 1}\n{"b": 2}', "not JSON", 2),
        ("{'a': 1}", "not JSON", 1),
        ('{"a": ' + "9" * 5000 + "}", "digits", None),
        ("[" * 100_000, "nests", None),
        ('{"a":' * 100_000, "nests", None),
    ],
)
def test_refused(text: str, message: str, line: int | None) -> None:
    with pytest.raises(TextError, match=message) as error:
        parse_json(text)
    assert error.value.faults[0].line == line
