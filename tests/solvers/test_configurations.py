"""Configurations: a bound that holds, plans that fit, and when ``auto`` takes them."""

import math
import random
from typing import Any

import pytest

from benchmarks.instances import cluster_document
from placement.compiled.compile import compile_problem
from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, TierKind
from placement.compiled.values import is_better, tier_values
from placement.resolve import problem_from_document
from solvers.auto import Auto, prefers_configurations
from solvers.base import SolveParameters
from solvers.configurations import Configurations
from solvers.configurations.view import single_jobs
from solvers.cp_sat import CpSat
from solvers.greedy import Greedy

Document = dict[str, Any]


def parameters(**options: Any) -> SolveParameters:
    """One worker and deterministic time: the clock plays no part."""
    settings: Document = {"deadline_s": math.inf, "workers": 1, "deterministic_limit": 3.0}
    return SolveParameters(**(settings | options))


def crowded(seed: int, *, nodes: int = 3, jobs: int = 9) -> Document:
    """Single tasks of all sorts, more than a few nodes can take; some nodes in use."""
    source = random.Random(f"crowded {seed}")
    shape = {"cpu": 16, "memory": "64Gi", "gpus": {"model": "A", "memory": "40Gi", "count": 2}}
    other = {"cpu": 10, "memory": "30Gi", "gpus": {"model": "B", "memory": "24Gi", "count": 1}}
    return {
        "now": "2026-11-30T12:00:00Z",
        "cluster": {
            "shapes": {"a": shape, "b": other},
            "nodes": [{"name": f"n{i}", "shape": source.choice("ab")} for i in range(nodes)],
            "running": [
                {
                    "job": "held",
                    "tasks": [{"node": "n0", "cpu": 2, "gpus": 0.3, "devices": [0]}],
                }
            ],
        },
        "jobs": [_job(source, number) for number in range(jobs)],
        "policy": {"value": source.choice(["share", "gpus"])},
    }


def _job(source: random.Random, number: int) -> Document:
    job: Document = {
        "name": f"j{number}",
        "cpu": source.choice([1, 2, 3, 5, 7]),
        "memory": f"{source.choice([1, 4, 9, 16])}Gi",
        "submitted": f"-{source.randint(1, 9)}m",
        "priority": source.choice([0, 0, 5]),
    }
    job |= source.choice([{"gpus": 1}, {"gpus": 2}, {"gpus": 0.4}, {"gpu_memory": "10Gi"}, {}])
    if "gpus" in job and source.random() < 0.3:
        job["gpu"] = {"model": source.choice(["A", "B"])}
    return job


def compiled(document: Document) -> CompiledProblem:
    return compile_problem(problem_from_document(document))


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_holds_and_the_plan_fits(seed: int) -> None:
    problem = compiled(crowded(seed))
    result = Configurations().solve(problem, parameters())
    assert plan_faults(problem, result.plan) == []
    floor = tier_values(problem, Greedy().solve(problem, parameters()).plan)
    values = tier_values(problem, result.plan)
    assert not is_better(problem, floor, values)
    best = CpSat().solve(problem, parameters(deterministic_limit=60.0))
    assert best.bounds[0] == tier_values(problem, best.plan)[0]
    assert result.bounds[0] is not None
    assert result.bounds[0] >= best.bounds[0]


@pytest.mark.parametrize("seed", range(6))
def test_gangs_beside_single_tasks_are_bounded_and_placed_whole(seed: int) -> None:
    document = crowded(seed)
    document["jobs"] += [
        {"name": "gang", "tasks": [{"count": 2, "cpu": 4, "gpus": 1}]},
        {"name": "elastic", "tasks": [{"count": {"min": 1, "max": 4}, "cpu": 1, "gpus": 0.5}]},
    ]
    problem = compiled(document)
    result = Configurations().solve(problem, parameters())
    assert plan_faults(problem, result.plan) == []
    best = CpSat().solve(problem, parameters(deterministic_limit=60.0))
    assert result.bounds[0] is None or best.bounds[0] is None or result.bounds[0] >= best.bounds[0]


def test_rounding_and_improvement_reach_the_bound_where_greedy_does_not() -> None:
    # Full GPUs are 0.45 + 0.55 and 0.45 + 0.45 + 0.1: there is enough of all to fill every one.
    document = crowded(0, nodes=1)
    shape = {"cpu": 200, "gpus": {"model": "A", "count": 8}}
    document["cluster"] = {"shapes": {"s": shape}, "nodes": [{"name": "n[1-4]", "shape": "s"}]}
    sizes = [(0.45, 64), (0.55, 32), (0.1, 32)]
    document["jobs"] = [
        {"name": f"s{share}-{i}", "cpu": 1, "gpus": share}
        for share, count in sizes
        for i in range(count)
    ]
    document["policy"] = {"value": "gpus"}
    problem = compiled(document)
    result = Configurations().solve(problem, parameters())
    assert tier_values(problem, result.plan)[0] == result.bounds[0] == 32_000


def test_the_same_seed_gives_the_same_plan() -> None:
    problem = compiled(crowded(3, nodes=6, jobs=40))
    first, second = (Configurations().solve(problem, parameters(seed=5)).plan for _ in range(2))
    assert tier_values(problem, first) == tier_values(problem, second)
    assert (first.group == second.group).all()
    assert (first.node == second.node).all()


def test_stopped_at_once_it_returns_what_it_was_given() -> None:
    problem = compiled(crowded(1))
    given = Greedy().solve(problem, parameters()).plan
    result = Configurations().solve(problem, parameters(stopped=lambda: True), incumbent=given)
    assert not is_better(problem, tier_values(problem, given), tier_values(problem, result.plan))


def many_shares(nodes: int, jobs: int) -> Document:
    """Every job of its own size, on nodes that all may take: no classes to count."""
    shape = {"cpu": 96, "memory": "1Ti", "gpus": {"model": "A", "memory": "80Gi", "count": 8}}
    return {
        "now": "2026-11-30T12:00:00Z",
        "cluster": {
            "shapes": {"s": shape},
            "nodes": [{"name": f"n[1-{nodes}]", "shape": "s"}],
        },
        "jobs": [
            {"name": f"j{i}", "cpu": 1 + i % 11, "gpus": (300 + i % 500) / 1000}
            for i in range(jobs)
        ],
        "policy": {"value": "gpus"},
    }


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(many_shares(150, 3000), True, id="many shares on many nodes"),
        pytest.param(many_shares(150, 300), False, id="all of them start"),
        pytest.param(many_shares(4, 200), False, id="few nodes: counting is exact"),
        pytest.param(cluster_document(50, 1), False, id="gangs and racks"),
    ],
)
def test_auto_takes_configurations_where_counting_would_promise_too_much(
    document: Document, *, expected: bool
) -> None:
    problem = compiled(document)
    known = Greedy().solve(problem, parameters()).plan
    assert prefers_configurations(problem, single_jobs(problem), known) is expected


def test_auto_goes_on_to_the_tiers_below_once_work_is_proven() -> None:
    problem = compiled(crowded(2))
    result = Auto().solve(problem, parameters(deterministic_limit=60.0), incumbent=EMPTY_PLAN)
    assert plan_faults(problem, result.plan) == []
    work = [i for i, tier in enumerate(problem.tiers) if tier.kind is TierKind.WORK]
    values = tier_values(problem, result.plan)
    assert all(values[i] == result.bounds[i] for i in work)
