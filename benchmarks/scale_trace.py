"""What a solver tells while it works, with times, and when it reached a gap for good."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from placement.compiled.problem import CompiledProblem, Plan, TierKind
from placement.compiled.values import tier_values
from solvers.base import OnPlan, SolveParameters, Solver, SolverResult
from solvers.bounds import trivial_bounds

WORK_KINDS = (TierKind.WORK, TierKind.WORK_WITHOUT_GPUS)


@dataclass(frozen=True)
class Moment:
    """Values and bounds of all tiers at one time; bounds as known, the trivial ones at least."""

    clock_s: float
    values: tuple[int, ...]
    bounds: tuple[int, ...]

    def gap(self, tiers: Sequence[int]) -> float:
        """Largest gap among these tiers; 0 exactly if all are proven optimal."""
        return max((_gap(self.values[t], self.bounds[t]) for t in tiers), default=0.0)


def _gap(value: int, bound: int) -> float:
    if value == bound:
        return 0.0
    return abs(bound - value) / max(abs(value), abs(bound))


def reached_s(moments: Sequence[Moment], tiers: Sequence[int], gap: float) -> float | None:
    """Clock of the first moment from which on the gap of the tiers stays within ``gap``.

    A better plan can void the bounds of lower tiers, so a gap once reached can be lost again.
    """
    result: float | None = None
    for moment in reversed(moments):
        if moment.gap(tiers) > gap:
            break
        result = moment.clock_s
    return result


def work_tiers(problem: CompiledProblem) -> list[int]:
    """Positions of the tiers that say how much work starts."""
    return [i for i, tier in enumerate(problem.tiers) if tier.kind in WORK_KINDS]


@dataclass
class Recorder:
    """A solver that notes all that another one tells.

    Attributes
    ----------
    inner
        The solver that does the work.
    moments
        What it told in the last solve, in order; the result at the end included.
    """

    inner: Solver
    moments: list[Moment] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name = self.inner.name

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        """See :class:`solvers.base.Solver`."""
        self.moments = []
        trivial = trivial_bounds(problem)

        def note(plan: Plan, bounds: tuple[int | None, ...]) -> None:
            known = tuple(
                easy if bound is None else (min if tier.maximise else max)(easy, bound)
                for tier, easy, bound in zip(problem.tiers, trivial, bounds, strict=True)
            )
            self.moments.append(Moment(time.monotonic(), tier_values(problem, plan), known))

        def told(plan: Plan, bounds: tuple[int | None, ...]) -> None:
            note(plan, bounds)
            if on_plan is not None:
                on_plan(plan, bounds)

        if incumbent is not None:
            note(incumbent, (None,) * len(problem.tiers))
        result = self.inner.solve(problem, parameters, incumbent=incumbent, on_plan=told)
        note(result.plan, result.bounds)
        return result
