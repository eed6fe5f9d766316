"""Assemblable sets, the automatic target, and the FGD measure."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.fragmentation_target import resolve_target
from placement.judge.fragmentation import sets_in_domain
from placement.objective import fragmentation_report
from placement.problem import Problem
from placement.problem_file import problem_from_document
from tests.oracle.brute_force import assembled

Task = dict[str, Any]


def _problem(
    jobs: list[dict[str, Any]], running: list[dict[str, Any]] | None = None, **policy: Any
) -> Problem:
    """Three nodes of eight GPUs in rack r1, one of two in r2, in zone z."""
    return problem_from_document(
        {
            "now": "2026-11-30T12:00:00Z",
            "cluster": {
                "levels": ["zone", "rack"],
                "shapes": {
                    "big": {"cpu": 16, "gpus": {"model": "H", "memory": 80, "count": 8}},
                    "small": {"cpu": 1, "gpus": {"model": "A", "memory": 40, "count": 2}},
                },
                "nodes": [
                    {"name": "a[1-3]", "shape": "big", "domain": "z/r1"},
                    {"name": "b", "shape": "small", "domain": "z/r2"},
                ],
                "running": running or [],
            },
            "jobs": jobs,
            "policy": policy,
        }
    )


def _job(name: str, count: int, gpus: float, **more: Any) -> dict[str, Any]:
    topology = more.pop("topology", None)
    job: dict[str, Any] = {"name": name}
    if topology is not None:
        job["topology"] = topology
    return job | {"tasks": [{"name": "w", "count": count, "cpu": 1, "gpus": gpus, **more}]}


RACK, ZONE, NODE = {"required": "rack"}, {"required": "zone"}, {"required": "node"}

# Jobs (and running tasks), and the sets they make: (nodes, gpus, level, weight in thousandths).
TARGETS: list[tuple[str, list[Task], list[Task], list[tuple[int, int, str | None, int]]]] = [
    ("nothing asks for whole GPUs", [_job("j", 1, 0.5)], [], []),
    ("one size", [_job("j", 3, 2)], [], [(1, 2, None, 1000)]),
    (
        "by GPUs asked, not by tasks",
        [_job("j", 1, 8), _job("k", 4, 1)],
        [],
        [(1, 8, None, 666), (1, 1, None, 333)],
    ),
    (
        "running tasks count one by one",
        [_job("j", 1, 1)],
        [{"node": "a1", "cpu": 1, "gpus": 2}, {"node": "a2", "cpu": 1, "gpus": 1}],
        [(1, 2, None, 500), (1, 1, None, 500)],
    ),
    (
        "a gang in a rack asks for nodes of the largest size",
        [_job("j", 3, 8, topology=RACK)],
        [],
        [(3, 8, "rack", 1000)],
    ),
    (
        "tasks of four are rounded up to whole nodes",
        [_job("j", 5, 4, topology=RACK)],
        [],
        [(3, 8, "rack", 1000)],
    ),
    ("a gang that fits one node", [_job("j", 2, 4, topology=RACK)], [], [(1, 4, None, 1000)]),
    ("a gang on one node", [_job("j", 4, 4, topology=NODE)], [], [(1, 4, None, 1000)]),
    (
        "the group's own level comes before the job's",
        [_job("j", 2, 8, topology={"required": "rack"}) | {"topology": ZONE}],
        [],
        [(2, 8, "zone", 1000)],
    ),
    (
        "of equal weight more GPUs, then more nodes, then the coarser level",
        [
            _job("j", 2, 8, topology=RACK),
            _job("k", 2, 8, topology=ZONE),
            _job("l", 16, 1),
            _job("m", 4, 4, topology=ZONE),
        ],
        [],
        [(2, 8, "zone", 500), (2, 8, "rack", 250), (1, 1, None, 250)],
    ),
    (
        "at least a thousandth, at most eight sets",
        [_job(f"j{g}", 1, g) for g in range(1, 9)]
        + [{"name": "many", "tasks": [{"name": "w", "count": 999, "cpu": 1, "gpus": 9}]}],
        [],
        [(1, 9, None, 996)] + [(1, g, None, 1) for g in range(8, 1, -1)],
    ),
]


@pytest.mark.parametrize(
    ("jobs", "running", "wanted"), [pytest.param(*case[1:], id=case[0]) for case in TARGETS]
)
def test_automatic_target(
    jobs: list[Task], running: list[Task], wanted: list[tuple[int, int, str | None, int]]
) -> None:
    problem = _problem(jobs, [{"job": "r", "tasks": running}] if running else [])
    found = [(s.nodes, s.gpus, s.level, s.weight_milli) for s in resolve_target(problem)]
    assert found == wanted


@given(st.lists(st.integers(0, 5), max_size=6), st.integers(1, 4))
@settings(max_examples=300, derandomize=True, database=None, deadline=None)
def test_sets_in_a_domain_are_as_many_as_taking_from_the_fullest(
    units: list[int], nodes: int
) -> None:
    assert sets_in_domain(units, nodes) == assembled(units, nodes)


# One class of tasks, what runs, and the milli-GPUs that are of no use to the class.
FGD: list[tuple[str, Task, list[Task], int, int]] = [
    ("all idle", {"gpus": 1}, [], 26_000, 0),
    ("a task without GPUs uses none", {}, [], 26_000, 26_000),
    ("eight at a time: node b is lost", {"gpus": 8}, [], 26_000, 2_000),
    ("model A: nodes a are lost", {"gpus": 1, "gpu": {"model": "A"}}, [], 26_000, 24_000),
    ("80 bytes: node b is lost", {"gpus": 1, "gpu": {"memory": ">=80"}}, [], 26_000, 2_000),
    ("two CPUs: node b is lost", {"cpu": 2, "gpus": 1}, [], 26_000, 2_000),
    (
        "no CPU is left on a1",
        {"gpus": 1},
        [{"node": "a1", "cpu": 16}],
        26_000,
        8_000,
    ),
    (
        "0.3 of a GPU is left, too little for 0.5",
        {"gpus": 0.5},
        [{"node": "a1", "cpu": 1, "gpus": 0.7}],
        25_300,
        300,
    ),
    (
        "0.5 of a GPU is left, enough",
        {"gpus": 0.5},
        [{"node": "a1", "cpu": 1, "gpus": 0.5}],
        25_500,
        0,
    ),
    (
        "20 of 80 bytes are half of b's",
        {"gpu_memory": 20},
        [{"node": "b", "cpu": 0, "gpu_memory": 20}],
        25_500,
        0,
    ),
]


@pytest.mark.parametrize(
    ("task", "running", "free", "lost"), [pytest.param(*case[1:], id=case[0]) for case in FGD]
)
def test_fgd_measure(task: Task, running: list[Task], free: int, lost: int) -> None:
    # A hundred of the class: the one that runs is not typical.
    job = {"name": "j", "tasks": [{"name": "w", "count": 100, "cpu": 1, **task}]}
    runs = [{"job": "r", "tasks": running}] if running else []
    report = fragmentation_report(_problem([job], runs), None)
    assert (report.free_gpus_milli, report.fgd_milli_gpus) == (free, lost)


def test_fgd_measure_is_the_mean_over_typical_classes() -> None:
    # 60 tasks of one GPU lose nothing, 38 without GPUs everything, 2 of eight are not typical.
    jobs = [_job("one", 60, 1), _job("eight", 2, 8)]
    jobs.append({"name": "none", "tasks": [{"name": "w", "count": 38, "cpu": 1}]})
    report = fragmentation_report(_problem(jobs), None)
    assert report.fgd_milli_gpus == 38 * 26_000 // 98


def test_report_counts_each_set_by_itself() -> None:
    target = [
        {"gpus": 8},
        {"gpus": 2, "model": "A", "weight": 0.5},
        {"nodes": 2, "gpus": 4, "level": "rack"},
        {"nodes": 4, "gpus": 1, "level": "zone"},
        {"cpu": 8},
    ]
    runs = [{"job": "r", "tasks": [{"node": "a1", "cpu": 1, "gpus": 3}]}]
    report = fragmentation_report(
        _problem([_job("j", 1, 1)], runs, fragmentation={"target": target}), None
    )
    assert [row["count"] for row in report.sets] == [2, 1, 2, 2, 5]
    assert report.weighted == 2 + 0.5 + 2 + 2 + 5


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param({"state": "cordoned"}, id="cordoned"),
        pytest.param({"state": "down"}, id="down"),
        pytest.param({}, id="over its capacity"),
    ],
)
def test_what_takes_nothing_counts_for_nothing(spoil: dict[str, Any]) -> None:
    node = {"name": "a", "shape": "s"} | spoil
    overfull = [] if spoil else [{"job": "r", "tasks": [{"node": "a", "memory": 11}]}]
    problem = problem_from_document(
        {
            "now": "2026-11-30T12:00:00Z",
            "cluster": {
                "shapes": {"s": {"cpu": 4, "memory": 10, "gpus": {"model": "A", "count": 2}}},
                "nodes": [node, {"name": "b", "shape": "s"}],
                "running": overfull,
            },
            "jobs": [{"name": "j", "cpu": 1}],
            "policy": {"fragmentation": {"target": [{"cpu": 2}, {"gpus": 1}]}},
        }
    )
    report = fragmentation_report(problem, None)
    assert [row["count"] for row in report.sets] == [2, 2]
    assert report.free_gpus_milli == 2000
