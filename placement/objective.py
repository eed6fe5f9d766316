"""What an answer is worth, tier by tier: the definition, from problem and answer alone.

See ``docs/objective.md``. Solvers compute the same values on arrays; here they are computed in
plain integers, slowly and plainly, and an answer whose figures differ is wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from placement.answer import Answer, FragmentationReport
from placement.cluster import NODE_LEVEL, Node, TaintEffect
from placement.judge import fragmentation
from placement.judge.eligibility import (
    domain_of,
    levels_of,
    selector_holds,
    takes_gpu,
    tolerates,
)
from placement.judge.load import Leftover, StartedTask, leftovers, loads_of, started_tasks
from placement.policy import Value
from placement.problem import Problem
from placement.workload import UNCONSTRAINED, Job, TaskGroup

SHARE_UNIT = 10**9
"""Units of a whole cluster's dominant share."""

MILLI = 1000
"""Units of every other tier."""


@dataclass(frozen=True, slots=True)
class TierValue:
    """Value of one tier.

    Attributes
    ----------
    tier, priority, level
        Which tier, as in :class:`placement.answer.TierResult`.
    value_units
        The value; ``unit`` of them are reported as 1.0.
    unit
        Integer units per reported 1.0.
    maximise
        Whether more is better.
    """

    tier: str
    priority: int | None
    level: str | None
    value_units: int
    unit: int
    maximise: bool

    @property
    def reported(self) -> float:
        """The value as it stands in an answer."""
        return self.value_units / self.unit


def tier_values(problem: Problem, answer: Answer) -> tuple[TierValue, ...]:
    """Return the value of every tier of the problem, most important first.

    Raises
    ------
    KeyError
        The answer names an unknown job, group or node.
    UnverifiableError
        A packing of running GPU shares could not be decided.
    """
    tasks = started_tasks(problem, answer)
    return values_of(problem, tasks, leftovers(problem, loads_of(problem, tasks), decided=True))


def values_of(
    problem: Problem, tasks: Sequence[StartedTask], left: Sequence[Leftover]
) -> tuple[TierValue, ...]:
    """Value of every tier, given the tasks that start and what they leave on each node."""
    started: dict[str, list[StartedTask]] = defaultdict(list)
    for task in tasks:
        started[task.job.name].append(task)
    values = [*_work_tiers(problem, started), *_locality_tiers(problem, started)]
    if _has_soft_preference(problem):
        cost = sum(_soft_cost(problem, task) for task in tasks)
        values.append(TierValue("soft", None, None, cost, MILLI, maximise=False))
    counts = fragmentation.set_counts(problem, left)
    if counts:
        sets = sum(target.weight_milli * count for target, count in counts)
        values.append(TierValue("fragmentation", None, None, sets, MILLI, maximise=True))
    return tuple(values)


def fragmentation_report(problem: Problem, answer: Answer | None) -> FragmentationReport:
    """Fragmentation before (``answer`` is None) or after the decisions of the answer."""
    tasks = () if answer is None else started_tasks(problem, answer)
    left = leftovers(problem, loads_of(problem, tasks), decided=True)
    return fragmentation.report(problem, left)


@dataclass(frozen=True, slots=True)
class Worth:
    """Units of work of a job: with its least counts, and of each further task per group."""

    base: int
    per_task: tuple[int, ...]

    def of(self, job: Job, counts: Counter[str]) -> int:
        """Units of the job started with these counts per group."""
        further = (
            each * max(0, counts[group.name] - group.count.min)
            for group, each in zip(job.tasks, self.per_task, strict=True)
        )
        return self.base + sum(further)


def resource_totals(problem: Problem) -> dict[str, int]:
    """Sum of each resource over all nodes, in the order in which ties of shares are broken."""
    totals: Counter[str] = Counter()
    further: Counter[str] = Counter()
    for node in problem.nodes:
        shape = node.shape
        totals["gpus"] += 1000 * shape.gpus.count if shape.gpus else 0
        totals["cpu"] += shape.cpu_millicores
        totals["memory"] += shape.memory_bytes
        totals["nvme"] += shape.nvme_bytes
        totals["network"] += shape.network_bps
        for name, amount in shape.resources.items():
            further[f"resources/{name}"] += amount
    order = ("gpus", "cpu", "memory", "nvme", "network")
    return {name: totals[name] for name in order} | dict(sorted(further.items()))


def task_demand(group: TaskGroup, largest_gpu_memory_bytes: int) -> dict[str, int]:
    """Demand of one task by resource name."""
    demand = {
        "gpus": fragmentation.milli_gpus(group, largest_gpu_memory_bytes),
        "cpu": group.cpu_millicores,
        "memory": group.memory_bytes,
        "nvme": group.nvme_bytes,
        "network": group.network_bps,
    }
    for name, amount in group.resources.items():
        demand[f"resources/{name}"] = amount
    return demand


def share_worth(job: Job, totals: dict[str, int], largest_gpu_memory_bytes: int) -> Worth:
    """Dominant share of a job, in units of ``SHARE_UNIT`` per cluster."""
    demands = [task_demand(group, largest_gpu_memory_bytes) for group in job.tasks]
    full: Counter[str] = Counter()
    for group, demand in zip(job.tasks, demands, strict=True):
        for name, amount in demand.items():
            full[name] += amount * group.count.max
    if any(amount and not totals.get(name) for name, amount in full.items() if name != "network"):
        return Worth(1, (1,) * len(demands))
    quotients = {name: Fraction(full[name], total) for name, total in totals.items() if total}
    if not any(quotients.values()):
        return Worth(1, (1,) * len(demands))
    # max keeps the first of equals, and totals are in tie order.
    dominant = max(quotients, key=lambda name: quotients[name])
    total = totals[dominant]
    least = sum(
        group.count.min * demand.get(dominant, 0)
        for group, demand in zip(job.tasks, demands, strict=True)
    )
    # More than the cluster has can start all the same: bandwidth that stays inside a node.
    return Worth(
        max(1, min(least, total) * SHARE_UNIT // total),
        tuple(
            max(1, min(demand.get(dominant, 0), total) * SHARE_UNIT // total) for demand in demands
        ),
    )


def gpu_worth(job: Job, largest_gpu_memory_bytes: int) -> Worth:
    """Milli-GPUs of a job."""
    each = tuple(fragmentation.milli_gpus(group, largest_gpu_memory_bytes) for group in job.tasks)
    least = sum(group.count.min * milli for group, milli in zip(job.tasks, each, strict=True))
    return Worth(least, each)


def waited_s(problem: Problem, job: Job) -> int:
    """Seconds since the job was submitted; 0 if it does not say."""
    return 0 if job.submitted_unix_s is None else max(0, problem.now_unix_s - job.submitted_unix_s)


def _work_tiers(problem: Problem, started: dict[str, list[StartedTask]]) -> Iterator[TierValue]:
    totals = resource_totals(problem)
    largest = fragmentation.largest_gpu_memory(problem)
    counts = {name: Counter(task.group.name for task in tasks) for name, tasks in started.items()}
    by_priority: dict[int, list[Job]] = defaultdict(list)
    for job in problem.jobs:
        by_priority[job.priority].append(job)
    gpus_only = problem.policy.value is Value.GPUS
    for priority, jobs in sorted(by_priority.items(), reverse=True):
        here = [job for job in jobs if job.name in started]
        shares = {job.name: share_worth(job, totals, largest) for job in here}
        if gpus_only:
            work = sum(gpu_worth(job, largest).of(job, counts[job.name]) for job in here)
            yield TierValue("work", priority, None, work, MILLI, maximise=True)
            if any(not _job_takes_gpu(job) for job in jobs):
                rest = sum(
                    shares[job.name].of(job, counts[job.name])
                    for job in here
                    if not _job_takes_gpu(job)
                )
                name = "work-without-gpus"
                yield TierValue(name, priority, None, rest, SHARE_UNIT, maximise=True)
        else:
            work = sum(shares[job.name].of(job, counts[job.name]) for job in here)
            yield TierValue("work", priority, None, work, SHARE_UNIT, maximise=True)
        if len({waited_s(problem, job) for job in jobs}) > 1:
            age = sum(shares[job.name].base * waited_s(problem, job) // 10**6 for job in here)
            yield TierValue("age", priority, None, age, MILLI, maximise=True)


def _job_takes_gpu(job: Job) -> bool:
    return any(takes_gpu(group) for group in job.tasks)


def is_gang(job: Job) -> bool:
    """Whether locality counts for the job."""
    return job.topology != UNCONSTRAINED and sum(group.count.max for group in job.tasks) > 1


def _locality_tiers(problem: Problem, started: dict[str, list[StartedTask]]) -> Iterator[TierValue]:
    gangs = [job for job in problem.jobs if is_gang(job)]
    if any(_preferences(job) for job in problem.jobs):
        cost = sum(_preferred_span(problem, job, started.get(job.name, ())) for job in gangs)
        yield TierValue("preferred-span", None, None, cost, MILLI, maximise=False)
    used = {
        level: {
            job.name: _domain_counts(problem, started[job.name], level)
            for job in gangs
            if job.name in started
        }
        for level in levels_of(problem)
    }
    weight = {job.name: job.intensity_milli for job in gangs}
    for level, domains in used.items():
        span = sum(weight[name] * (len(counts) - 1) for name, counts in domains.items())
        yield TierValue("span", None, level, span, MILLI, maximise=False)
    for level, domains in used.items():
        uneven = sum(
            weight[name] * (max(counts.values()) - min(counts.values()))
            for name, counts in domains.items()
        )
        yield TierValue("balance", None, level, uneven, MILLI, maximise=False)


def _preferences(job: Job) -> list[tuple[str | None, str]]:
    """(group name or None for the whole job, level) of each preferred level."""
    result: list[tuple[str | None, str]] = []
    if job.topology is not None and not isinstance(job.topology, str) and job.topology.preferred:
        result.append((None, job.topology.preferred))
    result.extend(
        (group.name, group.topology.preferred)
        for group in job.tasks
        if group.topology is not None and group.topology.preferred
    )
    return result


def _preferred_span(problem: Problem, job: Job, tasks: Sequence[StartedTask]) -> int:
    cost = 0
    for name, level in _preferences(job):
        own = [task for task in tasks if name is None or task.group.name == name]
        cost += job.intensity_milli * max(0, len(_domain_counts(problem, own, level)) - 1)
    return cost


def _domain_counts(
    problem: Problem, tasks: Iterable[StartedTask], level: str
) -> Counter[tuple[str, str]]:
    """Tasks per used domain of the level; a node in no named domain is one of its own."""
    nodes = Counter(task.node for task in tasks)
    counts: Counter[tuple[str, str]] = Counter()
    for index, count in nodes.items():
        counts[domain_key(problem, problem.nodes[index], level)] += count
    return counts


def domain_key(problem: Problem, node: Node, level: str) -> tuple[str, str]:
    """Identity of the node's domain at the level; of the node itself where it is in none."""
    name = domain_of(problem, node, level)
    return (NODE_LEVEL, node.name) if name is None else (level, name)


def _has_soft_preference(problem: Problem) -> bool:
    return any(
        len(group.gpu.model) > 1 or group.prefer or group.near
        for job in problem.jobs
        for group in job.tasks
    ) or any(
        taint.effect is TaintEffect.PREFER_NO_SCHEDULE
        for node in problem.nodes
        for taint in node.taints
    )


def _soft_cost(problem: Problem, task: StartedTask) -> int:
    group, node = task.group, problem.nodes[task.node]
    cost = 0
    if takes_gpu(group) and node.shape.gpus and node.shape.gpus.model in group.gpu.model:
        cost += 1000 * group.gpu.model.index(node.shape.gpus.model)
    cost += sum(wish.weight_milli for wish in group.prefer if not selector_holds(wish, node))
    cost += sum(
        near.weight_milli
        for near in group.near
        if domain_of(problem, node, near.level) not in near.domains
    )
    cost += sum(
        1000
        for taint in node.taints
        if taint.effect is TaintEffect.PREFER_NO_SCHEDULE
        and not tolerates(group.tolerations, taint)
    )
    return task.job.intensity_milli * cost // 1000
