"""The bound of configurations and its pieces: never below the optimum, every column fits."""

import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from placement.compiled.compile import compile_problem
from placement.compiled.problem import CompiledProblem
from placement.compiled.values import tier_values
from placement.resolve import problem_from_document
from solvers.base import SolveParameters
from solvers.configurations.bound import ColumnGeneration
from solvers.configurations.classes import total
from solvers.configurations.completion import FilledNode, complete
from solvers.configurations.improve import Improver
from solvers.configurations.rounding import rounded
from solvers.configurations.units import UnboundableError, small_units
from solvers.configurations.view import View, single_jobs, values_of_work, view_of
from solvers.cp_sat import CpSat
from solvers.occupancy import Occupancy

Document = dict[str, Any]


def never() -> bool:
    return False


def mixed(seed: int) -> Document:
    """Single tasks that meet every kind of limit, GPU memory of no common divisor among them."""
    source = random.Random(f"mixed {seed}")
    nodes = [{"name": f"n{i}", "shape": source.choice("aab")} for i in range(source.randint(1, 3))]
    running: list[Document] = []
    if source.random() < 0.5 and nodes[0]["shape"] == "a":
        share = source.choice([0.3, 0.25, 0.5])
        task = {"node": "n0", "cpu": 1, "gpus": share, "devices": [0]}
        running = [{"job": "r", "tasks": [task]}]
    shapes = {
        "a": _shape(source, "A", source.randint(1, 3)),
        "b": _shape(source, "B", source.randint(0, 2)),
    }
    jobs: list[Document] = []
    for number in range(source.randint(4, 8)):
        jobs.append(_job(source, number))
        if source.random() < 0.3:
            jobs.append(jobs[-1] | {"name": f"twin{number}"})
    return {
        "now": "2026-11-30T12:00:00Z",
        "cluster": {"shapes": shapes, "nodes": nodes, "running": running},
        "jobs": jobs,
        "policy": {"value": source.choice(["share", "gpus"])},
    }


def _shape(source: random.Random, model: str, gpus: int) -> Document:
    shape: Document = {"cpu": source.randint(4, 14), "memory": f"{source.randint(8, 40)}Gi"}
    shape["nvme"] = f"{source.choice([10, 20])}Gi"
    if gpus:
        memory = source.choice(["40Gi", "24Gi", 2**34 + 1 + 2 * source.randint(0, 10**6)])
        shape["gpus"] = {"model": model, "memory": memory, "count": gpus}
    if source.random() < 0.3:
        shape["slots"] = source.randint(2, 5)
    if source.random() < 0.3:
        shape["resources"] = {"fpga": 2}
    return shape


def _job(source: random.Random, number: int) -> Document:
    job: Document = {
        "name": f"j{number}",
        "cpu": source.choice([0, 1, 2, 3, 5]),
        "memory": f"{source.choice([1, 2, 5, 9])}Gi",
    }
    job |= source.choice(
        [
            {"gpus": 1},
            {"gpus": 2},
            {"gpus": source.choice([0.11, 0.23, 0.4, 0.47, 0.65])},
            {"gpu_memory": source.randint(10**9, 10**10)},
            {"gpu_memory": "7Gi"},
            {},
        ]
    )
    if source.random() < 0.2:
        job["nvme"] = "8Gi"
    if source.random() < 0.15:
        job["resources"] = {"fpga": 1}
    return job


def compiled(document: Document) -> CompiledProblem:
    return compile_problem(problem_from_document(document))


def whole_view(problem: CompiledProblem) -> View:
    groups = [problem.job_groups[job][0] for job in single_jobs(problem)]
    return view_of(problem, Occupancy(problem), groups, values_of_work(problem, 0))


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_is_no_less_than_the_optimum_and_every_column_fits(seed: int) -> None:
    problem = compiled(mixed(seed))
    parameters = SolveParameters(deadline_s=math.inf, workers=1, deterministic_limit=30.0)
    best = CpSat().solve(problem, parameters)
    optimum = tier_values(problem, best.plan)[0]
    assert best.bounds[0] == optimum
    view = whole_view(problem)
    if not view.classes.size:
        assert optimum == 0
        return
    generation = ColumnGeneration(view.shapes, view.classes)
    result = generation.run(stopped=never)
    assert result.bound >= optimum
    assert ColumnGeneration(view.shapes, view.classes).run(stopped=never, rounds=0).bound >= optimum
    for shape, tasks in generation.columns():
        kinds = [(int(problem.group_kind[view.groups[k][0]]), n) for k, n in tasks.items()]
        assert Occupancy(problem).place_together(view.nodes[shape][0], kinds), (shape, tasks)


def packed(nodes: int, jobs: int) -> CompiledProblem:
    """Tasks of many sizes on nodes that are all alike, more than fit."""
    source = random.Random(7)
    return compiled(
        {
            "now": "2026-11-30T12:00:00Z",
            "cluster": {
                "shapes": {"s": {"cpu": 32, "gpus": {"model": "A", "count": 4}}},
                "nodes": [{"name": f"n[1-{nodes}]", "shape": "s"}],
            },
            "jobs": [
                {
                    "name": f"j{i}",
                    "cpu": source.randint(2, 11),
                    "gpus": source.choice([1, 1, 2, 0.31, 0.47, 0.64, 0.81]),
                }
                for i in range(jobs)
            ],
            "policy": {"value": "gpus"},
        }
    )


def test_rounding_and_each_step_use_no_more_than_there_is_and_never_lose() -> None:
    view = whole_view(packed(30, 220))
    shapes, classes = view.shapes, view.classes
    generation = ColumnGeneration(shapes, classes)
    fractional = generation.run(stopped=never, gap=0.5)
    nodes = rounded(shapes, classes, fractional.used, generation.columns(), stopped=never)
    assert len(nodes) == 30
    check(view, nodes)
    # From a start far from it, each step comes closer.
    empty = [(shape, Counter[int]()) for shape, _ in nodes]
    improver = Improver(shapes, classes, fractional, generation.columns(), empty, seed=3)
    values = [improver.value]
    for _ in range(12):
        gained = improver.step(never)
        values.append(improver.value)
        assert gained == (values[-1] > values[-2])
        assert values[-1] >= values[-2]
        check(view, improver.nodes)
        assert improver.value == sum(total(t, classes.value) for _, t in improver.nodes)
        assert improver.value <= fractional.bound
    assert values[-1] > values[0]


def check(view: View, nodes: list[FilledNode]) -> None:
    """No node and no class is used beyond what there is."""
    used = np.zeros(view.classes.size, dtype=np.int64)
    for shape, tasks in nodes:
        assert total(tasks, view.classes.demand[:, 0]) <= view.shapes.free[shape, 0]
        for task, number in tasks.items():
            used[task] += number
    assert (used <= view.classes.supply).all()


def test_the_fractional_placement_loses_nothing_and_an_empty_node_does() -> None:
    view = whole_view(packed(30, 220))
    generation = ColumnGeneration(view.shapes, view.classes)
    fractional = generation.run(stopped=never, gap=0.5)
    for configuration in fractional.used:
        # It mixes the best fillings only, but for the rounding of prices.
        assert fractional.loss(configuration.shape, configuration.tasks) < 2.0
    assert fractional.loss(0, {}) > 2.0


def test_what_fits_in_stated_units_fits_in_small_ones() -> None:
    source = random.Random(1)
    for _ in range(300):
        capacity = source.choice([1000, 12, 10**9 + 7, 2**40 + 5])
        share = np.array([source.randint(1 + capacity // 900, capacity) for _ in range(5)])
        shared = [source.randint(0, capacity - 1) for _ in range(2)]
        small = small_units(capacity, share, shared)
        for left, room in [(capacity, small.capacity), *((s, small.left(s)) for s in shared)]:
            chosen = source.choices(range(5), k=source.randint(1, 4))
            if int(share[chosen].sum()) <= left:
                assert int(small.share[chosen].sum()) <= room
            elif not small.is_rounded and left == capacity:
                assert int(small.share[chosen].sum()) > room
        assert all(small.left(units) < small.capacity for units in shared)
        assert (small.share >= 1).all()


def test_shares_too_small_to_tell_apart_are_refused() -> None:
    with pytest.raises(UnboundableError, match="holds"):
        small_units(10**9, np.array([1, 10**8 + 7]), [])


@pytest.mark.parametrize(
    ("shares", "fits"),
    [
        # Best fit, the largest first, finds no room for the last one: 0.5 + 0.3 + 0.2 does.
        ([0.5, 0.4, 0.4, 0.3, 0.2, 0.2], True),
        ([0.6, 0.6, 0.6], False),
        ([1, 0.6, 0.4], True),
        ([1, 0.6, 0.5], False),
    ],
)
def test_tasks_placed_together_are_packed_together(shares: list[float], *, fits: bool) -> None:
    problem = compiled(
        {
            "now": "2026-11-30T12:00:00Z",
            "cluster": {
                "shapes": {"s": {"cpu": 9, "gpus": {"model": "A", "count": 2}}},
                "nodes": [{"name": "n", "shape": "s"}],
            },
            "jobs": [{"name": f"j{i}", "cpu": 1, "gpus": s} for i, s in enumerate(shares)],
        }
    )
    occupancy = Occupancy(problem)
    tasks = [(int(kind), 1) for kind in problem.group_kind]
    assert occupancy.place_together(0, tasks) is fits
    used = len(shares) if fits else 0
    assert occupancy.free[0, 0] == 1000 * (9 - used)
    assert occupancy.idle[0] == (0 if fits else 2)


def test_what_is_left_over_goes_where_there_is_room() -> None:
    problem = compiled(
        {
            "now": "2026-11-30T12:00:00Z",
            "cluster": {
                "shapes": {"s": {"cpu": 9, "gpus": {"model": "A", "count": 2}}},
                "nodes": [{"name": "n[1-2]", "shape": "s"}],
            },
            "jobs": [
                {"name": "whole", "cpu": 1, "gpus": 1},
                {"name": "large", "cpu": 1, "gpus": 0.7},
                {"name": "small", "cpu": 1, "gpus": 0.3},
                {"name": "hungry", "cpu": 10, "gpus": 0.1},
                {"name": "pair", "cpu": 1, "gpus": 2},
            ],
            "policy": {"value": "gpus"},
        }
    )
    groups = range(problem.group_count)
    view = view_of(problem, Occupancy(problem), groups, values_of_work(problem, 0))
    class_of = {problem.job_names[members[0]]: k for k, members in enumerate(view.groups)}
    nodes: list[FilledNode] = [(0, Counter({class_of["large"]: 1})), (0, Counter())]
    supply = view.classes.supply.copy()
    supply[class_of["large"]] = 0
    complete(view.shapes, view.classes, nodes, supply)
    # The pair takes the empty node; the whole GPU and the small share sit beside the large one.
    together = {class_of["large"]: 1, class_of["whole"]: 1, class_of["small"]: 1}
    assert [dict(tasks) for _, tasks in nodes] == [together, {class_of["pair"]: 1}]
    assert [name for name, k in class_of.items() if supply[k]] == ["hungry"]
