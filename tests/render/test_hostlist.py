"""Tests of folding node names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.hostlists import expand_hosts
from placement.render.hostlist import compact_hostlist


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["login"], "login"),
        (["n01", "n02", "n04"], "n[01-02,04]"),
        (["n2", "n1", "n1"], "n[1-2]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n09", "n10", "n9"], "n[09-10],n9"),
        (["n099", "n100", "n101"], "n[099-101]"),
        (["n01", "n100"], "n01,n100"),
        (["a-1-gpu", "a-2-gpu"], "a-[1-2]-gpu"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        (["n", "n1", "n0", "n2"], "n,n[0-2]"),
    ],
)
def test_names_fold(names: list[str], folded: str) -> None:
    """Tests what a list of names looks like."""
    assert compact_hostlist(names) == folded


NAMES = st.from_regex(r"[a-c]{0,2}-?[0-9]{0,3}[a-c]?", fullmatch=True).filter(bool)


@given(st.lists(NAMES))
def test_folding_keeps_every_name(names: list[str]) -> None:
    """Tests that the hostlist reader gives back exactly the names folded."""
    parts: list[str] = []
    depth = 0
    for character in compact_hostlist(names) + ",":
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1:] = [(parts[-1] if parts else "") + character]
    expanded = [name for part in parts if part for name in expand_hosts(part)]
    assert sorted(expanded) == sorted(set(names))
