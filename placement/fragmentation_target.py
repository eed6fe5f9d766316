"""The mix of sets by which leftovers are valued: as given, or learned from the jobs."""

from collections import defaultdict

from placement.cluster import NODE_LEVEL
from placement.policy import TargetSet
from placement.problem import Problem
from placement.workload import Job, TaskGroup

MOST_SETS = 8
"""Most sets of an automatic target; those of largest weight stay."""

_SetKey = tuple[int, int, str | None]
"""nodes, gpus per node, level."""


def resolve_target(problem: Problem) -> tuple[TargetSet, ...]:
    """Return the target sets of the policy (``docs/objective.md``, automatic target).

    Returns
    -------
    tuple of TargetSet
        As given; or the automatic ones by falling weight, empty if nothing asks for whole GPUs.
    """
    target = problem.policy.fragmentation.target
    if target != "auto":
        return target
    asked: dict[_SetKey, int] = defaultdict(int)
    for key, gpus in _requests(problem):
        asked[key] += gpus
    total = sum(asked.values())
    levels = problem.cluster.levels
    weighted = [(max(1, 1000 * gpus // total), key) for key, gpus in asked.items()]

    def order(item: tuple[int, _SetKey]) -> tuple[int, int, int, int]:
        weight, (nodes, gpus, level) = item
        return -weight, -gpus, -nodes, -1 if level is None else levels.index(level)

    return tuple(
        TargetSet(nodes=nodes, gpus=gpus, level=level, weight=weight / 1000)
        for weight, (nodes, gpus, level) in sorted(weighted, key=order)[:MOST_SETS]
    )


def _requests(problem: Problem) -> list[tuple[_SetKey, int]]:
    """(nodes, gpus, level) and the GPUs asked, of every request for whole GPUs."""
    largest = max((node.shape.gpus.count for node in problem.nodes if node.shape.gpus), default=0)
    result: list[tuple[_SetKey, int]] = []
    for job in problem.jobs:
        for group in job.tasks:
            if group.whole_gpu_count and not group.is_shared_gpu:
                key = _pending_set(job, group, largest)
                result.append((key, group.count.max * group.whole_gpu_count))
    for running in problem.cluster.running:
        for task in running.tasks:
            gpus, rest = divmod(task.gpus_milli, 1000)
            if gpus and not rest and not task.gpu_memory_bytes:
                result.append(((1, gpus, None), gpus))
    return result


def _pending_set(job: Job, group: TaskGroup, largest: int) -> _SetKey:
    each = group.whole_gpu_count
    asked = group.count.max * each
    level = _required_level(job, group)
    if group.count.max > 1 and level is not None and level != NODE_LEVEL and largest:
        nodes = -(-asked // largest)
        if nodes > 1:
            return nodes, min(largest, asked), level
    return 1, each, None


def _required_level(job: Job, group: TaskGroup) -> str | None:
    """The group's own required level, else the job's."""
    for topology in (group.topology, job.topology):
        if topology is not None and not isinstance(topology, str) and topology.required:
            return topology.required
    return None
