"""The engine trusts no solver: plans, bounds and crashes of any of them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import solvers.registry
from placement.answer import Answer, Status
from placement.check import check_answer
from placement.compiled.problem import CompiledProblem, Plan
from placement.engine import SolveOptions, solve
from placement.faults import UnsupportedProblemError
from placement.problem import Problem
from placement.resolve import problem_from_document
from solvers.base import OnPlan, SolveParameters, SolverResult
from solvers.registry import UnknownSolverError, register


def problem(**policy: Any) -> Problem:
    """Two nodes of 8 GPUs; greedy fills them, and no plan can do more."""
    return problem_from_document(
        {
            "now": "2026-11-30T12:00:00Z",
            "cluster": {
                "shapes": {"h": {"cpu": 64, "gpus": {"model": "H100", "count": 8}}},
                "nodes": [{"name": "n[1-2]", "shape": "h"}],
            },
            "jobs": [
                {"name": "a", "cpu": 1, "gpus": 8},
                {"name": "b", "cpu": 1, "gpus": 4},
                {"name": "c", "cpu": 1, "gpus": 4},
                {"name": "d", "cpu": 1, "gpus": 8},
            ],
            "policy": policy,
        }
    )


class Stub:
    """A solver that does as it is told."""

    name = "stub"

    def __init__(self, answer: Callable[[CompiledProblem, Plan | None], SolverResult]) -> None:
        self._answer = answer

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        result = self._answer(problem, incumbent)
        if on_plan is not None:
            on_plan(result.plan, result.bounds)
        return result


def unchecked(problem: CompiledProblem, plan: Plan, bound: int | None = None) -> SolverResult:
    return SolverResult(plan=plan, bounds=(bound,) * len(problem.tiers))


def overfull(problem: CompiledProblem, _: Plan | None) -> SolverResult:
    return unchecked(problem, Plan.of([(g, 0, 1) for g in range(4)]))


def half_a_gang(problem: CompiledProblem, _: Plan | None) -> SolverResult:
    return unchecked(problem, Plan.of([(0, 0, 2)]))


def lies_about_bounds(problem: CompiledProblem, incumbent: Plan | None) -> SolverResult:
    assert incumbent is not None
    return unchecked(problem, incumbent, bound=1)


def worse_and_proud(problem: CompiledProblem, _: Plan | None) -> SolverResult:
    # One job of four GPUs, said to be optimal: greedy knows better.
    return unchecked(problem, Plan.of([(1, 0, 1)]), bound=250_000_000)


def crashes(problem: CompiledProblem, _: Plan | None) -> SolverResult:
    raise RuntimeError("out of luck")


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    registered: dict[str, Any] = {}
    monkeypatch.setattr(solvers.registry, "_registered", registered)

    def add(answer: Callable[[CompiledProblem, Plan | None], SolverResult]) -> None:
        register("stub", lambda: Stub(answer))

    yield add


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        pytest.param(overfull, "refused", id="a plan that exceeds a node"),
        pytest.param(half_a_gang, "refused", id="two tasks where one is asked"),
        pytest.param(lies_about_bounds, "none of its bounds is used", id="a bound below the value"),
        pytest.param(worse_and_proud, "", id="a worse plan called optimal"),
        pytest.param(crashes, "stub failed: RuntimeError", id="a crash"),
    ],
)
def test_a_bad_solver_gets_nothing_through(
    stub: Callable[..., None],
    answer: Callable[[CompiledProblem, Plan | None], SolverResult],
    note: str,
) -> None:
    stub(answer)
    stated = problem()
    shown: list[Answer] = []
    final = solve(stated, SolveOptions(solver="stub"), on_answer=shown.append)
    for each in (*shown, final):
        assert check_answer(stated, each) == ()
        assert each.objective[0].value == 1.0
    assert any(note in text for text in (*final.solver.notes, ""))
    if answer is not worse_and_proud:
        assert final.objective[0].bound >= 1.0


def test_the_last_answer_shown_is_the_one_returned() -> None:
    shown: list[Answer] = []
    final = solve(problem(), on_answer=shown.append)
    assert shown[-1] == final
    assert final.status is Status.OPTIMAL


def test_unsupported_fields_are_named_before_anything_is_solved() -> None:
    with pytest.raises(UnsupportedProblemError) as caught:
        solve(problem(migration={"enabled": True}, preemption={"enabled": True}))
    paths = {fault.path for fault in caught.value.faults}
    assert paths == {"policy.migration.enabled", "policy.preemption.enabled"}


def test_an_unknown_solver_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownSolverError, match=r"no solver 'simplex'.*cp-sat"):
        solve(problem(), SolveOptions(solver="simplex"))


@pytest.mark.parametrize("solver", ["auto", "cp-sat"])
def test_reproducible_answers_are_equal_byte_for_byte(solver: str) -> None:
    options = SolveOptions(solver=solver, seed=3, reproducible=True)
    first, second = (solve(problem(), options).model_dump_json() for _ in range(2))
    assert first == second


def test_stopping_at_once_still_gives_the_greedy_answer() -> None:
    final = solve(problem(), stopped=lambda: True)
    assert final.objective[0].value == 1.0


def test_a_tiny_limit_still_gives_an_answer() -> None:
    final = solve(problem(), SolveOptions(time_limit_ms=1))
    assert check_answer(problem(), final) == ()
