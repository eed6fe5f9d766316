"""What running jobs and an answer put on each node, and what that leaves."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from placement.answer import Action, Answer, TaskPlacement
from placement.cluster import Node, NodeState, RunningJob, TaskUse
from placement.judge.gpus import GpuHolders
from placement.problem import Problem
from placement.running_devices import holds_gpus, holds_share, named_devices
from placement.workload import Job, TaskGroup

Request = TaskGroup | TaskUse
"""Whoever asks names its resources alike."""


@dataclass(slots=True)
class NodeLoad:
    """Sums on one node.

    Attributes
    ----------
    used
        Resource name (``cpu`` in millicores, ``memory`` and ``nvme`` in bytes, ``slots``,
        ``resources/NAME``): amount.
    network_bps
        Of the jobs that do not sit wholly on this node, per direction.
    gpus
        Who holds which GPU.
    """

    used: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    network_bps: int = 0
    gpus: GpuHolders = field(default_factory=lambda: GpuHolders(0, frozenset(), None))

    def add(self, request: Request) -> None:
        """Add one task's resources, without network and GPUs."""
        for name, amount in amounts(request).items():
            self.used[name] += amount

    def copy(self) -> "NodeLoad":
        """Return a copy that can be added to."""
        return NodeLoad(defaultdict(int, self.used), self.network_bps, self.gpus.copy())


def amounts(request: Request) -> dict[str, int]:
    """Countable amounts of one task by resource name; every task takes a slot."""
    result = {
        "cpu": request.cpu_millicores,
        "memory": request.memory_bytes,
        "nvme": request.nvme_bytes,
        "slots": 1,
    }
    for name, amount in request.resources.items():
        result[f"resources/{name}"] = amount
    return result


def capacities(node: Node) -> Mapping[str, int | None]:
    """Capacity by resource name; None: unlimited. What is not named is 0."""
    shape = node.shape
    result: dict[str, int | None] = {
        "cpu": shape.cpu_millicores,
        "memory": shape.memory_bytes,
        "nvme": shape.nvme_bytes,
        "slots": shape.slots,
    }
    for name, amount in shape.resources.items():
        result[f"resources/{name}"] = amount
    return result


def running_loads(problem: Problem, running: Sequence[RunningJob]) -> list[NodeLoad]:
    """Sums of what runs, per node in the order of the problem.

    ``running`` are the problem's running jobs, as written or with devices named.
    """
    index_of = {node.name: index for index, node in enumerate(problem.nodes)}
    loads = [NodeLoad(gpus=_holders(node)) for node in problem.nodes]
    for job in running:
        spans = len({task.node for task in job.tasks}) > 1
        for task in job.tasks:
            load = loads[index_of[task.node]]
            load.add(task)
            if spans:
                load.network_bps += task.network_bps
            if holds_gpus(task):
                _hold_running(load.gpus, task, job.job)
    return loads


def _holders(node: Node) -> GpuHolders:
    spec = node.shape.gpus
    if spec is None:
        return GpuHolders(0, frozenset(), None)
    return GpuHolders(spec.count, frozenset(node.healthy_gpus), spec.memory_bytes)


def _hold_running(gpus: GpuHolders, task: TaskUse, holder: str) -> None:
    if holds_share(task):
        share = (task.gpus_milli, task.gpu_memory_bytes)
        if task.devices is None:
            gpus.take_unnamed_share(*share, holder)
        else:
            for index in task.devices:
                gpus.take_share(index, *share, holder, new=False)
    elif task.devices is not None:
        gpus.take_whole(task.devices, holder, new=False)
    else:
        gpus.unnamed_whole += task.gpus_milli // 1000


def overfull(node: Node, load: NodeLoad) -> list[str]:
    """Say in which resources running tasks, devices named, use more than the node has."""
    limits = capacities(node)
    result = []
    for name, amount in load.used.items():
        limit = limits.get(name, 0)
        if limit is not None and amount > limit:
            result.append(f"{name}: {amount} of {limit}")
    if load.network_bps > node.shape.network_bps:
        result.append(f"network: {load.network_bps} of {node.shape.network_bps}")
    result.extend(message for _, message in load.gpus.faults)
    if load.gpus.has_unnamed:
        result.append("gpus: running tasks find no room")
    return result


@dataclass(frozen=True, slots=True)
class StartedTask:
    """One task that an answer starts, with what it asks."""

    job: Job
    group: TaskGroup
    node: int
    placement: TaskPlacement
    place: str


def started_tasks(problem: Problem, answer: Answer) -> list[StartedTask]:
    """All tasks that the answer starts; names must be known."""
    jobs = {job.name: job for job in problem.jobs}
    index_of = {node.name: index for index, node in enumerate(problem.nodes)}
    result = []
    for number, decision in enumerate(answer.decisions):
        if decision.action is not Action.START:
            continue
        job = jobs[decision.job]
        groups = {group.name: group for group in job.tasks}
        for position, task in enumerate(decision.tasks):
            result.append(
                StartedTask(
                    job,
                    groups[task.group],
                    index_of[task.node],
                    task,
                    f"decisions[{number}].tasks[{position}]",
                )
            )
    return result


def add_started(loads: Mapping[int, NodeLoad], tasks: Sequence[StartedTask]) -> None:
    """Add the answer's tasks to the loads of the nodes that are given."""
    nodes_of: dict[str, set[int]] = defaultdict(set)
    for task in tasks:
        nodes_of[task.job.name].add(task.node)
    for task in tasks:
        load = loads.get(task.node)
        if load is None:
            continue
        load.add(task.group)
        if len(nodes_of[task.job.name]) > 1:
            load.network_bps += task.group.network_bps
        holder = f"{task.job.name} rank {task.placement.rank}"
        if task.group.is_shared_gpu:
            share = (task.group.gpus_milli, task.group.gpu_memory_bytes)
            for index in task.placement.gpus:
                load.gpus.take_share(index, *share, holder, new=True)
        else:
            load.gpus.take_whole(task.placement.gpus, holder, new=True)


@dataclass(frozen=True, slots=True)
class Loads:
    """Sums per node before and after an answer's decisions.

    Attributes
    ----------
    before
        What runs, with devices named (``placement.running_devices``).
    after
        Of nodes that take tasks, with these. Where these take GPUs that running tasks are only
        taken to hold, the running tasks name none again: any consistent room will do.
    """

    before: list[NodeLoad]
    after: dict[int, NodeLoad]

    def finally_on(self, index: int) -> NodeLoad:
        """Sums on the node after the decisions."""
        return self.after.get(index, self.before[index])


def loads_of(problem: Problem, tasks: Sequence[StartedTask]) -> Loads:
    """Sums per node before and after these tasks start."""
    named = named_devices(problem)
    before = running_loads(problem, named)
    after = {index: before[index].copy() for index in {task.node for task in tasks}}
    add_started(after, tasks)
    disputed = [index for index, load in after.items() if load.gpus.faults]
    if disputed and named is not problem.cluster.running:
        written = running_loads(problem, problem.cluster.running)
        again = {i: written[i] for i in disputed if written[i].gpus.has_unnamed}
        add_started(again, tasks)
        after.update(again)
    return Loads(before, after)


@dataclass(frozen=True, slots=True)
class Leftover:
    """What is left on one node.

    Attributes
    ----------
    usable
        The node is ready and what runs is within its capacity.
    cpu_millicores, memory_bytes
        Left of each.
    slots
        Free task slots; None: unlimited.
    gpu_milli
        Thousandths left on each healthy GPU, rounded down.
    """

    usable: bool
    cpu_millicores: int
    memory_bytes: int
    slots: int | None
    gpu_milli: tuple[int, ...]

    @property
    def idle_gpus(self) -> int:
        """GPUs that nobody uses."""
        return self.gpu_milli.count(1000)


def leftovers(problem: Problem, loads: Loads, *, decided: bool) -> list[Leftover]:
    """What is left on each node before or, if ``decided``, after the decisions.

    Raises
    ------
    UnverifiableError
        A packing of running GPU shares could not be decided.
    """
    result = []
    for index, node in enumerate(problem.nodes):
        before = loads.before[index]
        load = loads.finally_on(index) if decided else before
        result.append(_leftover(node, load, usable=is_usable(node, before)))
    return result


def is_usable(node: Node, before: NodeLoad) -> bool:
    """Whether the node may take something at all: ready, and not over its capacity."""
    return node.state is NodeState.READY and not overfull(node, before)


def _leftover(node: Node, load: NodeLoad, *, usable: bool) -> Leftover:
    gpus = load.gpus
    left = (gpus.settle() if usable else None) or ()
    slots = node.shape.slots
    return Leftover(
        usable=usable,
        cpu_millicores=node.shape.cpu_millicores - load.used["cpu"],
        memory_bytes=node.shape.memory_bytes - load.used["memory"],
        slots=None if slots is None else slots - load.used["slots"],
        gpu_milli=tuple(max(0, 1000 * units // gpus.capacity) for units in left),
    )
