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
from solvers.highs.mip import BASE, Mip, MipStatus, digits_of, value_of
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


@pytest.mark.parametrize("seed", [*range(100), 2220])  # 2220: once infeasible by rounding
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


def test_bounds_of_a_solve_cut_short_are_kept_by_the_best_plan() -> None:
    compiled = compile_problem(problem_from_document(cluster_document(16, 3)))
    full = run(compiled)
    best = tier_values(compiled, full.plan)
    assert full.bounds == best
    for seconds in (0.05, 0.1, 0.2, 0.4):
        cut = run(compiled, seconds)
        values = tier_values(compiled, cut.plan)
        for index, (tier, bound) in enumerate(zip(compiled.tiers, cut.bounds, strict=True)):
            if bound is not None and values[:index] == best[:index]:
                assert bound >= best[index] if tier.maximise else bound <= best[index]


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


@pytest.mark.parametrize(("spare", "starts"), [(-1, 1), (0, 2), (1, 2)])
def test_bytes_beyond_the_precision_of_floating_point_count_to_the_byte(
    spare: int, starts: int
) -> None:
    one, other = 2**55 + 1, 2**55 + 4
    jobs = [{"memory": one}, {"memory": other}, {"memory": other + 3}]
    data = document([{"memory": one + other + spare}], jobs)
    compiled = compile_problem(problem_from_document(data))
    result = run(compiled)
    assert result.notes == ()
    assert result.bounds == tier_values(compiled, result.plan)
    assert len(result.plan.group) == starts


@pytest.mark.parametrize("largest", [3, BASE, 2**20, 2**45, 2**62])
def test_a_capacity_row_allows_exactly_what_fits(largest: int) -> None:
    source = random.Random(largest)
    for _ in range(12):
        demands = [source.randint(1, largest) for _ in range(3)]
        counts = [source.randint(0, 3) for _ in range(3)]
        total = sum(d * c for d, c in zip(demands, counts, strict=True))
        for capacity in (total - 1, total):
            mip = Mip()
            variables = [mip.integer(3) for _ in demands]
            mip.capacity(list(zip(demands, variables, strict=True)), capacity)
            for variable, count in zip(variables, counts, strict=True):
                mip.equal([(1, variable)], count)
            result = mip.maximise([(1, variables[0])], time_limit_s=30.0, seed=0)
            expected = MipStatus.OPTIMAL if total <= capacity else MipStatus.INFEASIBLE
            assert result.status is expected, (demands, counts, capacity)


@pytest.mark.parametrize("largest", [5, BASE, 2**40])
def test_digits_of_an_expression_are_those_of_its_value(largest: int) -> None:
    source = random.Random(largest)
    for _ in range(8):
        terms = [source.randint(-largest, largest) for _ in range(3)]
        counts = [source.randint(0, 3) for _ in range(3)]
        value = sum(a * c for a, c in zip(terms, counts, strict=True))
        mip = Mip()
        variables = [mip.integer(3) for _ in terms]
        digits = mip.digits(list(zip(terms, variables, strict=True)))
        assert max(abs(a) for digit in digits for a, _ in digit) <= BASE
        for variable, count in zip(variables, counts, strict=True):
            mip.equal([(1, variable)], count)
        result = mip.maximise([], time_limit_s=30.0, seed=0)
        assert result.values is not None
        found = [sum(a * result.values[v] for a, v in digit) for digit in digits]
        assert found == digits_of(value, len(digits))


@pytest.mark.parametrize("value", [0, 1, -1, BASE - 1, BASE, -BASE, 12 * BASE**2 + 7, -(10**15)])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_digits_hold_the_value_and_keep_its_order(value: int, count: int) -> None:
    assert value_of(digits_of(value, count)) == value
    assert digits_of(value, count) < digits_of(value + 1, count)
    assert all(0 <= digit < BASE for digit in digits_of(value, count)[1:])


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
