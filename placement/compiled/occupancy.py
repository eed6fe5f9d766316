"""What is free now: capacities less what runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placement.cluster import Node, TaskUse
from placement.compiled.problem import UNLIMITED, IntArray
from placement.problem import Problem
from placement.running_devices import named_devices

BASE_RESOURCES = ("cpu", "memory", "nvme", "slots")
"""Countable resources that every node has, by the names people write."""


@dataclass(frozen=True, eq=False)
class Occupancy:
    """Free amounts per node; see :class:`placement.compiled.problem.CompiledProblem`."""

    free: IntArray
    network_free: IntArray
    idle_gpus: tuple[tuple[int, ...], ...]
    shared_gpus: tuple[tuple[tuple[int, int], ...], ...]
    overfull: tuple[bool, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class GpuKinds:
    """The distinct (model, memory) pairs of the cluster.

    Attributes
    ----------
    of_node
        ``[N]``, -1 without GPUs.
    capacity
        ``[kinds]`` units of one GPU: 1000 x memory bytes, or 1000 if the memory is not stated.
    memory_bytes
        ``[kinds]``, 0 if not stated.
    """

    of_node: IntArray
    capacity: IntArray
    memory_bytes: IntArray
    models: tuple[str, ...]


def gpu_kinds(nodes: Sequence[Node]) -> GpuKinds:
    """Number the distinct GPU kinds in order of first appearance."""
    numbers: dict[tuple[str, int], int] = {}
    of_node = np.full(len(nodes), -1, dtype=np.int64)
    for index, node in enumerate(nodes):
        spec = node.shape.gpus
        if spec is not None:
            key = (spec.model, spec.memory_bytes or 0)
            of_node[index] = numbers.setdefault(key, len(numbers))
    memory = np.array([key[1] for key in numbers], dtype=np.int64)
    return GpuKinds(
        of_node=of_node,
        capacity=np.where(memory > 0, memory * 1000, 1000),
        memory_bytes=memory,
        models=tuple(key[0] for key in numbers),
    )


def share_units(gpus_milli: int, gpu_memory_bytes: int, memory_bytes: int) -> int:
    """Units that a share takes of a GPU with this memory (0 bytes: not stated).

    A share by memory cannot sit on a GPU whose memory is not known: it gets more than all of it.
    """
    if gpu_memory_bytes:
        return gpu_memory_bytes * 1000 if memory_bytes else 1001
    return gpus_milli * memory_bytes if memory_bytes else gpus_milli


def is_share(task: TaskUse) -> bool:
    """Whether the task takes part of one GPU."""
    return task.gpu_memory_bytes > 0 or task.gpus_milli % 1000 != 0


def resource_names(problem: Problem) -> tuple[str, ...]:
    """Names of the countable resources: the base ones, then further ones by name."""
    further = {name for shape in problem.cluster.shapes.values() for name in shape.resources}
    further.update(name for job in problem.jobs for group in job.tasks for name in group.resources)
    return (*BASE_RESOURCES, *sorted(further))


def occupancy(problem: Problem, kinds: GpuKinds, names: Sequence[str]) -> Occupancy:
    """Take what runs from what the nodes have.

    A node over its capacity in anything is reported and counts as full.
    """
    nodes = problem.nodes
    free = np.zeros((len(nodes), len(names)), dtype=np.int64)
    network = np.zeros(len(nodes), dtype=np.int64)
    for index, node in enumerate(nodes):
        shape = node.shape
        free[index, :4] = (
            shape.cpu_millicores,
            shape.memory_bytes,
            shape.nvme_bytes,
            UNLIMITED if shape.slots is None else shape.slots,
        )
        for position in range(4, len(names)):
            free[index, position] = shape.resources.get(names[position], 0)
        network[index] = shape.network_bps
    number = {node.name: index for index, node in enumerate(nodes)}
    tasks_on: dict[int, list[TaskUse]] = {}
    for job in named_devices(problem):
        spread_out = len({task.node for task in job.tasks}) > 1
        for task in job.tasks:
            index = number[task.node]
            free[index, :4] -= (task.cpu_millicores, task.memory_bytes, task.nvme_bytes, 1)
            for position in range(4, len(names)):
                free[index, position] -= task.resources.get(names[position], 0)
            if spread_out:
                network[index] -= task.network_bps
            tasks_on.setdefault(index, []).append(task)

    idle: list[tuple[int, ...]] = []
    shared: list[tuple[tuple[int, int], ...]] = []
    overfull = [False] * len(nodes)
    warnings: list[str] = []
    for index, node in enumerate(nodes):
        exceeded = [names[r] for r in range(len(names)) if free[index, r] < 0]
        if network[index] < 0:
            exceeded.append("network")
        devices = _devices(node, tasks_on.get(index, []), kinds, int(kinds.of_node[index]))
        if devices is None:
            exceeded.append("gpus")
            devices = ((), ())
        if exceeded:
            overfull[index] = True
            warnings.append(
                f"node {node.name}: running tasks exceed its {', '.join(exceeded)}; "
                "it counts as full"
            )
            free[index] = 0
            network[index] = 0
            devices = ((), ())
        idle.append(devices[0])
        shared.append(devices[1])
    return Occupancy(
        free=free,
        network_free=network,
        idle_gpus=tuple(idle),
        shared_gpus=tuple(shared),
        overfull=tuple(overfull),
        warnings=tuple(warnings),
    )


def _devices(
    node: Node, tasks: Sequence[TaskUse], kinds: GpuKinds, kind: int
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]] | None:
    """Idle GPUs and shared GPUs with free units; None if the running tasks do not fit."""
    holding = [task for task in tasks if task.gpus_milli or task.gpu_memory_bytes]
    if node.shape.gpus is None:
        return None if holding else ((), ())
    healthy = set(node.healthy_gpus)
    free = set(range(node.shape.gpus.count))
    capacity = int(kinds.capacity[kind])
    memory = int(kinds.memory_bytes[kind])
    share_free: dict[int, int] = {}
    for task in holding:
        if task.devices is None:  # no consistent choice exists
            return None
        if is_share(task):
            device = task.devices[0]
            units = share_units(task.gpus_milli, task.gpu_memory_bytes, memory)
            share_free[device] = share_free.get(device, capacity) - units
        elif free.issuperset(task.devices):
            free.difference_update(task.devices)
        else:
            return None
    if not free.issuperset(share_free) or any(left < 0 for left in share_free.values()):
        return None
    free.difference_update(share_free)
    return (
        tuple(sorted(free & healthy)),
        tuple((g, left) for g, left in sorted(share_free.items()) if g in healthy and left > 0),
    )


def whole_cluster_totals(problem: Problem, names: Sequence[str]) -> dict[str, int]:
    """Totals for dominant shares (``docs/objective.md``): all nodes, whatever their state."""
    total = dict.fromkeys(("gpus", *names, "network"), 0)
    per_shape: dict[str, int] = {}
    for node in problem.nodes:
        per_shape[node.shape_name] = per_shape.get(node.shape_name, 0) + 1
    for shape_name, count in per_shape.items():
        shape = problem.cluster.shapes[shape_name]
        total["cpu"] += count * shape.cpu_millicores
        total["memory"] += count * shape.memory_bytes
        total["nvme"] += count * shape.nvme_bytes
        total["network"] += count * shape.network_bps
        total["gpus"] += count * (shape.gpus.count * 1000 if shape.gpus else 0)
        for name in names[4:]:
            total[name] += count * shape.resources.get(name, 0)
    del total["slots"]
    return total
