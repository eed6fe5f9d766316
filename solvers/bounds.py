"""Bounds that need no solver."""

import numpy as np

from placement.compiled.leftover import leftover
from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, TierKind
from placement.compiled.values import fragmentation_value


def trivial_bounds(problem: CompiledProblem) -> tuple[int, ...]:
    """Per tier what no plan can exceed: everything that could start by itself does, at no cost."""
    by_gpus = any(t.kind is TierKind.WORK_WITHOUT_GPUS for t in problem.tiers)
    room = problem.fit.sum(axis=1)
    able = np.ones(problem.job_count, dtype=np.bool_)
    further = np.zeros(problem.job_count, dtype=np.int64)
    for job, groups in enumerate(problem.job_groups):
        for group in groups:
            here = int(room[problem.group_kind[group]])
            least, most = int(problem.count_min[group]), int(problem.count_max[group])
            able[job] &= here >= least
            further[job] += max(0, min(most, here) - least) * int(problem.work_per_task[group])
    bounds: list[int] = []
    for tier in problem.tiers:
        members = able & (problem.priority == tier.priority)
        if by_gpus and tier.kind is TierKind.WORK:
            members &= problem.has_gpu
        if tier.kind is TierKind.WORK_WITHOUT_GPUS:
            members &= ~problem.has_gpu
        match tier.kind:
            case TierKind.WORK | TierKind.WORK_WITHOUT_GPUS:
                bounds.append(int((problem.work_base + further)[members].sum()))
            case TierKind.AGE:
                bounds.append(int(problem.age_weight[members].sum()))
            case TierKind.FRAGMENTATION:
                bounds.append(fragmentation_value(problem, leftover(problem, EMPTY_PLAN)))
            case _:
                bounds.append(0)
    return tuple(bounds)
