"""Chooses the way by what the problem looks like."""

from dataclasses import replace

from placement.compiled.problem import CompiledProblem, Plan, TierKind
from placement.compiled.values import tier_values
from solvers.base import OnPlan, SolveParameters, SolverResult
from solvers.bounds import trivial_bounds
from solvers.configurations import Configurations
from solvers.configurations.view import single_jobs
from solvers.cp_sat import CpSat
from solvers.cp_sat.solver import LARGEST_MODEL
from solvers.greedy import Greedy

SINGLE_PERCENT = 90
"""Least part of the jobs that are single tasks, for configurations to be worth while."""


class Auto:
    """Exact counting, or configurations where counting would promise too much.

    The counting model adds up what the nodes of a cell have. It is exact once cells are single
    nodes; until then tasks seem to fit that no single node can take, above all shares of GPUs, and
    tasks for which GPUs and another resource run out together. Configurations fill whole nodes,
    but know single-task jobs only. So they are taken where all of this holds:

    1. a plan that is known leaves work undone that could start by itself;
    2. at least ``SINGLE_PERCENT`` of the jobs are single tasks that no rule ties to others;
    3. a model that tells nodes apart is out of reach: there are more than ``LARGEST_MODEL`` pairs
       of a class of such jobs and a node that can take one.

    If all jobs are single tasks, configurations then use all the time, unless they prove before
    that no more work can start. If some are of other forms, they use half of the time. Then
    counting goes on from their plan, to the tiers below work as well.
    """

    name = "auto"

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
        singles = single_jobs(problem)
        if not prefers_configurations(problem, singles, floor):
            return CpSat().solve(problem, parameters, incumbent=floor, on_plan=on_plan)
        part = 1.0 if len(singles) == problem.job_count else 0.5
        first = Configurations().solve(
            problem, _part(parameters, part), incumbent=floor, on_plan=on_plan
        )
        if part == 1.0 and not _work_is_proven(problem, first):
            return first
        rest = _part(parameters, 1.0 - part) if part < 1.0 else parameters
        rest = replace(rest, deadline_s=parameters.deadline_s)
        return _continued(problem, rest, first, on_plan)


def prefers_configurations(problem: CompiledProblem, singles: list[int], known: Plan) -> bool:
    """Whether to begin with configurations; see :class:`Auto`."""
    if 100 * len(singles) < SINGLE_PERCENT * problem.job_count:
        return False
    first_of = {int(problem.job_class[job]): job for job in reversed(singles)}
    kinds = [problem.group_kind[problem.job_groups[job][0]] for job in first_of.values()]
    if int((problem.fit[kinds] > 0).sum()) <= LARGEST_MODEL:
        return False
    values, most = tier_values(problem, known), trivial_bounds(problem)
    return any(values[i] < most[i] for i in _work_tiers(problem))


def _work_tiers(problem: CompiledProblem) -> list[int]:
    return [i for i, tier in enumerate(problem.tiers) if tier.kind is TierKind.WORK]


def _work_is_proven(problem: CompiledProblem, result: SolverResult) -> bool:
    values, most = tier_values(problem, result.plan), trivial_bounds(problem)
    return all(values[i] in (most[i], result.bounds[i]) for i in _work_tiers(problem))


def _part(parameters: SolveParameters, part: float) -> SolveParameters:
    """Parameters with this part of the time that is left."""
    limit = parameters.deterministic_limit
    left_s = parameters.remaining_s()
    return replace(
        parameters,
        deadline_s=parameters.deadline_s - (1.0 - part) * left_s,
        deterministic_limit=None if limit is None else part * limit,
    )


def _continued(
    problem: CompiledProblem,
    parameters: SolveParameters,
    first: SolverResult,
    on_plan: OnPlan | None,
) -> SolverResult:
    """Count on from the plan of the first solver; its bound of the first tier holds for all."""

    def merged(bounds: tuple[int | None, ...]) -> tuple[int | None, ...]:
        known = [bound for bound in (first.bounds[0], bounds[0]) if bound is not None]
        return (min(known) if known else None, *bounds[1:])

    def told(plan: Plan, bounds: tuple[int | None, ...]) -> None:
        if on_plan is not None:
            on_plan(plan, merged(bounds))

    result = CpSat().solve(problem, parameters, incumbent=first.plan, on_plan=told)
    return SolverResult(
        plan=result.plan,
        bounds=merged(result.bounds),
        notes=(*first.notes, *result.notes),
        counts={**first.counts, **result.counts},
    )
