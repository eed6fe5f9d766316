"""Greedy: job by job in several orders, the best of them kept."""

import math
from collections.abc import Callable, Container, Sequence

import numpy as np

from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, Plan
from placement.compiled.values import is_better, tier_values
from solvers.base import OnPlan, SolveParameters, SolverResult
from solvers.greedy.placing import Entries, JobPlacer
from solvers.occupancy import Occupancy

Order = Callable[[CompiledProblem, int], tuple[float, ...]]


def largest_first(problem: CompiledProblem, job: int) -> tuple[float, ...]:
    """Most work first, then the longest waiting."""
    return (-float(problem.work_base[job]), -float(problem.age_weight[job]), float(job))


def oldest_first(problem: CompiledProblem, job: int) -> tuple[float, ...]:
    """Longest waiting first."""
    age = problem.age_weight[job] / max(1, int(problem.work_base[job]))
    return (-float(age), -float(problem.work_base[job]), float(job))


def hardest_first(problem: CompiledProblem, job: int) -> tuple[float, ...]:
    """Fewest places per task first."""
    places = min(
        float(problem.fit[problem.group_kind[group]].sum()) / max(1, int(problem.count_max[group]))
        for group in problem.job_groups[job]
    )
    return (places, -float(problem.work_base[job]), float(job))


def smallest_first(problem: CompiledProblem, job: int) -> tuple[float, ...]:
    """Least work first: starts the most jobs."""
    return (float(problem.work_base[job]), -float(problem.age_weight[job]), float(job))


ORDERS: tuple[Order, ...] = (largest_first, oldest_first, hardest_first, smallest_first)


class Greedy:
    """Priority by priority, job by job; elastic groups grow once their priority has been served."""

    name = "greedy"

    def __init__(self, orders: Sequence[Order] = ORDERS) -> None:
        self._orders = orders

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        """See :class:`solvers.base.Solver`; claims no bounds."""
        nothing = (None,) * len(problem.tiers)
        best = incumbent or EMPTY_PLAN
        values = tier_values(problem, best)
        tried = 0
        for order in self._orders:
            if tried and parameters.remaining_s() <= 0:
                break
            # The first order is the floor under every answer: it is never cut short.
            limits = parameters if tried else SolveParameters(deadline_s=math.inf)
            plan = construct(problem, order, limits)
            tried += 1
            if plan_faults(problem, plan):
                continue
            new = tier_values(problem, plan)
            if is_better(problem, new, values):
                best, values = plan, new
                if on_plan is not None:
                    on_plan(best, nothing)
            if len(np.unique(problem.group_job[plan.group])) == problem.job_count:
                break
        return SolverResult(plan=best, bounds=nothing, counts={"orders": tried})


def construct(problem: CompiledProblem, order: Order, parameters: SolveParameters) -> Plan:
    """One greedy plan; stops early, with what has been placed, when time is up."""
    occupancy = Occupancy(problem)
    placer = JobPlacer(problem, occupancy)
    return Plan.of(extend(problem, placer, order, parameters, {}))


def extend(
    problem: CompiledProblem,
    placer: JobPlacer,
    order: Order,
    parameters: SolveParameters,
    started: dict[int, Entries],
    among: Container[int] | None = None,
) -> Entries:
    """Start what else fits, the jobs in ``started`` being placed already.

    ``among``: the only further jobs to start; None: all.
    """
    failed_classes: set[int] = set()
    placed: dict[int, Entries] = dict(started)
    for priority in sorted(set(problem.priority.tolist()), reverse=True):
        jobs = [j for j in np.flatnonzero(problem.priority == priority).tolist() if j not in placed]
        jobs = [j for j in jobs if among is None or j in among]
        elastic: list[int] = []
        for job in sorted(jobs, key=lambda j: order(problem, j)):
            if parameters.remaining_s() <= 0:
                break
            # What did not fit does not fit later either: room only shrinks.
            if int(problem.job_class[job]) in failed_classes:
                continue
            counts = {g: int(problem.count_min[g]) for g in problem.job_groups[job]}
            entries = placer.place(job, counts)
            if entries is None:
                failed_classes.add(int(problem.job_class[job]))
                continue
            placed[job] = entries
            if any(problem.count_max[g] > problem.count_min[g] for g in counts):
                elastic.append(job)
        for job in elastic:
            placed[job] = _grown(problem, placer, job, placed[job], parameters)
    return [entry for entries in placed.values() for entry in entries]


def _grown(
    problem: CompiledProblem,
    placer: JobPlacer,
    job: int,
    entries: Entries,
    parameters: SolveParameters,
) -> Entries:
    """Give an elastic job as many tasks as fit, group by group, by bisection."""
    counts = {g: int(problem.count_min[g]) for g in problem.job_groups[job]}
    for group in problem.job_groups[job]:
        low, high = counts[group], int(problem.count_max[group])
        while low < high and parameters.remaining_s() > 0:
            middle = (
                high
                if low == counts[group] and high == problem.count_max[group]
                else (low + high + 1) // 2
            )
            mark = placer.occupancy.mark()
            placer.occupancy.release(entries)
            grown = placer.place(job, {**counts, group: middle})
            if grown is None:
                placer.occupancy.undo(mark)
                high = middle - 1
            else:
                entries, low = grown, middle
        counts[group] = low
    return entries
