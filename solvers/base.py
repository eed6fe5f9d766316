"""What every solver is: one call, a deadline, and each better plan told as it is found."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from placement.compiled.problem import CompiledProblem, Plan

OnPlan = Callable[[Plan, tuple[int | None, ...]], None]
"""Told of each better plan, with the bounds known so far (one per tier, None: none)."""


@dataclass(frozen=True, slots=True)
class SolveParameters:
    """How to solve; says nothing about what.

    Attributes
    ----------
    deadline_s
        ``time.monotonic()`` at which the solver must have returned.
    workers
        Threads a solver may use.
    seed
        Same seed, parameters and version with one worker and ``deterministic_limit``: same plan.
    deterministic_limit
        CP-SAT deterministic time for the whole solve; None: only the deadline counts.
    stopped
        Asked often; True ends the solve with the best so far.
    """

    deadline_s: float
    workers: int = 2
    seed: int = 0
    deterministic_limit: float | None = None
    stopped: Callable[[], bool] = field(default=lambda: False)

    def remaining_s(self) -> float:
        """Seconds left; 0 when stopped."""
        return 0.0 if self.stopped() else max(0.0, self.deadline_s - time.monotonic())


@dataclass(frozen=True, slots=True)
class SolverResult:
    """A plan and what is claimed about it.

    Attributes
    ----------
    plan
        The best plan found, lexicographically by the problem's tiers.
    bounds
        One per tier, in tier units: no plan that keeps the values of all tiers above at what
        ``plan`` reaches can be better than this; None: nothing is claimed.
    notes
        What was rounded, cut short or replaced.
    counts
        Machine-independent sizes: variables, constraints, classes, ...
    """

    plan: Plan
    bounds: tuple[int | None, ...]
    notes: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)


class Solver(Protocol):
    """One way to solve a compiled problem."""

    name: str

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        """Return the best plan found by the deadline.

        The result is never worse than ``incumbent``.
        """
        ...
