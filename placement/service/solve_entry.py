"""What a solve child runs: the engine. Only the fork server imports it: it brings OR-tools."""

from placement.answer import Answer
from placement.engine import SolveOptions, solve
from placement.problem import Problem
from placement.service.solve_child import ChildOptions, OnAnswer


def run(problem: Problem, options: ChildOptions, on_answer: OnAnswer) -> Answer:
    """Solve with the engine (see :class:`placement.service.solve_child.Entry`)."""
    return solve(
        problem,
        SolveOptions(
            solver=options.solver,
            time_limit_ms=options.limit_ms,
            seed=options.seed,
            workers=options.workers,
            reproducible=options.reproducible,
        ),
        on_answer=on_answer,
    )
