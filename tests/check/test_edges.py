"""At the edge of every rule: what is just allowed passes, one step beyond is a violation."""

from typing import Any

import pytest

from placement.check import Rule, check_answer
from placement.problem_file import problem_from_document
from tests.check.answers import Seat, answer_of

Fields = dict[str, Any]

SHAPE: Fields = {
    "cpu": "2",
    "memory": 4000,
    "nvme": 4000,
    "network": 1000,
    "slots": 2,
    "resources": {"fpga": 2},
    "gpus": {"model": "A", "memory": 1000, "count": 1},
    "labels": {"v": "1.10"},
}
HOME: list[Seat] = [("w", "n1", ()), ("w", "n1", ())]
APART: list[Seat] = [("w", "n1", ()), ("w", "n2", ())]
SHARED: list[Seat] = [("w", "n1", (0,)), ("w", "n1", (0,))]
ALONE: list[Seat] = [("w", "n1", ())]

# Rule, seats, what the node and the task have in common, and what the task says just inside and
# just beyond.
EDGES: list[tuple[Rule, str, list[Seat], Fields, Fields, Fields]] = [
    (Rule.CAPACITY, "a millicore", HOME, {}, {"cpu": "1000m"}, {"cpu": "1001m"}),
    (Rule.CAPACITY, "a byte", HOME, {}, {"memory": 2000}, {"memory": 2001}),
    (Rule.CAPACITY, "a byte of NVMe", HOME, {}, {"nvme": 2000}, {"nvme": 2001}),
    (Rule.CAPACITY, "an FPGA", HOME, {}, {"resources": {"fpga": 1}}, {"resources": {"fpga": 2}}),
    (Rule.NETWORK, "a bit per second", APART, {}, {"network": 1000}, {"network": 1001}),
    (Rule.GPU_SHARE_SUM, "a thousandth", SHARED, {}, {"gpus": 0.5}, {"gpus": 0.501}),
    (Rule.GPU_SHARE_SUM, "a byte of a GPU", SHARED, {}, {"gpu_memory": 500}, {"gpu_memory": 501}),
    (
        Rule.GPU_MEMORY,
        "a byte of memory",
        [("w", "n1", (0,))],
        {"gpus": 1},
        {"gpu": {"memory": ">=1000"}},
        {"gpu": {"memory": ">=1001"}},
    ),
    (
        Rule.SPREAD_MOST,
        "a task",
        HOME,
        {},
        {"spread": {"level": "node", "most": 2}},
        {"spread": {"level": "node", "most": 1}},
    ),
    (
        Rule.SPREAD_SKEW,
        "a task more than elsewhere",
        HOME,
        {},
        {"spread": {"level": "node", "skew": 2}},
        {"spread": {"level": "node", "skew": 1}},
    ),
    (
        Rule.SELECTOR,
        "not above itself",
        ALONE,
        {},
        {"selector": [{"key": "v", "op": "Gt", "value": "1.9"}]},
        {"selector": [{"key": "v", "op": "Gt", "value": "1.10.0"}]},
    ),
    (
        Rule.SELECTOR,
        "not below itself",
        ALONE,
        {},
        {"selector": [{"key": "v", "op": "Lt", "value": "1.11"}]},
        {"selector": [{"key": "v", "op": "Lt", "value": "1.10.0"}]},
    ),
    (
        Rule.SELECTOR,
        "one of the values",
        ALONE,
        {},
        {"selector": [{"key": "v", "op": "In", "values": ["1.1", "1.10"]}]},
        {"selector": [{"key": "v", "op": "In", "values": ["1.1", "1.100"]}]},
    ),
    (
        Rule.SELECTOR,
        "a label that is missing",
        ALONE,
        {},
        {"selector": [{"key": "w", "op": "NotIn", "values": ["1"]}]},
        {"selector": [{"key": "w", "op": "In", "values": ["1"]}]},
    ),
    (
        Rule.SELECTOR,
        "there or not there",
        ALONE,
        {},
        {"selector": [{"key": "v", "op": "Exists"}, {"key": "w", "op": "DoesNotExist"}]},
        {"selector": [{"key": "v", "op": "DoesNotExist"}]},
    ),
]

# The task bears the taint t=a:NoExecute of n3, or it does not.
TOLERATIONS: list[tuple[str, list[Fields], bool]] = [
    ("none", [], False),
    ("the value", [{"key": "t", "op": "Equal", "value": "a"}], True),
    ("another value", [{"key": "t", "op": "Equal", "value": "b"}], False),
    ("another key", [{"key": "u", "op": "Exists"}], False),
    ("any value", [{"key": "t", "op": "Exists"}], True),
    ("any taint", [{"op": "Exists"}], True),
    ("the effect", [{"key": "t", "op": "Exists", "effect": "NoExecute"}], True),
    ("another effect", [{"key": "t", "op": "Exists", "effect": "NoSchedule"}], False),
    (
        "one of two",
        [{"key": "u", "op": "Exists"}, {"key": "t", "op": "Equal", "value": "a"}],
        True,
    ),
]

# Maintenance of n1 and how long the job runs; a window that is over does not count.
WINDOWS: list[tuple[str, Fields, str | None, bool]] = [
    ("ends as it begins", {"from": "+60s", "until": "+2h"}, "60s", True),
    ("a second too long", {"from": "+60s", "until": "+2h"}, "61s", False),
    ("never ends", {"from": "+60s", "until": "+2h"}, None, False),
    ("has begun", {"from": "-60s", "until": "+1s"}, "1s", False),
    ("is over just now", {"from": "-60s", "until": "2026-11-30T12:00:00Z"}, None, True),
]


def _rules(task: Fields, seats: list[Seat], job: Fields | None = None, **node: Any) -> set[Rule]:
    """Rules that a job of these seats breaks, on two nodes alike and a tainted one."""
    document = {
        "now": "2026-11-30T12:00:00Z",
        "cluster": {
            "shapes": {"s": SHAPE},
            "nodes": [
                {"name": "n1", "shape": "s", **node},
                {"name": "n2", "shape": "s"},
                {"name": "n3", "shape": "s", "taints": [_TAINT]},
            ],
        },
        "jobs": [
            {"name": "j", **(job or {}), "tasks": [{"name": "w", "count": len(seats), **task}]}
        ],
    }
    problem = problem_from_document(document)
    return {violation.rule for violation in check_answer(problem, answer_of(problem, {"j": seats}))}


_TAINT = {"key": "t", "value": "a", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("rule", "seats", "task", "inside", "beyond"),
    [pytest.param(rule, *rest, id=f"{rule.value}: {text}") for rule, text, *rest in EDGES],
)
def test_edge(rule: Rule, seats: list[Seat], task: Fields, inside: Fields, beyond: Fields) -> None:
    assert _rules({"memory": 1} | task | inside, seats) == set()
    assert _rules({"memory": 1} | task | beyond, seats) == {rule}


def test_edge_of_slots() -> None:
    assert _rules({"memory": 1}, HOME) == set()
    assert _rules({"memory": 1}, [*HOME, ("w", "n1", ())]) == {Rule.CAPACITY}


def test_bandwidth_stays_inside_a_node_only_if_the_whole_job_does() -> None:
    assert _rules({"network": 5000}, HOME) == set()
    assert _rules({"network": 5000}, APART) == {Rule.NETWORK}


@pytest.mark.parametrize(
    ("tolerations", "borne"), [pytest.param(*case[1:], id=case[0]) for case in TOLERATIONS]
)
def test_toleration(tolerations: list[Fields], borne: bool) -> None:
    broken = _rules({"cpu": 1, "tolerations": tolerations}, [("w", "n3", ())])
    assert broken == (set() if borne else {Rule.TAINT})


@pytest.mark.parametrize(
    ("window", "duration", "allowed"), [pytest.param(*case[1:], id=case[0]) for case in WINDOWS]
)
def test_maintenance(window: Fields, duration: str | None, allowed: bool) -> None:
    job = {} if duration is None else {"duration": duration}
    broken = _rules({"cpu": 1}, ALONE, job, maintenance=[window])
    assert broken == (set() if allowed else {Rule.MAINTENANCE})


@pytest.mark.parametrize("state", ["cordoned", "draining", "down"])
def test_state(state: str) -> None:
    assert _rules({"cpu": 1}, ALONE, state=state) == {Rule.STATE}
