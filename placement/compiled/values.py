"""The value of every tier of a plan, on arrays (``docs/objective.md``)."""

import numpy as np

from placement.compiled.leftover import Leftover, leftover
from placement.compiled.problem import (
    CompiledProblem,
    IntArray,
    OneDomain,
    Plan,
    TargetShape,
    TierKind,
)


def group_counts(problem: CompiledProblem, plan: Plan) -> IntArray:
    """``[G]`` tasks of each group that start."""
    counts = np.zeros(problem.group_count, dtype=np.int64)
    np.add.at(counts, plan.group, plan.count)
    return counts


def started_jobs(problem: CompiledProblem, plan: Plan) -> IntArray:
    """Indices of the jobs that start, ascending."""
    return np.unique(problem.group_job[plan.group])


def tier_values(problem: CompiledProblem, plan: Plan) -> tuple[int, ...]:
    """Value of each tier of ``problem.tiers``, in tier units."""
    counts = group_counts(problem, plan)
    started = np.zeros(problem.job_count, dtype=np.bool_)
    started[started_jobs(problem, plan)] = True
    left: Leftover | None = None
    values: list[int] = []
    for tier in problem.tiers:
        match tier.kind:
            case TierKind.WORK:
                members = started & (problem.priority == tier.priority)
                if any(t.kind is TierKind.WORK_WITHOUT_GPUS for t in problem.tiers):
                    members = members & problem.has_gpu
                values.append(_work(problem, counts, members))
            case TierKind.WORK_WITHOUT_GPUS:
                members = started & (problem.priority == tier.priority) & ~problem.has_gpu
                values.append(_work(problem, counts, members))
            case TierKind.AGE:
                members = started & (problem.priority == tier.priority)
                values.append(int(problem.age_weight[members].sum()))
            case TierKind.PREFERRED_SPAN:
                values.append(sum(_rule_span(problem, plan, rule) for rule in problem.preferred))
            case TierKind.SPAN:
                assert tier.level is not None
                values.append(_span(problem, plan, tier.level))
            case TierKind.BALANCE:
                assert tier.level is not None
                values.append(_balance(problem, plan, tier.level))
            case TierKind.SOFT:
                cost = problem.soft_cost[problem.group_kind[plan.group], plan.node]
                values.append(int((cost * plan.count).sum()))
            case TierKind.FRAGMENTATION:
                left = left or leftover(problem, plan)
                values.append(fragmentation_value(problem, left))
    return tuple(values)


def is_better(problem: CompiledProblem, left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """Whether the first values come before the second, tier by tier."""
    for tier, a, b in zip(problem.tiers, left, right, strict=True):
        if a != b:
            return a > b if tier.maximise else a < b
    return False


def fragmentation_value(problem: CompiledProblem, left: Leftover) -> int:
    """Weighted number of assemblable sets in what is left."""
    return sum(t.weight * assemblable_sets(problem, t, left) for t in problem.targets)


def units_per_node(target: TargetShape, left: Leftover) -> IntArray:
    """``[N]`` how many times one node's part of the set fits on each node."""
    if not target.gpus and not target.demand[:3].any():
        return np.zeros(len(left.idle), dtype=np.int64)
    used = np.flatnonzero(target.demand)
    units = (np.maximum(left.free[:, used], 0) // target.demand[used]).min(axis=1)
    if target.gpus:
        units = np.minimum(units, np.maximum(left.idle, 0) // target.gpus)
    return np.where(target.usable, units, 0)


def assemblable_sets(problem: CompiledProblem, target: TargetShape, left: Leftover) -> int:
    """How many of the sets fit, each shape counted by itself."""
    units = units_per_node(target, left)
    if target.nodes == 1 and target.level is None:
        return int(units.sum())
    if target.level is None:
        return _sets(units, target.nodes)
    domain = problem.domain[target.level]
    named = problem.named[target.level]
    able = np.flatnonzero((units > 0) & named[domain])
    total = 0
    order = able[np.argsort(domain[able], kind="stable")]
    for members in np.split(order, np.flatnonzero(np.diff(domain[order])) + 1):
        total += _sets(units[members], target.nodes)
    return total


def _sets(units: IntArray, nodes: int) -> int:
    """Largest t with sum(min(units, t)) >= nodes * t."""
    low, high = 0, int(units.sum()) // nodes
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(units, middle).sum()) >= nodes * middle:
            low = middle
        else:
            high = middle - 1
    return low


def _work(problem: CompiledProblem, counts: IntArray, members: np.ndarray) -> int:
    base = int(problem.work_base[members].sum())
    further = (counts - problem.count_min) * problem.work_per_task
    return base + int(further[members[problem.group_job]].sum())


def _rule_span(problem: CompiledProblem, plan: Plan, rule: OneDomain) -> int:
    if not problem.gang[rule.job]:
        return 0
    entries = np.isin(plan.group, rule.groups)
    if not entries.any():
        return 0
    domains = np.unique(problem.domain[rule.level][plan.node[entries]])
    return int(problem.intensity[rule.job]) * (len(domains) - 1)


def _job_domain_counts(
    problem: CompiledProblem, plan: Plan, level: int
) -> tuple[IntArray, IntArray]:
    """Per used (gang, domain) pair: the job, and its tasks there; sorted by job."""
    jobs = problem.group_job[plan.group]
    entries = problem.gang[jobs]
    jobs = jobs[entries]
    domains = problem.domain[level][plan.node[entries]]
    width = int(problem.domain[level].max(initial=0)) + 1
    keys, where = np.unique(jobs * width + domains, return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, where, plan.count[entries])
    return keys // width, counts


def _span(problem: CompiledProblem, plan: Plan, level: int) -> int:
    jobs, _ = _job_domain_counts(problem, plan, level)
    used = np.bincount(jobs, minlength=problem.job_count)
    return int((problem.intensity * np.maximum(0, used - 1)).sum())


def _balance(problem: CompiledProblem, plan: Plan, level: int) -> int:
    jobs, counts = _job_domain_counts(problem, plan, level)
    if not len(jobs):
        return 0
    starts = np.flatnonzero(np.diff(jobs, prepend=-1))
    difference = np.maximum.reduceat(counts, starts) - np.minimum.reduceat(counts, starts)
    return int((problem.intensity[jobs[starts]] * difference).sum())
