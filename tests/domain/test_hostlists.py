"""Hostlist expressions: order and padding kept, nothing grows beyond bounds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.hostlists import MOST_HOSTS, expand_hosts
from placement.render.hostlist import compact_hostlist


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("n1", ["n1"]),
        ("n[3]", ["n3"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[001-003]", ["n001", "n002", "n003"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[9,1-2]", ["n9", "n1", "n2"]),
        ("b2,a1", ["b2", "a1"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("x[1-2]-ib,y", ["x1-ib", "x2-ib", "y"]),
        ("gpu node 7", ["gpu node 7"]),
    ],
)
def test_expansion(expression: str, names: list[str]) -> None:
    assert expand_hosts(expression) == names


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("(null)", "stands for no node"),
        ("n[1", "is not a hostlist"),
        ("n1]", "is not a hostlist"),
        ("n[[1]]", "is not a hostlist"),
        ("n[]", "is not a hostlist"),
        ("n[a-b]", "is not a hostlist"),
        ("n[1-2,]", "bad range"),
        ("n[1-2-3]", "bad range"),
        ("n[3-1]", "backwards"),
        ("a,,b", "is not a hostlist"),
        ("a,", "is not a hostlist"),
        (",", "is not a hostlist"),
        ("n[1-3],n2", "twice"),
        ("n[1-1000001]", "1000001 nodes"),
        ("n[1-1001][1-1001]", "1002001 nodes"),
        ("n[0-999999999999999999]", "at most 1000000"),
        ("n[1-9999999999999999999999]", "bad range"),
        ("n" + "[1-2]" * 40, "brackets"),
        ("n" * 254, "253"),
        ("n" * 250 + "[100-200]", "253"),
    ],
)
def test_refused(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        expand_hosts(expression)


def test_the_most_that_is_expanded() -> None:
    assert len(expand_hosts(f"n[1-{MOST_HOSTS}]")) == MOST_HOSTS


@given(st.lists(st.from_regex(re.compile(r"[a-z]{1,3}[0-9]{0,3}"), fullmatch=True), unique=True))
def test_what_is_folded_for_people_unfolds_again(names: list[str]) -> None:
    folded = compact_hostlist(names)
    assert sorted(expand_hosts(folded) if folded else []) == sorted(names)


@given(st.text(alphabet="an019[],-() ", max_size=30))
def test_anything_expands_or_is_refused(expression: str) -> None:
    try:
        names = expand_hosts(expression)
    except ValueError as error:
        assert str(error)
    else:
        assert len(set(names)) == len(names)
        assert all(not set(name) & set("[],") for name in names)


def test_what_there_is_no_room_for_is_not_expanded() -> None:
    with pytest.raises(ValueError, match=f"over {MOST_HOSTS} nodes"):
        expand_hosts("n[1-900000]", room=100_000)
    assert expand_hosts("n[1-2]", room=2) == ["n1", "n2"]
