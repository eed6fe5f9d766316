"""Solvers that do wrong, run for real in solve children.

``stub-*`` are solvers that the engine runs. ``raw-*`` go past the engine and its own check: what
they send is what the front gets. The fork server imports this module and runs :func:`entry`.
"""

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable

from placement.answer import Action, Answer, Decision, Status, Why
from placement.compiled.problem import CompiledProblem, Plan
from placement.engine import SolveOptions, solve
from placement.objective import tier_values
from placement.problem import Problem
from placement.service import solve_entry
from placement.service.solve_child import ChildOptions, OnAnswer
from solvers.base import OnPlan, SolveParameters, SolverResult
from solvers.greedy import Greedy
from solvers.registry import register


def hang() -> None:
    while True:
        time.sleep(3600)


def eat_memory() -> None:
    eaten = []
    while True:
        eaten.append(bytearray(2**24))


class StubSolver:
    """Does as greedy, then wrong."""

    def __init__(self, name: str, spoil: Callable[[CompiledProblem, Plan], SolverResult]) -> None:
        self.name = name
        self._spoil = spoil

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        return self._spoil(problem, Greedy().solve(problem, parameters).plan)


def overfull(problem: CompiledProblem, plan: Plan) -> SolverResult:
    """Everything on the first node."""
    groups = range(problem.group_count)
    most = Plan.of([(group, 0, int(problem.count_max[group])) for group in groups])
    return SolverResult(most, (None,) * len(problem.tiers))


def lie(problem: CompiledProblem, plan: Plan) -> SolverResult:
    """Claim that nothing can be better than nothing."""
    return SolverResult(plan, (0,) * len(problem.tiers))


def never(act: Callable[[], None]) -> Callable[[CompiledProblem, Plan], SolverResult]:
    def spoil(problem: CompiledProblem, plan: Plan) -> SolverResult:
        act()
        raise AssertionError("not reached")

    return spoil


def fail() -> None:
    raise RuntimeError("a secret of the solver")


SOLVERS: dict[str, Callable[[CompiledProblem, Plan], SolverResult]] = {
    "stub-overfull": overfull,
    "stub-lying-bounds": lie,
    "stub-hang": never(hang),
    "stub-abort": never(os.abort),
    "stub-memory": never(eat_memory),
    "stub-raises": never(fail),
}


def honest(problem: Problem, options: ChildOptions) -> Answer:
    return solve(problem, SolveOptions(solver="greedy", time_limit_ms=options.limit_ms))


def start_all_on_one_node(answer: Answer) -> Answer:
    """Tasks stay tasks, but all on one node."""
    decisions = tuple(
        decision.model_copy(
            update={
                "tasks": tuple(task.model_copy(update={"node": "n1"}) for task in decision.tasks)
            }
        )
        for decision in answer.decisions
    )
    return answer.model_copy(update={"decisions": decisions})


def nothing_starts(problem: Problem, answer: Answer) -> Answer:
    """A right answer in which all wait, with the false claim that no answer is better."""
    waiting = answer.model_copy(
        update={
            "decisions": tuple(
                Decision(job=job.name, action=Action.WAIT, why=Why(summary="because"))
                for job in problem.jobs
            ),
            "fragmentation": answer.fragmentation.model_copy(
                update={"after": answer.fragmentation.before}
            ),
        }
    )
    objective = tuple(
        tier.model_copy(
            update={
                "value": value.reported,
                "bound": value.reported,
                "gap": 0.0,
                "status": Status.OPTIMAL,
            }
        )
        for tier, value in zip(answer.objective, tier_values(problem, waiting), strict=True)
    )
    return waiting.model_copy(
        update={
            "objective": objective,
            "status": Status.OPTIMAL,
            "solver": answer.solver.model_copy(update={"gap": 0.0}),
        }
    )


def write_garbage() -> None:
    """Write what is no frame to the front."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2 and stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.write(int(name), b"\xff" * 4096)
        except OSError:
            continue


def entry(problem: Problem, options: ChildOptions, on_answer: OnAnswer) -> Answer:
    """Do what the name of the solver says; the engine for all others."""
    match options.solver:
        case "raw-overfull":
            wrong = start_all_on_one_node(honest(problem, options))
            on_answer(wrong)
            return wrong
        case "raw-lying-bound":
            good = honest(problem, options)
            on_answer(good)
            time.sleep(0.5)  # so that the good one is checked, not overtaken
            return nothing_starts(problem, good)
        case "raw-good-then-overfull":
            good = honest(problem, options)
            on_answer(good)
            time.sleep(0.5)
            return start_all_on_one_node(good)
        case "raw-no-answer":
            hang()
        case "raw-exit":
            os._exit(0)
        case "raw-abort":
            os.abort()
        case "raw-memory":
            eat_memory()
        case "raw-garbage":
            write_garbage()
            hang()
        case "raw-flood":
            good = honest(problem, options)
            for _ in range(3_000):
                on_answer(good)
            return good
        case "raw-family":
            # A process of its own that would outlive its parent.
            code = "import time; time.sleep(3600)"
            subprocess.Popen([sys.executable, "-c", code, "stub-grandchild"])
            on_answer(honest(problem, options))
            hang()
    return solve_entry.run(problem, options, on_answer)


def abort_always(problem: Problem, options: ChildOptions, on_answer: OnAnswer) -> Answer:
    """An entry with which even greedy fails."""
    os.abort()


def hang_always(problem: Problem, options: ChildOptions, on_answer: OnAnswer) -> Answer:
    """An entry that never answers."""
    hang()
    raise AssertionError


RAW = (
    "raw-overfull",
    "raw-lying-bound",
    "raw-good-then-overfull",
    "raw-no-answer",
    "raw-exit",
    "raw-abort",
    "raw-memory",
    "raw-garbage",
    "raw-flood",
    "raw-family",
)

for _name, _spoil in SOLVERS.items():
    register(_name, lambda _name=_name, _spoil=_spoil: StubSolver(_name, _spoil))  # type: ignore[misc]
for _name in RAW:
    register(_name, Greedy)
