"""Which nodes a task may sit on, and what its soft preferences cost there."""

from collections.abc import Mapping, Sequence

from placement.cluster import Node, NodeState, Taint, TaintEffect
from placement.workload import (
    Job,
    Selector,
    SelectorOp,
    TaskGroup,
    Toleration,
    TolerationOp,
)


def version_key(text: str) -> tuple[int, ...] | None:
    """A dotted number as a version, so that 12.10 is after 12.4; None if it is none."""
    parts = text.split(".")
    if not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    key = [int(part) for part in parts]
    while key and key[-1] == 0:
        key.pop()
    return tuple(key)


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether the labels meet the requirement.

    As in Kubernetes, NotIn holds for a node without the label; Gt and Lt hold only for versions.
    """
    present = selector.key in labels
    value = labels.get(selector.key, "")
    match selector.op:
        case SelectorOp.IN:
            return present and value in selector.wanted
        case SelectorOp.NOT_IN:
            return not present or value not in selector.wanted
        case SelectorOp.EXISTS:
            return present
        case SelectorOp.DOES_NOT_EXIST:
            return not present
        case SelectorOp.GT | SelectorOp.LT:
            found, wanted = version_key(value), version_key(selector.wanted[0])
            if not present or found is None or wanted is None:
                return False
            return found > wanted if selector.op is SelectorOp.GT else found < wanted


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration bears the taint."""
    if toleration.effect is not None and toleration.effect != taint.effect.value:
        return False
    if toleration.key is not None and toleration.key != taint.key:
        return False
    if toleration.key is None and toleration.op is not TolerationOp.EXISTS:
        return False
    return toleration.op is TolerationOp.EXISTS or toleration.value == taint.value


def borne(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Whether any of the tolerations bears the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def objection(node: Node, job: Job, group: TaskGroup, now_unix_s: int) -> str | None:
    """Why no task of the group may sit on the node, in a word; None if one may.

    State, maintenance, labels, taints, GPU model and memory; not what is free.
    """
    if node.state is not NodeState.READY:
        return node.state.value
    for window in node.maintenance:
        if window.until_unix_s > now_unix_s and (
            job.duration_s is None or now_unix_s + job.duration_s > window.from_unix_s
        ):
            return "maintenance"
    for selector in group.selector:
        if not selects(selector, node.labels):
            return f"label {selector.key}"
    for taint in node.taints:
        if taint.effect is not TaintEffect.PREFER_NO_SCHEDULE and not borne(
            group.tolerations, taint
        ):
            return f"taint {taint.key}"
    if group.gpus_milli or group.gpu_memory_bytes:
        spec = node.shape.gpus
        if spec is None:
            return "no GPUs"
        if group.gpu.model and spec.model not in group.gpu.model:
            return "GPU model"
        if group.gpu.memory_min_bytes and (spec.memory_bytes or 0) < group.gpu.memory_min_bytes:
            return "GPU memory"
    return None


def soft_cost_milli(node: Node, group: TaskGroup) -> int:
    """Cost of one task there but for ``near``, in thousandths (``docs/objective.md``, soft)."""
    cost = 0
    spec = node.shape.gpus
    if group.gpu.model and spec is not None and spec.model in group.gpu.model:
        cost += 1000 * group.gpu.model.index(spec.model)
    for preference in group.prefer:
        if not selects(preference, node.labels):
            cost += preference.weight_milli
    for taint in node.taints:
        if taint.effect is TaintEffect.PREFER_NO_SCHEDULE and not borne(group.tolerations, taint):
            cost += 1000
    return cost


def near_cost_milli(node: Node, group: TaskGroup, levels: Sequence[str]) -> int:
    """Cost of one task that sits away from its data; ``levels`` end with the node level."""
    path = (*node.domains, node.name)
    return sum(
        near.weight_milli
        for near in group.near
        if path[list(levels).index(near.level)] not in near.domains
    )


def has_soft_preference(nodes: Sequence[Node], jobs: Sequence[Job]) -> bool:
    """Whether the soft tier exists at all."""
    return any(
        len(group.gpu.model) > 1 or group.prefer or group.near
        for job in jobs
        for group in job.tasks
    ) or any(
        taint.effect is TaintEffect.PREFER_NO_SCHEDULE for node in nodes for taint in node.taints
    )


def eligibility_key(node: Node) -> tuple[object, ...]:
    """What :func:`objection` and :func:`soft_cost_milli` see of a node, hashable."""
    spec = node.shape.gpus
    return (
        node.state,
        tuple((w.from_unix_s, w.until_unix_s) for w in node.maintenance),
        tuple(sorted(node.labels.items())),
        tuple((t.key, t.value, t.effect) for t in node.taints),
        None if spec is None else (spec.model, spec.memory_bytes),
    )
