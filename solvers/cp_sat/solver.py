"""The exact solver: tier by tier over a counting model, refined where it promised too much."""

import math
import time
from dataclasses import dataclass, field

from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, Plan, TierKind
from placement.compiled.values import is_better, tier_values
from solvers.base import OnPlan, SolveParameters, SolverResult
from solvers.bounds import trivial_bounds
from solvers.cp_sat.bundles import bundles, canonical
from solvers.cp_sat.capacity import add_capacity
from solvers.cp_sat.cells import (
    Cell,
    coarse_cells,
    refined,
    single_cells,
    with_pools,
    without_pools,
)
from solvers.cp_sat.expression import Expression
from solvers.cp_sat.model import CountingModel
from solvers.cp_sat.realise import Counts, realise
from solvers.cp_sat.rules import add_required, add_spread
from solvers.cp_sat.stage import StageResult, run_stage, slices
from solvers.cp_sat.tiers import Tiers
from solvers.cp_sat.warm_start import hint_plan
from solvers.greedy import Greedy

LARGEST_MODEL = 60_000
"""Counts (item, cell) beyond which cells are not refined any further."""

_JOB_TIERS = (TierKind.WORK, TierKind.WORK_WITHOUT_GPUS, TierKind.AGE)
"""Tiers that do not look at where tasks sit: coarse cells and pools will do."""

_FIRST_SEARCH = {
    TierKind.WORK: "reduced_costs",
    TierKind.SPAN: "reduced_costs",
    TierKind.BALANCE: "lb_tree_search",
}
"""What proves most at once on generated clusters (``python -m benchmarks scale``)."""

_WEIGHT = {
    TierKind.WORK: 40.0,
    TierKind.WORK_WITHOUT_GPUS: 10.0,
    TierKind.AGE: 4.0,
    TierKind.FRAGMENTATION: 2.0,
}
"""Share of the time that is left which a tier may use, relative to the tiers after it (else 1)."""


class CpSat:
    """Exact: lexicographic tiers with bounds, greedy's plan as complete hint."""

    name = "cp-sat"

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        """See :class:`solvers.base.Solver`."""
        floor = incumbent
        if floor is None:
            floor = Greedy().solve(problem, parameters, on_plan=on_plan).plan
        search = _Search(problem, parameters, on_plan, floor)
        search.run()
        return SolverResult(
            plan=search.best,
            bounds=tuple(search.bounds),
            notes=tuple(search.notes),
            counts=search.counts,
        )


@dataclass(eq=False)
class _Search:
    problem: CompiledProblem
    parameters: SolveParameters
    on_plan: OnPlan | None
    best: Plan = EMPTY_PLAN
    values: tuple[int, ...] = ()
    bounds: list[int | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = tier_values(self.problem, self.best)
        self.trivial = trivial_bounds(self.problem)
        self.bounds = [None] * len(self.problem.tiers)
        self.bundles = bundles(self.problem)
        self.spent = 0.0
        self.packing_s = 0.0
        self.patience = 1.5

    def run(self) -> None:
        """Go through the tiers until the last, or until time is up."""
        problem = self.problem
        self.cells = self._first_cells()
        self._skip_settled(0)
        self._tell()
        while self._remaining() > 0 and (tier := self._first_open()) is not None:
            while tier < len(problem.tiers) and self._remaining() > 0:
                if self._settled(tier):
                    tier += 1
                    continue
                self._build(tier)
                tier = self._work_through(tier)
            # What is left of the time goes to what is not proven, more each time.
            self.patience *= 2
        self._skip_settled(0)

    def _first_open(self) -> int | None:
        """The first tier that is not proven."""
        tiers = range(len(self.problem.tiers))
        return next((tier for tier in tiers if not self._settled(tier)), None)

    # -- one model --------------------------------------------------------------------------

    def _build(self, tier: int) -> None:
        problem = self.problem
        if problem.tiers[tier].kind not in _JOB_TIERS:
            self._refine_for_nodes()
        self.model = CountingModel(problem, self.cells, self.bundles)
        add_capacity(self.model)
        add_required(self.model)
        add_spread(self.model)
        self.tiers = Tiers(self.model)
        for index in range(tier):
            self._lock(index)
        self.counts = {
            **self.model.size(),
            "cells": len(self.cells),
            "bundles": len(self.bundles),
            "models": self.counts.get("models", 0) + 1,
        }

    def _work_through(self, tier: int) -> int:
        """Solve tier after tier on this model; returns where to go on, perhaps refined."""
        problem = self.problem
        while tier < len(problem.tiers):
            if self._settled(tier):
                self._lock(tier)
                tier += 1
                continue
            if self._remaining() <= 0:
                return tier
            if problem.tiers[tier].kind not in _JOB_TIERS and self._could_refine():
                return tier
            changed, failed, complete = self._solve_tier(tier)
            if changed < tier:
                # A tier above got better than it was held at: start again from there.
                return changed
            if not self._settled(tier):
                loose = {i for i, cell in enumerate(self.cells) if not cell.single}
                split = failed & loose or (loose if complete else set())
                if split and self._refine(split):
                    return tier
            self._lock(tier)
            tier += 1
        return tier

    def _solve_tier(self, index: int) -> tuple[int, set[int], bool]:
        """Solve one tier; returns the first tier that changed, failed cells, whether optimal."""
        tier, before = self.problem.tiers[index], self.values
        expression = self.tiers.expression(tier)
        end_s = time.monotonic() + self._budget(index)
        limit = self._deterministic_budget(index)
        turns = slices(_FIRST_SEARCH.get(tier.kind, "default_lp"), self.model.size()["variables"])
        failed: set[int] = set()
        complete = False
        while not (complete or self._settled(index)):
            left_s = min(end_s - time.monotonic(), self._remaining())
            if left_s <= 0 or (limit is not None and limit <= 0):
                break
            search, length = next(turns)
            if self.parameters.workers == 1:
                length = math.inf
            result = self._run(index, expression, search, left_s, min(length, limit or math.inf))
            if result is None:
                break
            if limit is not None:
                limit -= result.deterministic_time
            if result.bound is not None:
                self._tighten(index, result.bound)
            if result.counts is not None:
                failed = self._offer(result.counts)
            complete = result.optimal
            self._tell()
            if self.values[:index] != before[:index]:
                break
        changed = next(
            (i for i, (a, b) in enumerate(zip(before, self.values, strict=True)) if a != b), index
        )
        return min(changed, index), failed, complete

    def _run(
        self, index: int, expression: Expression, search: str, left_s: float, length: float
    ) -> StageResult | None:
        """One run from the best plan; None if the solver contradicts what is known."""
        tier = self.problem.tiers[index]
        hint_plan(self.model, self.best)
        watch = None
        if tier.kind is TierKind.WORK:

            def watch(counts: Counts) -> bool:
                self._offer(counts)
                return self._settled(index)

        result = run_stage(
            self.model,
            expression,
            maximise=tier.maximise,
            budget_s=left_s,
            deterministic_budget=None if math.isinf(length) else length,
            parameters=self.parameters,
            full_search=search,
            on_counts=watch,
        )
        self.spent += result.deterministic_time
        self.counts["deterministic_time_milli"] = int(self.spent * 1000)
        if result.faulty:
            self.notes.append(f"tier {tier.kind}: the solver found no solution where one is known")
            return None
        return result

    def _offer(self, counts: Counts) -> set[int]:
        """Pack a solution; keep it if it is the best so far."""
        started_s = time.monotonic()
        items = [(item.bundle, item.group) for item in self.model.items]
        realised = realise(self.problem, self.cells, self.bundles, items, counts, self.parameters)
        plan = canonical(self.problem, realised.plan)
        self.packing_s = max(self.packing_s, time.monotonic() - started_s)
        if not plan_faults(self.problem, plan):
            values = tier_values(self.problem, plan)
            if is_better(self.problem, values, self.values):
                first = next(i for i, v in enumerate(values) if v != self.values[i])
                # Bounds of the tiers below were proven with this one held at less.
                self.bounds[first + 1 :] = [None] * (len(values) - first - 1)
                self.best, self.values = plan, values
                self._tell()
        else:
            self.notes.append("a packed plan broke a rule and was dropped")
        return realised.failed

    def _lock(self, index: int) -> None:
        """Hold the tier at what the best plan reaches."""
        tier = self.problem.tiers[index]
        expression = self.tiers.expression(tier)
        limit = self.values[index] - expression.constant
        if tier.maximise:
            self.model.add_at_least(expression.terms, limit)
        else:
            self.model.add_at_most(expression.terms, limit)

    # -- refinement -------------------------------------------------------------------------

    def _first_cells(self) -> list[Cell]:
        return with_pools(self.problem, coarse_cells(self.problem))

    def _size(self, cells: list[Cell]) -> int:
        fit = self.problem.fit[self.problem.group_kind] > 0
        return sum(int(fit[:, cell.nodes[0]].sum()) for cell in cells)

    def _could_refine(self) -> bool:
        if any(cell.parts for cell in self.cells):
            return True
        if all(cell.single for cell in self.cells):
            return False
        everything = set(range(len(self.cells)))
        finer = refined(self.problem, self.cells, everything)
        return len(finer) > len(self.cells) and self._size(finer) <= LARGEST_MODEL // 3

    def _refine_for_nodes(self) -> None:
        """Locality and fragmentation look at nodes: as fine as is affordable."""
        self.cells = without_pools(self.cells)
        singles = single_cells(self.cells)
        if self._size(singles) <= LARGEST_MODEL // 3:
            self.cells = singles

    def _refine(self, split: set[int]) -> bool:
        pools = any(cell.parts for cell in self.cells)
        if any(self.cells[index].parts for index in split):
            self.cells = without_pools(self.cells)
            return True
        finer = refined(self.problem, without_pools(self.cells), split)
        if pools:
            finer = with_pools(self.problem, finer)
        if len(finer) == len(self.cells) or self._size(finer) > LARGEST_MODEL:
            return False
        self.cells = finer
        return True

    # -- bounds and time --------------------------------------------------------------------

    def _tighten(self, index: int, bound: int) -> None:
        tier, known = self.problem.tiers[index], self.bounds[index]
        if known is not None:
            bound = min(bound, known) if tier.maximise else max(bound, known)
        self.bounds[index] = bound

    def _settled(self, index: int) -> bool:
        """Whether the tier's value is proven optimal under the tiers above."""
        value = self.values[index]
        if value == self.trivial[index]:
            self.bounds[index] = value
        return self.bounds[index] == value

    def _skip_settled(self, start: int) -> None:
        for index in range(start, len(self.problem.tiers)):
            self._settled(index)
            if self.bounds[index] is None:
                self.bounds[index] = self.trivial[index]

    def _remaining(self) -> float:
        limit = self.parameters.deterministic_limit
        if limit is not None and self.spent >= limit:
            return 0.0
        # What is found last has to be packed yet.
        return max(0.0, self.parameters.remaining_s() - self.packing_s)

    def _budget(self, index: int) -> float:
        return self._share(index, self._remaining())

    def _deterministic_budget(self, index: int) -> float | None:
        limit = self.parameters.deterministic_limit
        return None if limit is None else self._share(index, max(0.0, limit - self.spent))

    def _share(self, index: int, left: float) -> float:
        weights = [_WEIGHT.get(t.kind, 1.0) for t in self.problem.tiers[index:]]
        open_ = [
            w
            for w, i in zip(weights, range(index, len(self.problem.tiers)), strict=True)
            if self.values[i] != self.trivial[i]
        ]
        share = self.patience * weights[0] / max(sum(open_), weights[0])
        return left * min(1.0, share)

    def _tell(self) -> None:
        if self.on_plan is not None:
            self.on_plan(self.best, tuple(self.bounds))
