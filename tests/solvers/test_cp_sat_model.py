"""The counting model: complete hints, exact refinement, sizes that do not grow with node counts."""

import copy
import re
from typing import Any

import pytest
from ortools.sat.python import cp_model

from benchmarks.instances import cluster_document
from placement.compiled.compile import compile_problem
from placement.compiled.problem import CompiledProblem, Plan, TierKind
from placement.resolve import problem_from_document
from solvers.base import SolveParameters
from solvers.cp_sat.bundles import bundles
from solvers.cp_sat.capacity import add_capacity
from solvers.cp_sat.cells import (
    coarse_cells,
    refined,
    single_cells,
    with_pools,
    without_pools,
)
from solvers.cp_sat.model import CountingModel
from solvers.cp_sat.rules import add_required, add_spread
from solvers.cp_sat.tiers import Tiers
from solvers.cp_sat.warm_start import hint_plan
from solvers.greedy import Greedy

FAR = 1e12
"""A deadline that is never met."""


def compiled(document: dict[str, Any]) -> CompiledProblem:
    return compile_problem(problem_from_document(document))


def greedy_plan(problem: CompiledProblem) -> Plan:
    return Greedy().solve(problem, SolveParameters(deadline_s=FAR)).plan


def build(problem: CompiledProblem, granularity: str) -> CountingModel:
    cells = coarse_cells(problem)
    if granularity == "pools":
        cells = with_pools(problem, cells)
    if granularity == "nodes":
        cells = single_cells(cells)
    model = CountingModel(problem, cells, bundles(problem))
    add_capacity(model)
    add_required(model)
    add_spread(model)
    return model


SHARES = {
    "now": "2026-11-30T12:00:00Z",
    "cluster": {
        "levels": ["rack"],
        "shapes": {
            "s": {
                "cpu": 64,
                "memory": "256Gi",
                "network": "100Gbps",
                "gpus": {"model": "A10", "memory": "24Gi", "count": 4},
            }
        },
        "nodes": [
            {"name": "a[1-3]", "shape": "s", "domain": "r1"},
            {"name": "b[1-3]", "shape": "s", "domain": "r2"},
        ],
        "running": [
            {"job": "r", "tasks": [{"node": "a1", "cpu": 1, "gpus": 0.25, "devices": [0]}]}
        ],
    },
    "jobs": [
        *({"name": f"s{i}", "cpu": 1, "gpus": 0.4} for i in range(12)),
        *({"name": f"m{i}", "cpu": 1, "gpu_memory": "10Gi"} for i in range(6)),
        {"name": "w", "tasks": [{"count": 5, "cpu": 8, "gpus": 2, "network": "40Gbps"}]},
        {
            "name": "e",
            "topology": {"preferred": "rack"},
            "tasks": [{"count": {"min": 2, "max": 6}, "cpu": 4, "gpus": 1, "network": "10Gbps"}],
        },
        {
            "name": "spread",
            "tasks": [{"count": 4, "cpu": 1, "spread": {"level": "rack", "skew": 1}}],
        },
    ],
}
"""Shares by count and by memory, a gang with bandwidth, an elastic one, a spread."""


def odd_amounts() -> dict[str, Any]:
    """The same with amounts that have no divisor in common: rows come in several digits."""
    document = copy.deepcopy(SHARES)
    shape = document["cluster"]["shapes"]["s"]
    shape |= {"memory": 2**38 + 1, "network": 10**11 + 3}
    shape["gpus"]["memory"] = 24 * 2**30 + 7
    for number, job in enumerate(document["jobs"]):
        for task in job.get("tasks", [job]):
            task["memory"] = 2**33 + 1 + 2 * number
            if "gpu_memory" in task:
                task["gpu_memory"] = 10**10 + 1 + 2 * number
            if "network" in task:
                task["network"] = 10**10 + 1 + 2 * number
    target = {"nodes": 2, "gpus": 1, "memory": 2**33 + 5, "level": "rack"}
    document["policy"] = {"fragmentation": {"target": [target]}}
    return document


@pytest.mark.parametrize("granularity", ["pools", "coarse", "nodes"])
@pytest.mark.parametrize("name", ["generated", "shares", "odd"])
def test_the_hint_is_complete_and_feasible_in_every_tier(name: str, granularity: str) -> None:
    documents = {
        "generated": cluster_document(20, 3, jobs=16),
        "shares": SHARES,
        "odd": odd_amounts(),
    }
    problem = compiled(documents[name])
    plan = greedy_plan(problem)
    model = build(problem, granularity)
    tiers = Tiers(model)
    for tier in problem.tiers:
        if granularity == "pools" and tier.kind not in (TierKind.WORK, TierKind.AGE):
            continue
        tiers.expression(tier)
    hint_plan(model, plan)
    log: list[str] = []
    solver = cp_model.CpSolver()
    solver.parameters.log_search_progress = True
    solver.parameters.log_to_stdout = False
    solver.parameters.num_workers = 1
    solver.parameters.stop_after_first_solution = True
    solver.log_callback = log.append
    assert solver.solve(model.model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    text = "\n".join(log)
    assert re.search(r"The solution hint is complete and is feasible", text), text


def test_pools_keep_the_model_small_however_many_nodes() -> None:
    # Counts do not depend on the machine: the model of the work tier grows with racks and
    # different jobs, far slower than with nodes times jobs.
    sizes = {}
    for nodes in (50, 200):
        problem = compiled(cluster_document(nodes, 1))
        sizes[nodes] = len(build(problem, "pools").z)
        assert sizes[nodes] < nodes * problem.job_count / 10
    assert sizes[200] < 12 * sizes[50]


def test_refining_splits_into_classes_then_into_nodes_and_keeps_every_node() -> None:
    problem = compiled(cluster_document(30, 2))
    cells = coarse_cells(problem)
    nodes = sorted(n for cell in cells for n in cell.nodes)
    steps = 0
    while not all(cell.single for cell in cells):
        finer = refined(problem, cells, set(range(len(cells))))
        assert len(finer) > len(cells)
        assert sorted(n for cell in finer for n in cell.nodes) == nodes
        cells = finer
        steps += 1
    assert steps <= 2


def test_a_pool_is_the_union_of_cells_and_goes_away_whole() -> None:
    problem = compiled(cluster_document(40, 1))
    cells = coarse_cells(problem)
    pooled = with_pools(problem, cells)
    assert any(cell.parts for cell in pooled)
    assert without_pools(pooled) == cells
    for cell in pooled:
        if cell.parts:
            assert set(cell.nodes) == {n for p in cell.parts for n in pooled[p].nodes}
