"""What the cluster can still take: assemblable sets, and the FGD measure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from placement.answer import FragmentationReport
from placement.cluster import Node, TaskUse
from placement.fragmentation_target import resolve_target
from placement.judge.eligibility import domain_of
from placement.judge.load import Leftover
from placement.policy import TargetSet
from placement.problem import Problem
from placement.workload import TaskGroup

TYPICAL_PERCENT = 95
"""Task classes that make up this part of all tasks are typical (FGD study, section 5)."""


def set_counts(problem: Problem, left: Sequence[Leftover]) -> list[tuple[TargetSet, int]]:
    """How many of each target set fit in what is left, each set by itself."""
    return [(target, _count_sets(problem, target, left)) for target in resolve_target(problem)]


def _count_sets(problem: Problem, target: TargetSet, left: Sequence[Leftover]) -> int:
    if not (target.gpus or target.cpu_millicores or target.memory_bytes):
        return 0
    units: dict[str, list[int]] = defaultdict(list)
    for node, free in zip(problem.nodes, left, strict=True):
        domain = "" if target.level is None else domain_of(problem, node, target.level)
        if domain is not None and free.usable and _model_matches(target, node):
            units[domain].append(units_on_node(target, free))
    return sum(sets_in_domain(counts, target.nodes) for counts in units.values())


def _model_matches(target: TargetSet, node: Node) -> bool:
    return target.model is None or (
        node.shape.gpus is not None and node.shape.gpus.model == target.model
    )


def units_on_node(target: TargetSet, free: Leftover) -> int:
    """Largest number of units of the set within what is left on one node."""
    most = [
        left // asked
        for left, asked in (
            (free.idle_gpus, target.gpus),
            (free.cpu_millicores, target.cpu_millicores),
            (free.memory_bytes, target.memory_bytes),
        )
        if asked
    ]
    if free.slots is not None:
        most.append(free.slots)
    return max(0, min(most))


def sets_in_domain(units: Iterable[int], nodes: int) -> int:
    """Largest t such that t sets can each take one unit of ``nodes`` different nodes.

    That is the largest t with ``sum(min(a, t) for a in units) >= nodes * t``.
    """
    units = list(units)
    low, high = 0, sum(units) // nodes
    # The condition holds up to some t and fails beyond it: the left side is concave from 0.
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(count, middle) for count in units) >= nodes * middle:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class TaskClass:
    """What the FGD measure knows of a task; GPU counts are 0 without GPU, 1 for a share."""

    cpu_millicores: int
    gpu_milli: int
    gpu_count: int
    models: tuple[str, ...]
    memory_min_bytes: int

    def admits(self, node: Node) -> bool:
        """Whether the node's GPUs are of a model and memory that will do."""
        spec = node.shape.gpus
        return spec is not None and not (
            (self.models and spec.model not in self.models)
            or (spec.memory_bytes or 0) < self.memory_min_bytes
        )


def largest_gpu_memory(problem: Problem) -> int:
    """Largest memory of any GPU, bytes; 0 if none states it."""
    return max(
        (node.shape.gpus.memory_bytes or 0 for node in problem.nodes if node.shape.gpus), default=0
    )


def milli_gpus(request: TaskGroup | TaskUse, largest_memory_bytes: int) -> int:
    """Thousandths of a GPU that one task asks; memory in parts of the largest GPU memory."""
    if request.gpu_memory_bytes:
        if not largest_memory_bytes:
            return 1000
        return -(-1000 * request.gpu_memory_bytes // largest_memory_bytes)
    return request.gpus_milli


def typical_classes(problem: Problem) -> list[tuple[TaskClass, int]]:
    """Typical classes and how often each is asked, by falling count."""
    largest = largest_gpu_memory(problem)
    counts: Counter[TaskClass] = Counter()
    for job in problem.jobs:
        for group in job.tasks:
            counts[_class_of(group, largest)] += group.count.max
    for running in problem.cluster.running:
        for task in running.tasks:
            counts[_class_of(task, largest)] += 1

    def order(item: tuple[TaskClass, int]) -> tuple[object, ...]:
        kind, count = item
        return (
            *(-count, -kind.cpu_millicores, -kind.gpu_milli, -kind.gpu_count),
            *(kind.models, kind.memory_min_bytes),
        )

    typical: list[tuple[TaskClass, int]] = []
    seen, total = 0, sum(counts.values())
    for kind, count in sorted(counts.items(), key=order):
        if 100 * seen >= TYPICAL_PERCENT * total:
            break
        typical.append((kind, count))
        seen += count
    return typical


def _class_of(request: TaskGroup | TaskUse, largest_memory_bytes: int) -> TaskClass:
    milli = milli_gpus(request, largest_memory_bytes)
    if milli == 0:
        return TaskClass(request.cpu_millicores, 0, 0, (), 0)
    shared = request.gpu_memory_bytes > 0 or milli % 1000 != 0
    wanted = request.gpu if isinstance(request, TaskGroup) else None
    return TaskClass(
        request.cpu_millicores,
        min(milli, 1000),
        1 if shared else milli // 1000,
        tuple(sorted(wanted.model)) if wanted else (),
        (wanted.memory_min_bytes or 0) if wanted else 0,
    )


def fgd_milli_gpus(problem: Problem, left: Sequence[Leftover]) -> int:
    """F of Weng et al., USENIX ATC 2023, over the usable nodes; milli-GPUs, rounded down."""
    classes = typical_classes(problem)
    total = sum(count for _, count in classes)
    if not total:
        return 0
    # Nodes in the same state lose the same; a large cluster has few different states.
    states = Counter(
        (node.shape_name, free.cpu_millicores, tuple(sorted(free.gpu_milli)))
        for node, free in zip(problem.nodes, left, strict=True)
        if free.usable
    )
    node_of = {node.shape_name: node for node in problem.nodes}
    lost = sum(
        nodes * count * _lost(kind, node_of[shape], cpu, gpus)
        for (shape, cpu, gpus), nodes in states.items()
        for kind, count in classes
    )
    return lost // total


def _lost(kind: TaskClass, node: Node, cpu_millicores: int, gpu_milli: Sequence[int]) -> int:
    """Milli-GPUs of the node that tasks of this class cannot use."""
    if not kind.gpu_count or not kind.admits(node) or cpu_millicores < kind.cpu_millicores:
        return sum(gpu_milli)
    fitting = [left for left in gpu_milli if left >= kind.gpu_milli]
    if len(fitting) < kind.gpu_count:
        return sum(gpu_milli)
    return sum(gpu_milli) - sum(fitting)


def report(problem: Problem, left: Sequence[Leftover]) -> FragmentationReport:
    """Fragmentation of what is left."""
    counts = set_counts(problem, left)
    return FragmentationReport(
        sets=tuple(_row(target, count) for target, count in counts),
        weighted=sum(target.weight_milli * count for target, count in counts) / 1000,
        fgd_milli_gpus=fgd_milli_gpus(problem, left),
        free_gpus_milli=sum(sum(free.gpu_milli) for free in left if free.usable),
    )


def _row(target: TargetSet, count: int) -> dict[str, object]:
    row: dict[str, object] = {"nodes": target.nodes, "gpus": target.gpus}
    for name in ("model", "cpu_millicores", "memory_bytes", "level"):
        value = getattr(target, name)
        if value:
            row[name] = value
    return row | {"weight_milli": target.weight_milli, "count": count}
