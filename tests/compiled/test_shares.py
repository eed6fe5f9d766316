"""Packing of GPU shares: exact, with the fewest GPUs opened."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from placement.compiled.shares import opened_gpus, pack_shares


def brute_force(shared: list[int], idle: int, capacity: int, items: list[int]) -> int | None:
    """Fewest opened GPUs over all assignments."""
    best = None
    bins = len(shared) + idle
    for choice in itertools.product(range(bins), repeat=len(items)):
        room = [*shared, *[capacity] * idle]
        for item, bin_index in zip(items, choice, strict=True):
            room[bin_index] -= item
        if min(room, default=0) < 0:
            continue
        opened = len({b for b in choice if b >= len(shared)})
        best = opened if best is None else min(best, opened)
    return best


@given(
    shared=st.lists(st.integers(1, 9), max_size=2),
    idle=st.integers(0, 2),
    items=st.lists(st.integers(1, 10), max_size=5),
)
def test_as_few_gpus_are_opened_as_any_assignment_needs(
    shared: list[int], idle: int, items: list[int]
) -> None:
    assert opened_gpus(shared, idle, 10, items) == brute_force(shared, idle, 10, items)


@given(
    shared=st.lists(st.integers(1, 9), max_size=3),
    items=st.lists(st.integers(1, 10), max_size=8),
)
def test_no_gpu_holds_more_than_it_has(shared: list[int], items: list[int]) -> None:
    packed = pack_shares(shared, 4, 10, items)
    if packed is None:
        return
    room = [*shared, *[10] * 4]
    for item, bin_index in zip(items, packed, strict=True):
        room[bin_index] -= item
    assert min(room) >= 0
    opened = sorted({b for b in packed if b >= len(shared)})
    assert opened == list(range(len(shared), len(shared) + len(opened)))


def test_best_fit_decreasing_alone_would_open_one_more() -> None:
    # Best fit decreasing puts 6 with 4 and strands the 3s; 6+3+... in pairs needs three GPUs.
    assert opened_gpus([], 3, 12, [6, 6, 4, 4, 4, 3, 3, 3, 3]) == 3
