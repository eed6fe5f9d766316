"""What tasks of given sizes can fill of a free amount."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers.cp_sat.fill import fillable


def reachable(free: int, sizes: list[int]) -> int:
    sums = {0}
    while True:
        more = {s + size for s in sums for size in sizes if s + size <= free} | sums
        if more == sums:
            return max(sums)
        sums = more


@given(free=st.integers(0, 60), sizes=st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_the_largest_sum_of_sizes_within_the_amount(free: int, sizes: list[int]) -> None:
    assert fillable(np.array([free]), sizes).tolist() == [reachable(free, sizes)]


@pytest.mark.parametrize(
    ("free", "sizes", "expected"),
    [
        pytest.param(7, [4, 8], 4, id="nested sizes round down to the smallest"),
        pytest.param(7, [3, 4], 7, id="two sizes together"),
        pytest.param(10**12, [10**9], 10**12, id="beyond the table: the gcd only"),
        pytest.param(10**12 + 5, [10**9, 10**9 + 10**6], 10**12, id="odd rest is lost"),
    ],
)
def test_table(free: int, sizes: list[int], expected: int) -> None:
    assert fillable(np.array([free]), sizes).tolist() == [expected]
