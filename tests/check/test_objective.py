"""Tier values worked out by hand (docs/objective.md).

r1           r2        no rack     in all 4 nodes: 20 CPUs, 16 GPUs of 8 and 2,
a  8 GPUs    c         d           1000 bit/s, 80 bytes of memory
b  8 GPUs
"""

from typing import Any

import pytest

from placement.objective import tier_values
from placement.problem_file import problem_from_document
from tests.check.answers import Seat, answer_of

Fields = dict[str, Any]
Tier = tuple[str, int | None, str | None]

CLUSTER: Fields = {
    "levels": ["rack"],
    "shapes": {
        "g": {
            "cpu": 5,
            "memory": 20,
            "network": 500,
            "gpus": {"model": "A", "memory": 10, "count": 8},
        },
        "s": {"cpu": 5, "memory": 20, "labels": {"disk": "slow"}},
    },
    "nodes": [
        {"name": "a", "shape": "g", "domain": "r1"},
        {"name": "b", "shape": "g", "domain": "r1"},
        {"name": "c", "shape": "s", "domain": "r2"},
        {"name": "d", "shape": "s", "taints": [{"key": "t", "effect": "PreferNoSchedule"}]},
    ],
}


def _one(task: Fields, **job: Any) -> Fields:
    return {"name": "j", **job, "tasks": [{"name": "w", **task}]}


def _two(first: Fields, second: Fields, **job: Any) -> Fields:
    return {"name": "j", **job, "tasks": [{"name": "v", **first}, {"name": "w", **second}]}


def _seats(nodes: str, group: str = "w") -> list[Seat]:
    return [(group, node, ()) for node in nodes]


# Job, where its tasks sit, policy, and values in units of some of the tiers.
CASES: list[tuple[str, Fields, list[Seat], Fields, dict[Tier, int]]] = [
    ("nothing starts", _one({"cpu": 5}), [], {}, {("work", 0, None): 0}),
    ("a quarter of the CPUs", _one({"cpu": 5}), _seats("a"), {}, {("work", 0, None): 250_000_000}),
    (
        "equal shares of two resources",
        _one({"cpu": 5, "gpus": 4}),
        [("w", "a", (0, 1, 2, 3))],
        {},
        {("work", 0, None): 250_000_000},
    ),
    (
        "rounded down once for the least counts, and once per further task",
        _one({"cpu": "333m", "count": {"min": 2, "max": 5}}),
        _seats("aaaa"),
        {},
        {("work", 0, None): 666 * 10**9 // 20_000 + 2 * (333 * 10**9 // 20_000)},
    ),
    (
        "the dominant resource is that of the full size",
        _two({"cpu": 2}, {"memory": 10, "count": {"min": 0, "max": 4}}),
        [("v", "a", ())],
        {},
        # Memory at full size, 40 of 80, before CPU, 2 of 20: the start alone counts 1.
        {("work", 0, None): 1},
    ),
    (
        "more bandwidth than there is counts as all of it",
        _one({"cpu": 1, "network": 800, "count": 2}),
        _seats("aa"),
        {},
        {("work", 0, None): 10**9},
    ),
    (
        "a share by memory of the largest memory, rounded up",
        _one({"gpu_memory": 3}),
        [("w", "a", (0,))],
        {},
        {("work", 0, None): 300 * 10**9 // 16_000},
    ),
    (
        "by GPUs, thousandths",
        _one({"gpus": 0.25, "count": {"min": 1, "max": 3}}),
        [("w", "a", (0,)), ("w", "a", (0,))],
        {"value": "gpus"},
        {("work", 0, None): 500},
    ),
    (
        "by GPUs, jobs without any by share",
        _one({"cpu": 5}),
        _seats("a"),
        {"value": "gpus"},
        {("work", 0, None): 0, ("work-without-gpus", 0, None): 250_000_000},
    ),
    (
        "intensity times domains less one",
        _one({"cpu": 1, "count": 4}, intensity=0.5, topology={"preferred": "rack"}),
        _seats("abcd"),
        {},
        # r1, r2 and the node d for itself; four nodes; two tasks in r1, one in the others.
        {
            ("preferred-span", None, None): 1000,
            ("span", None, "rack"): 1000,
            ("span", None, "node"): 1500,
            ("balance", None, "rack"): 500,
            ("balance", None, "node"): 0,
        },
    ),
    (
        "a group without tasks prefers nothing",
        _two({"cpu": 1, "count": 2}, {"cpu": 1, "count": {"min": 0, "max": 2}})
        | {"topology": {"preferred": "node"}},
        _seats("aa", "v"),
        {},
        {("preferred-span", None, None): 0, ("span", None, "node"): 0},
    ),
    (
        "a group's own preference, and none where it has no task",
        _two(
            {"cpu": 1, "count": 2, "topology": {"preferred": "rack"}},
            {"cpu": 1, "count": {"min": 0, "max": 2}, "topology": {"preferred": "rack"}},
        ),
        _seats("ac", "v"),
        {},
        {("preferred-span", None, None): 1000, ("span", None, "rack"): 1000},
    ),
    (
        "what is unconstrained has no span",
        _one({"cpu": 1, "count": 3}, topology="unconstrained"),
        _seats("acc"),
        {},
        {("span", None, "rack"): 0, ("span", None, "node"): 0, ("balance", None, "node"): 0},
    ),
    (
        "a soft taint and an unmet wish, per task",
        _one({"cpu": 1, "count": 2, "prefer": [{"key": "disk", "op": "Exists", "weight": 0.25}]}),
        _seats("ad"),
        {},
        {("soft", None, None): 250 + 1000},
    ),
    (
        "rounded down per task",
        _one(
            {"cpu": 1, "count": 3, "prefer": [{"key": "x", "op": "Exists", "weight": 0.003}]},
            intensity=0.5,
        ),
        _seats("abc"),
        {},
        {("soft", None, None): 3},
    ),
    (
        "far from its data",
        _one({"cpu": 1, "count": 3, "near": [{"level": "rack", "domains": ["r2"], "weight": 2}]}),
        _seats("acd"),
        {},
        {("soft", None, None): 2000 + 0 + 2000 + 1000},
    ),
]


@pytest.mark.parametrize(
    ("job", "seats", "policy", "wanted"), [pytest.param(*case[1:], id=case[0]) for case in CASES]
)
def test_values(job: Fields, seats: list[Seat], policy: Fields, wanted: dict[Tier, int]) -> None:
    document = {
        "now": "2026-11-30T12:00:00Z",
        "cluster": CLUSTER,
        "jobs": [job],
        "policy": policy,
    }
    problem = problem_from_document(document)
    values = tier_values(problem, answer_of(problem, {"j": seats} if seats else {}))
    found = {(v.tier, v.priority, v.level): v.value_units for v in values}
    assert {tier: found[tier] for tier in wanted} == wanted


def test_age_is_share_seconds_of_what_starts() -> None:
    jobs = [
        {"name": "old", "submitted": "-100s", "cpu": 5},
        {"name": "new", "submitted": "+9s", "cpu": 5},
        {"name": "other", "priority": 1, "submitted": "-1h", "cpu": 1},
    ]
    document = {"now": "2026-11-30T12:00:00Z", "cluster": CLUSTER, "jobs": jobs}
    problem = problem_from_document(document)
    starts: dict[str, list[Seat]] = {
        "old": [("task", "a", ())],
        "new": [("task", "b", ())],
        "other": [("task", "c", ())],
    }
    values = tier_values(problem, answer_of(problem, starts))
    # Priority 1 has one job only: nothing to tell apart, so no tier.
    assert [(v.priority, v.value_units, v.unit) for v in values if v.tier == "age"] == [
        (0, 25_000, 1000)
    ]
