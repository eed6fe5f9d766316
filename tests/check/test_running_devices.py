"""Which GPUs running tasks are taken to hold that do not say so."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.problem_file import problem_from_document
from placement.running_devices import fewest_opened, named_devices
from tests.oracle.brute_force import fewest_gpus

# GPUs of the node, unhealthy ones, tasks as (gpus, devices), and the devices of each.
CASES: list[tuple[str, int, list[int], list[tuple[float, list[int] | None]], list[Any]]] = [
    ("whole ones from the top", 8, [], [(2, None), (1, None)], [(6, 7), (5,)]),
    ("around those that are named", 4, [], [(1, [3]), (2, None)], [(3,), (1, 2)]),
    ("healthy ones first", 4, [3], [(3, None)], [(0, 1, 2)]),
    ("unhealthy ones when there is no other", 4, [3], [(3, None), (1, None)], [(0, 1, 2), (3,)]),
    ("shares together", 4, [], [(0.5, None), (0.7, None), (0.5, None)], [(2,), (3,), (2,)]),
    ("a share joins a named one", 4, [], [(0.4, [0]), (0.6, None)], [(0,), (0,)]),
    ("a share that does not fit there", 4, [], [(0.4, [0]), (0.7, None)], [(0,), (3,)]),
    ("no more than there is", 2, [], [(1, None), (0.6, None), (0.6, None)], [None, None, None]),
]


@pytest.mark.parametrize(
    ("count", "unhealthy", "tasks", "wanted"), [pytest.param(*c[1:], id=c[0]) for c in CASES]
)
def test_devices(
    count: int,
    unhealthy: list[int],
    tasks: list[tuple[float, list[int] | None]],
    wanted: list[tuple[int, ...] | None],
) -> None:
    written = [
        {"node": "n", "cpu": 1, "gpus": gpus} | ({} if devices is None else {"devices": devices})
        for gpus, devices in tasks
    ]
    problem = problem_from_document(
        {
            "now": "2026-11-30T12:00:00Z",
            "cluster": {
                "shapes": {"s": {"cpu": 9, "gpus": {"model": "X", "count": count}}},
                "nodes": [{"name": "n", "shape": "s", "unhealthy_gpus": unhealthy}],
                "running": [{"job": "r", "tasks": written}],
            },
            "jobs": [{"name": "j", "cpu": 1}],
        }
    )
    assert [task.devices for task in named_devices(problem)[0].tasks] == wanted


@given(
    st.lists(st.integers(0, 9), max_size=3),
    st.integers(0, 4),
    st.lists(st.integers(1, 11), max_size=7),
)
@settings(max_examples=500, derandomize=True, database=None, deadline=None)
def test_few_shares_open_the_fewest_gpus(shared: list[int], idle: int, items: list[int]) -> None:
    items.sort(reverse=True)
    found = fewest_opened(shared, idle, 10, items)
    fewest = fewest_gpus(tuple(shared), idle, 10, tuple(items))
    if found is None:
        assert fewest is None
        return
    left = shared + [10] * idle
    for item, index in zip(items, found, strict=True):
        left[index] -= item
    assert min(left, default=0) >= 0
    assert sum(1 for units in left[len(shared) :] if units < 10) == fewest
