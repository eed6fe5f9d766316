"""One CP-SAT run for one tier: parameters, bound, and counts of the best solution."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ortools.sat.python import cp_model

from solvers.base import SolveParameters
from solvers.cp_sat.expression import Expression
from solvers.cp_sat.model import CountingModel
from solvers.cp_sat.realise import Counts

FULL_SEARCHES = ("default_lp", "reduced_costs", "lb_tree_search", "max_lp", "pseudo_costs")
"""Searches of the whole model, by CP-SAT's names. What one of them proves at once another may not
in a minute (measured), so they take turns in slices that double (:func:`slices`)."""

SLICE = 0.5
"""Deterministic time of the first slice of a small model."""

SHOW_AFTER_S = 0.3
"""Solutions that are followed by a better one within this time are not looked at."""

POLL_S = 0.05
"""How often a running solve is asked whether it should stop."""


@dataclass(frozen=True, slots=True)
class StageResult:
    """What one run found.

    Attributes
    ----------
    counts
        Best solution, None if none was found (the incumbent stands).
    bound
        Proven bound of the expression, None if there is none.
    optimal
        The solver says that its solution is optimal in this model.
    faulty
        The solver says that the model has no solution, though the incumbent is one.
    deterministic_time
        Work done, in the solver's machine-independent unit.
    """

    counts: Counts | None
    bound: int | None
    optimal: bool
    faulty: bool
    deterministic_time: float


class _Watch(cp_model.CpSolverSolutionCallback):
    def __init__(self, enough: Callable[[Callable[[cp_model.IntVar], int]], bool]) -> None:
        super().__init__()
        self._enough = enough

    def on_solution_callback(self) -> None:
        if self._enough(self.value):
            self.stop_search()


def slices(first: str, variables: int) -> Iterator[tuple[str, float]]:
    """Searches and their deterministic time, without end: each in turn, then each for longer.

    Runs whose length is heavy-tailed are best cut and started anew with growing limits (Luby,
    Sinclair and Zuckerman 1993); here each start is another search. Large models get longer
    slices, for presolve to pay.
    """
    length = SLICE * (1 + variables / 5000)
    order = [first, *(name for name in FULL_SEARCHES if name != first)]
    while True:
        for name in order:
            yield name, length
        length *= 2


def run_stage(
    model: CountingModel,
    expression: Expression,
    *,
    maximise: bool,
    budget_s: float,
    deterministic_budget: float | None,
    parameters: SolveParameters,
    full_search: str,
    on_counts: Callable[[Counts], bool] | None = None,
) -> StageResult:
    """Optimise the expression within the budget; ``on_counts`` sees solutions and may end it.

    ``full_search``: the search of ``FULL_SEARCHES`` that runs beside LNS with two workers, first of
    several with more; with one worker CP-SAT has its own way.
    """
    terms = [(c, v) for c, v, _ in expression.terms if c]
    objective = cp_model.LinearExpr.weighted_sum([v for _, v in terms], [c for c, _ in terms])
    if maximise:
        model.model.maximize(objective)
    else:
        model.model.minimize(objective)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = parameters.workers
    solver.parameters.random_seed = parameters.seed
    solver.parameters.max_time_in_seconds = max(0.01, budget_s)
    if deterministic_budget is not None:
        solver.parameters.max_deterministic_time = deterministic_budget
    solver.parameters.catch_sigint_signal = False
    if parameters.workers > 1:
        solver.parameters.subsolvers.extend(
            [full_search, *(name for name in FULL_SEARCHES if name != full_search)]
        )
    watch = None
    if on_counts is not None:
        next_s = [time.monotonic() + SHOW_AFTER_S]

        def enough(value: Callable[[cp_model.IntVar], int]) -> bool:
            # Packing a solution takes time that the search loses: a tenth of it at most.
            started = time.monotonic()
            if started >= next_s[0]:
                if on_counts(_counts(model, value)):
                    return True
                next_s[0] = time.monotonic() + 10 * (time.monotonic() - started)
            return False

        watch = _Watch(enough)
    finished = threading.Event()

    def poll() -> None:
        while not finished.wait(POLL_S):
            if parameters.stopped():
                solver.stop_search()

    poller = threading.Thread(target=poll, daemon=True)
    poller.start()
    try:
        status = solver.solve(model.model, watch)
    finally:
        finished.set()
        poller.join()
    deterministic = float(solver.response_proto.deterministic_time)
    if status in (cp_model.INFEASIBLE, cp_model.MODEL_INVALID):
        return StageResult(None, None, optimal=False, faulty=True, deterministic_time=deterministic)
    counts = None
    optimal = status == cp_model.OPTIMAL
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        counts = _counts(model, solver.value)
    if optimal:
        bound = sum(c * solver.value(v) for c, v in terms) + expression.constant
    else:
        raw = solver.best_objective_bound
        if counts is None or abs(raw) >= 2**60:  # stopped before there was a bound
            return StageResult(counts, None, False, False, deterministic)
        # The bound is a double: give it the benefit of its rounding before making it whole.
        slack = 1e-6 + abs(raw) * 1e-12
        whole = int((raw + slack) // 1) if maximise else -int((-raw + slack) // 1)
        bound = whole + expression.constant
    return StageResult(counts, bound, optimal, False, deterministic)


def _counts(model: CountingModel, value: Callable[[cp_model.IntVar], int]) -> Counts:
    z = {key: int(value(variable)) for key, variable in model.z.items()}
    return Counts(
        z={key: count for key, count in z.items() if count},
        started=[int(value(variable)) for variable in model.started],
    )
