"""The one way through: compile, solve, check, answer."""

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from placement.answer import (
    Action,
    Answer,
    Decision,
    Fragmentation,
    FragmentationReport,
    SolverReport,
    Status,
    TaskPlacement,
    TierResult,
)
from placement.check import check_answer
from placement.compiled.assignment import assign
from placement.compiled.compile import compile_problem
from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, Plan, Tier
from placement.compiled.values import is_better, tier_values
from placement.faults import UnsupportedProblemError
from placement.objective import fragmentation_report
from placement.problem import Problem
from placement.support import unsupported_faults
from placement.waiting import WaitingReasons
from solvers.base import SolveParameters, SolverResult
from solvers.bounds import trivial_bounds
from solvers.registry import BASELINES, make_solver, solver_names

_LOG = logging.getLogger(__name__)

REPORT_EVERY_S = 0.2
"""Least time between two answers that are shown on the way."""


class EngineFaultError(RuntimeError):
    """No answer of the solver passed the check: a fault of the engine, not of the input."""


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """How to solve.

    Attributes
    ----------
    solver
        Name in :mod:`solvers.registry`.
    time_limit_ms
        Wall-clock limit, compilation and checks included; None: the policy's.
    seed
        Random seed of the solver.
    workers
        Threads; None: one per core.
    reproducible
        One worker and limits in deterministic time: same request and seed, same answer, byte for
        byte. The wall clock then only guards against runaways.
    """

    solver: str = "auto"
    time_limit_ms: int | None = None
    seed: int = 0
    workers: int | None = None
    reproducible: bool = False


def solve(
    problem: Problem,
    options: SolveOptions = SolveOptions(),
    *,
    on_answer: Callable[[Answer], None] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Answer:
    """Decide every pending job.

    Parameters
    ----------
    problem
        Resolved problem.
    options
        How to solve.
    on_answer
        Told of each better checked answer, the last one included.
    stopped
        Asked often; True ends the solve with the best answer so far.

    Returns
    -------
    Answer
        Checked by :mod:`placement.check`; at least as good as greedy's.

    Raises
    ------
    UnsupportedProblemError
        The problem asks for what is not honoured yet; all places are named.
    solvers.registry.UnknownSolverError
        There is no solver of that name.
    EngineFaultError
        No plan passed the check.
    """
    return _Solve(problem, options, on_answer, stopped).run()


class _Solve:
    def __init__(
        self,
        problem: Problem,
        options: SolveOptions,
        on_answer: Callable[[Answer], None] | None,
        stopped: Callable[[], bool],
    ) -> None:
        self._started_s = time.monotonic()
        faults = unsupported_faults(problem)
        if faults:
            raise UnsupportedProblemError(faults)
        if options.solver not in solver_names():
            make_solver(options.solver)
        self._problem, self._options = problem, options
        self._on_answer, self._stopped = on_answer, stopped
        limit_ms = options.time_limit_ms
        self._limit_s = (problem.policy.time_limit_ms if limit_ms is None else limit_ms) / 1000
        self._notes: list[str] = []
        self._seen: list[tuple[int, ...]] = []
        self._best: Answer | None = None
        self._best_plan: Plan | None = None
        self._shown_s = 0.0
        self._answer_cost_s = 0.0
        self._before: FragmentationReport | None = None

    def run(self) -> Answer:
        self._compiled = compile_problem(self._problem)
        self._trivial = trivial_bounds(self._compiled)
        self._reasons = WaitingReasons(self._problem, self._compiled)
        nothing = (None,) * len(self._compiled.tiers)
        floor: Plan | None = None
        if self._options.solver not in BASELINES:
            floor = make_solver("greedy").solve(self._compiled, self._parameters()).plan
            self._consider(floor, nothing, {}, ())
        # Loading a solver takes time: not before there is an answer.
        self._solver = make_solver(self._options.solver)
        try:
            result = self._solver.solve(
                self._compiled, self._parameters(), incumbent=floor, on_plan=self._on_plan
            )
        except Exception as error:  # a solver's fault costs its own plan, never the answer
            _LOG.warning("%s failed", self._options.solver, exc_info=error)
            cause = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
            self._reject(f"{self._options.solver} failed: {cause}")
            result = SolverResult(plan=self._best_plan or EMPTY_PLAN, bounds=nothing)
        self._consider(result.plan, result.bounds, result.counts, result.notes, final=True)
        if self._best is None:
            self._consider(EMPTY_PLAN, nothing, {}, (), final=True)
        if self._best is None:
            raise EngineFaultError("; ".join(self._notes) or "no answer passed the check")
        if self._on_answer is not None:
            self._on_answer(self._best)
        return self._best

    def _parameters(self) -> SolveParameters:
        options = self._options
        # What it takes to build and check the last answer is kept back.
        reserve_s = min(0.5 * self._limit_s, 1.5 * self._answer_cost_s)
        limit_s = self._limit_s * (20 if options.reproducible else 1)
        return SolveParameters(
            deadline_s=self._started_s + limit_s - reserve_s,
            workers=1 if options.reproducible else options.workers or os.cpu_count() or 1,
            seed=options.seed,
            deterministic_limit=self._limit_s if options.reproducible else None,
            stopped=self._stopped,
        )

    def _on_plan(self, plan: Plan, bounds: tuple[int | None, ...]) -> None:
        now = time.monotonic()
        if self._on_answer is None or now - self._shown_s < REPORT_EVERY_S:
            return
        self._consider(plan, bounds, {}, ())
        self._shown_s = time.monotonic()

    def _consider(
        self,
        plan: Plan,
        bounds: tuple[int | None, ...],
        counts: dict[str, int],
        notes: tuple[str, ...],
        *,
        final: bool = False,
    ) -> None:
        """Make an answer of the plan; keep it if it passes the check and is no worse."""
        compiled = self._compiled
        started = time.monotonic()
        faults = plan_faults(compiled, plan)
        if faults:
            self._reject(f"a plan of {self._options.solver} was refused: {faults[0]}")
            if self._best_plan is None or not final:
                return
            plan, bounds = self._best_plan, (None,) * len(compiled.tiers)
        values = tier_values(compiled, plan)
        if self._seen and is_better(compiled, self._seen[-1], values):
            if not final or self._best_plan is None:
                return
            # Worse than what is known: keep that; what was proven for another plan is void.
            plan, values, bounds = self._best_plan, self._seen[-1], (None,) * len(bounds)
        answer = self._answer(plan, values, bounds, counts, notes)
        violations = check_answer(self._problem, answer)
        self._answer_cost_s = max(self._answer_cost_s, time.monotonic() - started)
        if violations:
            self._reject(f"an answer of {self._options.solver} failed the check: {violations[0]}")
            return
        self._seen.append(values)
        self._best, self._best_plan = answer, plan
        if self._on_answer is not None and not final:
            self._on_answer(answer)

    def _reject(self, note: str) -> None:
        if note not in self._notes:
            self._notes.append(note)

    def _answer(
        self,
        plan: Plan,
        values: tuple[int, ...],
        bounds: tuple[int | None, ...],
        counts: dict[str, int],
        notes: tuple[str, ...],
    ) -> Answer:
        compiled, problem = self._compiled, self._problem
        decisions = _decisions(problem, compiled, self._reasons, plan)
        credible = self._credible(values, bounds)
        objective = tuple(
            _tier_result(compiled, tier, value, bound)
            for tier, value, bound in zip(compiled.tiers, values, credible, strict=True)
        )
        optimal = all(tier.status is Status.OPTIMAL for tier in objective)
        if self._before is None:
            self._before = fragmentation_report(problem, None)
        gaps = [tier.gap for tier in objective if tier.priority is not None and tier.tier != "age"]
        seconds = None if self._options.reproducible else time.monotonic() - self._started_s
        draft = Answer(
            status=Status.OPTIMAL if optimal else Status.FEASIBLE,
            objective=objective,
            decisions=decisions,
            fragmentation=Fragmentation(before=self._before, after=self._before),
            warnings=compiled.warnings,
            solver=SolverReport(
                name=self._options.solver,
                seconds=None if seconds is None else round(seconds, 3),
                gap=max(gaps, default=0.0),
                seed=self._options.seed,
                notes=(*self._notes, *notes),
                counts=counts,
            ),
        )
        after = fragmentation_report(problem, draft)
        return draft.model_copy(
            update={"fragmentation": Fragmentation(before=self._before, after=after)}
        )

    def _credible(self, values: tuple[int, ...], bounds: tuple[int | None, ...]) -> tuple[int, ...]:
        """Bounds that contradict no plan known; all of a solver's are void if one does."""
        tiers = self._compiled.tiers
        merged = list(self._trivial)
        for index, (tier, bound) in enumerate(zip(tiers, bounds, strict=True)):
            if bound is None:
                continue
            for known in (*self._seen, values):
                if known[:index] != values[:index]:
                    continue
                if known[index] > bound if tier.maximise else known[index] < bound:
                    self._reject(
                        f"{self._options.solver} claimed a bound of tier {tier.kind} that a known "
                        "plan beats; none of its bounds is used"
                    )
                    return self._trivial
            merged[index] = (
                min(bound, merged[index]) if tier.maximise else max(bound, merged[index])
            )
        return tuple(merged)


def _decisions(
    problem: Problem, compiled: CompiledProblem, reasons: WaitingReasons, plan: Plan
) -> tuple[Decision, ...]:
    tasks_of = assign(compiled, plan)
    waiting = reasons.after(plan)
    decisions = []
    for job, stated in enumerate(problem.jobs):
        if job in tasks_of:
            tasks = tuple(
                TaskPlacement(
                    group=compiled.group_names[task.group],
                    rank=task.rank,
                    node=compiled.node_names[task.node],
                    local_rank=task.local_rank,
                    gpus=task.gpus,
                )
                for task in tasks_of[job]
            )
            decisions.append(Decision(job=stated.name, action=Action.START, tasks=tasks))
        else:
            decisions.append(Decision(job=stated.name, action=Action.WAIT, why=waiting.why(job)))
    return tuple(decisions)


def _tier_result(compiled: CompiledProblem, tier: Tier, value: int, bound: int) -> TierResult:
    largest = max(abs(value), abs(bound))
    return TierResult(
        tier=tier.kind.value,
        priority=tier.priority,
        level=None if tier.level is None else compiled.level_names[tier.level],
        value=value / tier.unit,
        bound=bound / tier.unit,
        gap=abs(bound - value) / largest if largest else 0.0,
        status=Status.OPTIMAL if bound == value else Status.FEASIBLE,
    )
