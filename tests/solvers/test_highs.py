"""HiGHS against brute force, and what it does when it cannot be exact."""

import itertools
import random
import subprocess
import sys
import time
from typing import Any

import pytest

from benchmarks.instances import cluster_document
from placement.compiled.compile import compile_problem
from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, Plan
from placement.compiled.values import tier_values
from placement.problem_file import problem_from_document
from solvers.base import SolveParameters, SolverResult
from solvers.cp_sat import CpSat
from solvers.highs import Highs
from solvers.highs.mip import LARGEST_ACTIVITY, scaled
from tests.oracle.brute_force import best_plan
from tests.solvers.small_problems import small_document

Document = dict[str, Any]


def run(problem: CompiledProblem, seconds: float = 60.0, **options: Any) -> SolverResult:
    parameters = SolveParameters(deadline_s=time.monotonic() + seconds)
    return Highs().solve(problem, parameters, **options)


def document(nodes: list[Document], jobs: list[Document], **cluster: Any) -> Document:
    """Nodes of one shape each, all in one rack."""
    shapes = {f"s{i}": node for i, node in enumerate(nodes)}
    entries = [{"name": f"n{i}", "shape": f"s{i}", "domain": "r1"} for i in range(len(nodes))]
    named = [{"name": f"j{i}", **job} for i, job in enumerate(jobs)]
    return {
        "now": "2026-11-30T12:00:00Z",
        "cluster": {"levels": ["rack"], "shapes": shapes, "nodes": entries, **cluster},
        "jobs": named,
    }


@pytest.mark.parametrize("seed", range(120))
def test_every_tier_is_the_best_that_trying_all_plans_finds(seed: int) -> None:
    problem = problem_from_document(small_document(seed))
    compiled = compile_problem(problem)
    result = run(compiled)
    assert plan_faults(compiled, result.plan) == []
    values = tier_values(compiled, result.plan)
    assert values == best_plan(problem).values
    assert result.bounds == values
    assert result.notes == ()


@pytest.mark.parametrize("seed", range(0, 120, 10))
def test_plans_told_on_the_way_fit_and_improve(seed: int) -> None:
    compiled = compile_problem(problem_from_document(small_document(seed)))
    told: list[tuple[Plan, tuple[int | None, ...]]] = []
    result = run(compiled, on_plan=lambda plan, bounds: told.append((plan, bounds)))
    signed = [
        tuple(
            value if tier.maximise else -value
            for tier, value in zip(compiled.tiers, tier_values(compiled, plan), strict=True)
        )
        for plan, _ in told
    ]
    assert all(worse < better for worse, better in itertools.pairwise(signed))
    assert all(plan_faults(compiled, plan) == [] for plan, _ in told)
    if told:
        assert tier_values(compiled, told[-1][0]) == tier_values(compiled, result.plan)


@pytest.mark.parametrize(
    ("nodes", "seed"),
    [(10, 1), (10, 2), (10, 3), *(pytest.param(16, s, marks=pytest.mark.slow) for s in range(9))],
)
def test_two_exact_solvers_prove_the_same(nodes: int, seed: int) -> None:
    """Beyond brute force: two models that share nothing, on clusters as they are."""
    compiled = compile_problem(problem_from_document(cluster_document(nodes, seed)))
    by_highs = run(compiled)
    by_cp_sat = CpSat().solve(compiled, SolveParameters(deadline_s=time.monotonic() + 20))
    ours, theirs = tier_values(compiled, by_highs.plan), tier_values(compiled, by_cp_sat.plan)
    both_proven = 0
    while both_proven < len(compiled.tiers):
        tier = both_proven
        if ours[tier] != by_highs.bounds[tier] or theirs[tier] != by_cp_sat.bounds[tier]:
            break  # below an unproven tier the two may have held different values
        assert ours[tier] == theirs[tier], compiled.tiers[tier]
        both_proven += 1
    assert both_proven >= 1


def test_two_units_in_four_hundred_million_decide() -> None:
    # 3/7 rounds down to 428571428, three times 1/7 to 428571426.
    shape = {"cpu": 10, "gpus": {"model": "H", "count": 7}}
    running = [{"job": "r", "tasks": [{"node": "n0", "gpus": 4}]}]
    jobs = [{"gpus": 1}, {"gpus": 1}, {"gpus": 3}, {"gpus": 1}]
    compiled = compile_problem(problem_from_document(document([shape], jobs, running=running)))
    result = run(compiled)
    assert tier_values(compiled, result.plan)[0] == result.bounds[0] == 428_571_428


def test_without_time_the_incumbent_comes_back_without_claims() -> None:
    jobs = [{"cpu": 1}, {"cpu": 2}]
    compiled = compile_problem(problem_from_document(document([{"cpu": 2}], jobs)))
    incumbent = Plan.of([(0, 0, 1)])
    result = run(compiled, 0.0, incumbent=incumbent)
    assert result.plan is incumbent
    assert set(result.bounds) == {None}


def test_a_better_incumbent_is_never_lost() -> None:
    jobs = [{"cpu": 1}, {"cpu": 2}]
    compiled = compile_problem(problem_from_document(document([{"cpu": 2}], jobs)))
    best = Plan.of([(1, 0, 1)])
    result = run(compiled, incumbent=best)
    assert result.plan is best
    assert result.bounds == tier_values(compiled, best)


def test_too_large_a_problem_is_not_tried() -> None:
    data = document([{"cpu": 64}], [{"cpu": 1}] * 150)
    data["cluster"]["nodes"] = [{"name": "n[001-150]", "shape": "s0", "domain": "r1"}]
    compiled = compile_problem(problem_from_document(data))
    result = run(compiled)
    assert result.plan is EMPTY_PLAN
    assert set(result.bounds) == {None}
    assert "not tried" in " ".join(result.notes)


def test_bytes_that_doubles_cannot_tell_apart_are_rounded_safely_and_said_so() -> None:
    # Two of three fit to the byte; neither divides nor fits into 40 bits.
    half = 2**41 + 1
    jobs = [{"memory": half}, {"memory": half}, {"memory": half}]
    compiled = compile_problem(problem_from_document(document([{"memory": 2 * half + 1}], jobs)))
    unequal = [{"memory": half}, {"memory": half + 2}, {"memory": half + 4}]
    tight = compile_problem(problem_from_document(document([{"memory": 2 * half + 2}], unequal)))
    exact, rounded = run(compiled), run(tight)
    assert exact.notes == ()
    assert exact.bounds == tier_values(compiled, exact.plan)
    assert "rounded" in " ".join(rounded.notes)
    assert set(rounded.bounds) == {None}
    assert plan_faults(tight, rounded.plan) == []
    assert len(rounded.plan.group) >= 1


@pytest.mark.parametrize(
    ("demands", "capacity", "expected"),
    [
        ([4, 6], 9, ([2, 3], 4)),
        ([2**40, 3 * 2**40], 2**41 + 5, ([1, 3], 2)),
        ([1, 1], 2, None),
        ([0, 5], 4, ([1], 0)),
        ([0, 0], 0, None),
    ],
)
def test_scaled_rows(
    demands: list[int], capacity: int, expected: tuple[list[int], int] | None
) -> None:
    row = scaled([(d, i) for i, d in enumerate(demands)], capacity, [1] * len(demands))
    if expected is None:
        assert row is None
    else:
        assert row is not None
        assert not row.rounded
        assert ([a for a, _ in row.terms], row.capacity) == expected


def test_a_rounded_row_allows_nothing_that_does_not_fit() -> None:
    source = random.Random(1)
    rounded = 0
    for _ in range(300):
        demands = [source.randint(1, 2**50) for _ in range(3)]
        capacity = source.randint(0, sum(demands))
        row = scaled([(d, i) for i, d in enumerate(demands)], capacity, [1, 1, 1])
        assert row is not None
        assert sum(a for a, _ in row.terms) <= LARGEST_ACTIVITY + len(demands)
        rounded += row.rounded
        for chosen in itertools.product((0, 1), repeat=3):
            if sum(a * chosen[v] for a, v in row.terms) <= row.capacity:
                assert sum(d * c for d, c in zip(demands, chosen, strict=True)) <= capacity
    assert rounded > 200


def test_what_c_code_prints_during_a_solve_never_reaches_standard_output() -> None:
    program = (
        "import ctypes\n"
        "from solvers.highs.quiet import silenced_stdout\n"
        "print('before')\n"
        "with silenced_stdout():\n"
        "    ctypes.CDLL(None).printf(b'from C\\n')\n"
        "print('after')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout == "before\nafter\n"
