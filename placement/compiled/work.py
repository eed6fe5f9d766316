"""What starting a job is worth (``docs/objective.md``, tiers work and age)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from placement.compiled.problem import WORK_UNIT
from placement.workload import Job, TaskGroup


@dataclass(frozen=True, slots=True)
class JobWork:
    """Work of one job: at its least counts, and per further task of each group."""

    base: int
    per_task: tuple[int, ...]


def gpu_milli(group: TaskGroup, largest_gpu_memory_bytes: int) -> int:
    """Milli-GPUs that a task counts; a share by memory counts as of the largest GPU."""
    if group.gpu_memory_bytes:
        if not largest_gpu_memory_bytes:
            return 1000
        return -(-1000 * group.gpu_memory_bytes // largest_gpu_memory_bytes)
    return group.gpus_milli


def request(group: TaskGroup, resource: str, largest_gpu_memory_bytes: int) -> int:
    """Amount of the resource that one task asks for."""
    match resource:
        case "gpus":
            return gpu_milli(group, largest_gpu_memory_bytes)
        case "cpu":
            return group.cpu_millicores
        case "memory":
            return group.memory_bytes
        case "nvme":
            return group.nvme_bytes
        case "network":
            return group.network_bps
        case _:
            return group.resources.get(resource, 0)


def share_work(job: Job, totals: Mapping[str, int], largest_gpu_memory_bytes: int) -> JobWork:
    """Dominant share of the job, in ``WORK_UNIT`` per cluster."""
    dominant, largest = "", Fraction(-1)
    for resource in _dominance_order(totals):
        demand = sum(
            g.count.max * request(g, resource, largest_gpu_memory_bytes) for g in job.tasks
        )
        if not demand:
            continue
        if not totals[resource] and resource == "network":
            continue  # a job on one node uses none
        if not totals[resource]:
            return JobWork(base=1, per_task=tuple(1 for _ in job.tasks))
        quotient = Fraction(demand, totals[resource])
        if quotient > largest:
            dominant, largest = resource, quotient
    if not dominant:
        return JobWork(base=1, per_task=tuple(1 for _ in job.tasks))
    total = totals[dominant]
    amounts = [request(g, dominant, largest_gpu_memory_bytes) for g in job.tasks]
    base = sum(g.count.min * amount for g, amount in zip(job.tasks, amounts, strict=True))
    # More than the cluster has can start all the same: bandwidth that stays inside a node.
    return JobWork(
        base=max(1, min(base, total) * WORK_UNIT // total),
        per_task=tuple(max(1, min(amount, total) * WORK_UNIT // total) for amount in amounts),
    )


def gpu_work(job: Job, largest_gpu_memory_bytes: int) -> JobWork:
    """Milli-GPUs of the job."""
    amounts = [gpu_milli(g, largest_gpu_memory_bytes) for g in job.tasks]
    return JobWork(
        base=sum(g.count.min * amount for g, amount in zip(job.tasks, amounts, strict=True)),
        per_task=tuple(amounts),
    )


def age_weight(base_share: int, submitted_unix_s: int | None, now_unix_s: int) -> int:
    """Share-seconds waited, in thousandths."""
    waited = 0 if submitted_unix_s is None else max(0, now_unix_s - submitted_unix_s)
    return base_share * waited // 10**6


def takes_gpus(groups: Sequence[TaskGroup]) -> bool:
    """Whether any task takes GPUs, whole or in part."""
    return any(group.gpus_milli or group.gpu_memory_bytes for group in groups)


def _dominance_order(totals: Mapping[str, int]) -> list[str]:
    base = ["gpus", "cpu", "memory", "nvme", "network"]
    return base + sorted(name for name in totals if name not in base)
