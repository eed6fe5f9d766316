"""The jobs of one priority and what is left of the cluster, as a configuration problem."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from placement.compiled.problem import CompiledProblem, IntArray, TierKind
from solvers.configurations.classes import NodeShapes, TaskClasses
from solvers.occupancy import Occupancy


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A configuration problem, and what its shapes and classes stand for.

    Attributes
    ----------
    shapes, classes
        The configuration problem.
    nodes
        Per shape the nodes that have it, ascending.
    groups
        Per class its groups; of single-task jobs the ones that waited longest come first.
    """

    shapes: NodeShapes
    classes: TaskClasses
    nodes: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]


def single_jobs(problem: CompiledProblem) -> list[int]:
    """Jobs of exactly one task that no rule ties to other tasks, and that fit on some node."""
    spread = {rule.group for rule in problem.spread}
    result = []
    for job, groups in enumerate(problem.job_groups):
        group = groups[0]
        if (
            len(groups) == 1
            and problem.count_min[group] == problem.count_max[group] == 1
            and group not in spread
            and problem.fit[problem.group_kind[group]].any()
        ):
            result.append(job)
    return result


def task_values(problem: CompiledProblem) -> IntArray:
    """``[G]`` a value per task such that no job is worth more, in a work tier, than its tasks.

    Exact for jobs of one task. A job's least counts may be worth more than as many further
    tasks, as each is rounded down by itself: the difference is spread over the least counts.
    """
    values = problem.work_per_task.copy()
    for job, groups in enumerate(problem.job_groups):
        least = problem.count_min[list(groups)]
        further = int(problem.work_base[job]) - int(least @ problem.work_per_task[list(groups)])
        if further > 0:
            values[list(groups)] += -(-further // max(1, int(least.sum())))
    return values


def values_of_work(problem: CompiledProblem, priority: int) -> IntArray:
    """``[G]`` value per task in the work tier of the priority; 0 for all that do not count."""
    counts = problem.priority == priority
    if any(tier.kind is TierKind.WORK_WITHOUT_GPUS for tier in problem.tiers):
        counts = counts & problem.has_gpu
    return np.where(counts[problem.group_job], task_values(problem), 0)


def view_of(
    problem: CompiledProblem,
    occupancy: Occupancy,
    groups: Iterable[int],
    values: IntArray,
) -> View:
    """Gather tasks and nodes that no capacity can tell apart.

    Rules other than capacity and eligibility are left out: the view is a relaxation, exact for
    single-task jobs.

    Parameters
    ----------
    problem, occupancy
        The problem, and what is free now.
    groups
        The groups to place; those of value 0 are left out.
    values
        ``[G]`` value per task.
    """
    members = _classes(problem, groups, values)
    kinds = problem.group_kind[[groups_of[0] for groups_of in members]].astype(np.int64)
    eligible = problem.eligible[kinds]
    numbers: dict[Hashable, int] = {}
    nodes: list[list[int]] = []
    for node in np.flatnonzero(eligible.any(axis=0)).tolist():
        key = (
            occupancy.free[node].tobytes(),
            int(occupancy.idle[node]),
            np.sort(occupancy.bins[node]).tobytes(),
            int(problem.gpu_kind[node]),
            eligible[:, node].tobytes(),
        )
        if key not in numbers:
            numbers[key] = len(nodes)
            nodes.append([])
        nodes[numbers[key]].append(node)
    first = np.array([members_of[0] for members_of in nodes], dtype=np.int64)
    shared = (np.sort(occupancy.bins[node][occupancy.bins[node] > 0]) for node in first)
    return View(
        shapes=NodeShapes(
            free=np.maximum(occupancy.free[first], 0),
            idle=np.maximum(occupancy.idle[first], 0),
            shared=tuple(tuple(left.tolist()) for left in shared),
            gpu_kind=problem.gpu_kind[first],
            gpu_capacity=problem.gpu_kind_capacity,
            count=np.array([len(members_of) for members_of in nodes], dtype=np.int64),
            allowed=np.ascontiguousarray(eligible[:, first].T),
        ),
        classes=TaskClasses(
            value=np.array([int(values[groups_of[0]]) for groups_of in members], dtype=np.int64),
            demand=problem.demand[kinds],
            gpus=problem.whole_gpus[kinds],
            share=problem.share_units[kinds],
            supply=np.array(
                [int(problem.count_max[groups_of].sum()) for groups_of in members], dtype=np.int64
            ),
        ),
        nodes=tuple(map(tuple, nodes)),
        groups=tuple(map(tuple, members)),
    )


def _classes(problem: CompiledProblem, groups: Iterable[int], values: IntArray) -> list[list[int]]:
    kind_keys: dict[int, Hashable] = {}
    numbers: dict[Hashable, int] = {}
    members: list[list[int]] = []
    for group in groups:
        kind = int(problem.group_kind[group])
        if not values[group] or not problem.count_max[group]:
            continue
        if kind not in kind_keys:
            kind_keys[kind] = (
                problem.demand[kind].tobytes(),
                int(problem.whole_gpus[kind]),
                problem.share_units[kind].tobytes(),
                problem.eligible[kind].tobytes(),
            )
        key = (kind_keys[kind], int(values[group]))
        if key not in numbers:
            numbers[key] = len(members)
            members.append([])
        members[numbers[key]].append(group)
    for groups_of in members:
        groups_of.sort(key=lambda g: (-int(problem.age_weight[problem.group_job[g]]), g))
    return members
