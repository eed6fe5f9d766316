"""Whether a task may sit on a node, whatever else is there."""

from collections.abc import Iterator

from placement.cluster import NODE_LEVEL, MaintenanceWindow, Node, NodeState, Taint, TaintEffect
from placement.problem import Problem
from placement.workload import Job, Selector, SelectorOp, TaskGroup, Toleration, TolerationOp


def version(text: str) -> tuple[int, ...] | None:
    """Read a dotted number as a version; ``12.4`` and ``12.4.0`` are equal. None: not a version."""
    parts = text.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        return None
    numbers = [int(part) for part in parts]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def selector_holds(selector: Selector, node: Node) -> bool:
    """Whether the node's labels meet one requirement, as in Kubernetes."""
    label = node.labels.get(selector.key)
    match selector.op:
        case SelectorOp.EXISTS:
            return label is not None
        case SelectorOp.DOES_NOT_EXIST:
            return label is None
        case SelectorOp.IN:
            return label is not None and label in selector.wanted
        case SelectorOp.NOT_IN:
            return label is None or label not in selector.wanted
        case SelectorOp.GT | SelectorOp.LT:
            return _compares(selector, label)


def _compares(selector: Selector, label: str | None) -> bool:
    found = None if label is None else version(label)
    if found is None or not selector.wanted:
        return False
    for text in selector.wanted:
        wanted = version(text)
        if wanted is None:
            return False
        if not (found > wanted if selector.op is SelectorOp.GT else found < wanted):
            return False
    return True


def tolerates(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    """Whether one of the tolerations bears the taint."""
    return any(_bears(toleration, taint) for toleration in tolerations)


def _bears(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect is not None and toleration.effect != taint.effect.value:
        return False
    if toleration.op is TolerationOp.EXISTS:
        return toleration.key is None or toleration.key == taint.key
    return toleration.key == taint.key and toleration.value == taint.value


def overlaps(problem: Problem, job: Job, window: MaintenanceWindow) -> bool:
    """Whether the job, started now, would still run when the window begins."""
    if window.until_unix_s <= problem.now_unix_s:
        return False
    if job.duration_s is None:
        return True
    return problem.now_unix_s + job.duration_s > window.from_unix_s


def domain_of(problem: Problem, node: Node, level: str) -> str | None:
    """Name of the node's domain at the level; None where it is in no named one."""
    if level == NODE_LEVEL:
        return node.name
    return node.domains[problem.cluster.levels.index(level)]


def levels_of(problem: Problem) -> tuple[str, ...]:
    """All levels, coarse to fine; the node is the last."""
    return (*problem.cluster.levels, NODE_LEVEL)


def takes_gpu(group: TaskGroup) -> bool:
    """Whether a task takes whole GPUs or a share of one."""
    return group.gpus_milli > 0 or group.gpu_memory_bytes > 0


def required_levels(job: Job, group: TaskGroup) -> tuple[str, ...]:
    """Levels at which a task of the group must be in a named domain."""
    topologies = (job.topology, group.topology)
    return tuple(
        topology.required
        for topology in topologies
        if topology is not None and not isinstance(topology, str) and topology.required is not None
    )


def objections(
    problem: Problem, job: Job, group: TaskGroup, node: Node
) -> Iterator[tuple[str, str]]:
    """Say what rules the node out for a task of the group, apart from what is free there.

    Yields
    ------
    tuple of str
        Name of the rule, and a sentence part such as ``node is cordoned``.
    """
    if node.state is not NodeState.READY:
        yield "state", f"node is {node.state.value}"
    for selector in group.selector:
        if not selector_holds(selector, node):
            wanted = ", ".join(selector.wanted)
            label = node.labels.get(selector.key)
            yield "selector", f"label {selector.key} is {label!r}, not {selector.op.value} {wanted}"
    for taint in node.taints:
        if taint.effect is not TaintEffect.PREFER_NO_SCHEDULE and not tolerates(
            group.tolerations, taint
        ):
            yield "taint", f"taint {taint.key}={taint.value}:{taint.effect.value} is not tolerated"
    for window in node.maintenance:
        if overlaps(problem, job, window):
            yield "maintenance", f"maintenance begins at {window.from_unix_s} before the job ends"
    for level in required_levels(job, group):
        if domain_of(problem, node, level) is None:
            yield "required-topology", f"node is in no named domain of level {level}"
    if takes_gpu(group):
        yield from _gpu_objections(group, node)


def _gpu_objections(group: TaskGroup, node: Node) -> Iterator[tuple[str, str]]:
    spec = node.shape.gpus
    if spec is None:
        yield "gpu-count", "node has no GPUs"
        return
    if group.gpu.model and spec.model not in group.gpu.model:
        yield "gpu-model", f"GPUs are {spec.model}, not {' or '.join(group.gpu.model)}"
    least = group.gpu.memory_min_bytes
    if least is not None and (spec.memory_bytes is None or spec.memory_bytes < least):
        yield "gpu-memory", f"GPUs have {spec.memory_bytes} bytes, less than {least}"
