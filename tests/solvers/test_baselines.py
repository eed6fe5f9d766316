"""The baselines: always valid, and each follows its rule."""

import time
from typing import Any

import numpy as np
import pytest

from placement.compiled.compile import compile_problem
from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import CompiledProblem, Plan
from placement.compiled.values import is_better, tier_values
from placement.problem_file import problem_from_document
from solvers.base import SolveParameters
from solvers.baselines import BestFit, Fgd, FirstFit
from solvers.baselines.fgd import Mix, fragmentation
from solvers.baselines.one_by_one import OneByOne
from tests.oracle.brute_force import best_plan
from tests.solvers.small_problems import small_document

Document = dict[str, Any]
ALL = (FirstFit, BestFit, Fgd)


def compiled(
    free_gpus: list[int], jobs: list[Document], *, racks: str = "", **shape: Any
) -> CompiledProblem:
    """Nodes n0, n1, ... of 8 GPUs with this many idle; ``racks`` names one rack digit per node."""
    running = [
        {"job": f"r{i}", "tasks": [{"node": f"n{i}", "gpus": 8 - idle}]}
        for i, idle in enumerate(free_gpus)
        if idle < 8
    ]
    nodes = [
        {"name": f"n{i}", "shape": "s", "domain": f"r{rack}"}
        for i, rack in enumerate(racks or "1" * len(free_gpus))
    ]
    base = {"cpu": 64, "gpus": {"model": "H", "memory": "80Gi", "count": 8}}
    document = {
        "now": "2026-11-30T12:00:00Z",
        "cluster": {
            "levels": ["rack"],
            "shapes": {"s": {**base, **shape}},
            "nodes": nodes,
            "running": running,
        },
        "jobs": [{"name": f"j{i}", **job} for i, job in enumerate(jobs)],
    }
    return compile_problem(problem_from_document(document))


def run(solver: OneByOne, problem: CompiledProblem, incumbent: Plan | None = None) -> Plan:
    parameters = SolveParameters(deadline_s=time.monotonic() + 60)
    result = solver.solve(problem, parameters, incumbent=incumbent)
    assert result.notes == ()
    assert result.bounds == (None,) * len(problem.tiers)
    return result.plan


def places(problem: CompiledProblem, plan: Plan) -> dict[str, list[int]]:
    """Job name to the nodes of its tasks."""
    result: dict[str, list[int]] = {}
    for group, node, count in zip(plan.group, plan.node, plan.count, strict=True):
        name = problem.job_names[problem.group_job[group]]
        result.setdefault(name, []).extend([int(node)] * int(count))
    return result


@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize("seed", range(60))
def test_plans_are_valid_and_no_better_than_the_best(solver: type[OneByOne], seed: int) -> None:
    problem = problem_from_document(small_document(seed))
    small = compile_problem(problem)
    plan = run(solver(), small)
    assert plan_faults(small, plan) == []
    assert not is_better(small, tier_values(small, plan), best_plan(problem).values)


GPU2 = {"gpus": 2, "cpu": 1}

CASES: dict[str, tuple[CompiledProblem, dict[type[OneByOne], dict[str, list[int]]]]] = {
    "first fit takes the first node, best fit the fullest": (
        compiled([8, 5, 2], [GPU2]),
        {FirstFit: {"j0": [0]}, BestFit: {"j0": [2]}, Fgd: {"j0": [0]}},
    ),
    "fgd keeps the node that the mix can use whole": (
        # Mostly 4-GPU tasks: taking 2 from the node of 4 would break it, of 6 leaves 4.
        compiled(
            [4, 6],
            [{"gpus": 2, "priority": 1}, *({"count": 3, "gpus": 4, "cpu": 60} for _ in range(3))],
        ),
        {Fgd: {"j0": [1]}, BestFit: {"j0": [0]}},
    ),
    "a gang starts whole or not at all, and leaves its room to the next": (
        compiled([4, 4], [{"count": 3, "gpus": 4}, {"gpus": 4}]),
        {solver: {"j1": [0]} for solver in ALL},
    ),
    "priority, then waiting, then the order written": (
        compiled(
            [2],
            [GPU2, {**GPU2, "submitted": "-1h"}, {**GPU2, "submitted": "-2h"}, GPU2],
        ),
        {solver: {"j2": [0]} for solver in ALL},
    ),
    "a higher priority goes before a longer wait": (
        compiled([2], [{**GPU2, "submitted": "-9h"}, {**GPU2, "priority": 3}]),
        {solver: {"j1": [0]} for solver in ALL},
    ),
    "a required rack that is too small is passed over": (
        compiled(
            [8, 4, 8, 8],
            [{"count": 2, "gpus": 8, "topology": {"required": "rack"}}],
            racks="1122",
        ),
        {solver: {"j0": [2, 3]} for solver in ALL},
    ),
    "a gang that fits in no single rack waits": (
        compiled([8, 8], [{"count": 2, "gpus": 8, "topology": {"required": "rack"}}], racks="12"),
        {solver: {} for solver in ALL},
    ),
    "spread sends the second replica to another rack": (
        compiled(
            [8, 8, 8],
            [{"count": 2, "gpus": 1, "spread": {"level": "rack", "most": 1}}],
            racks="112",
        ),
        {FirstFit: {"j0": [0, 2]}},
    ),
    "a bounded skew fills nodes evenly": (
        compiled([8, 8], [{"count": 5, "gpus": 1, "spread": {"level": "node", "skew": 1}}]),
        {FirstFit: {"j0": [0, 0, 0, 1, 1]}},
    ),
    "an elastic group grows into what its priority leaves": (
        compiled([8], [{"count": {"min": 1, "max": 4}, "gpus": 2}, {"gpus": 3}]),
        {solver: {"j0": [0, 0], "j1": [0]} for solver in ALL},
    ),
    "without NIC bandwidth a gang sits on one node": (
        compiled([2, 4], [{"count": 2, "gpus": 2, "network": "1Gbps"}]),
        {solver: {"j0": [1, 1]} for solver in ALL},
    ),
    "shares fill a GPU before opening the next": (
        compiled([1], [{"gpus": 0.6}, {"gpus": 0.5}, {"gpus": 0.4}]),
        {solver: {"j0": [0], "j2": [0]} for solver in ALL},
    ),
}


@pytest.mark.parametrize(
    ("problem", "solver", "expected"),
    [
        pytest.param(problem, solver, expected, id=f"{solver.name}: {name}")
        for name, (problem, by_solver) in CASES.items()
        for solver, expected in by_solver.items()
    ],
)
def test_places(
    problem: CompiledProblem, solver: type[OneByOne], expected: dict[str, list[int]]
) -> None:
    assert places(problem, run(solver(), problem)) == expected


def test_a_better_incumbent_stays() -> None:
    problem = compiled([4, 2], [{"gpus": 2}, {"gpus": 4}])
    best = Plan.of([(0, 1, 1), (1, 0, 1)])
    assert len(places(problem, run(FirstFit(), problem))) == 1
    assert run(FirstFit(), problem, best) is best


@pytest.mark.parametrize(
    ("idle", "bins", "cpu", "expected"),
    [
        # The mix: half the tasks take 2 whole GPUs, half a share of 0.5; each 4 CPUs.
        (2, [], 8, 0.0),
        (1, [], 8, 0.5),  # the pair cannot be hosted: 1 GPU x 0.5
        (2, [3], 8, 0.3),  # 0.3 of a GPU serves neither
        (2, [6], 8, 0.5 * 0.6),  # only shares can use it
        (2, [6], 3, 2.6),  # no CPU for anybody
    ],
)
def test_fragmentation_measure(idle: int, bins: list[int], cpu: int, expected: float) -> None:
    # The tenth of a GPU is too rare to count, but makes the unit of shares a tenth.
    typical = [{"count": 10, "gpus": 2, "cpu": 4}, {"count": 10, "gpus": 0.5, "cpu": 4}]
    problem = compiled([8], [*typical, {"gpus": 0.1}])
    assert problem.gpu_kind_capacity.tolist() == [10]
    free = problem.free.copy()
    free[0, problem.resource_names.index("cpu")] = cpu * 1000
    in_units = np.array([bins or [0]], dtype=np.int64)
    value = fragmentation(
        problem, Mix(problem), np.array([0]), free[:1], np.array([idle]), in_units
    )
    assert value == pytest.approx([expected], abs=1e-6)
