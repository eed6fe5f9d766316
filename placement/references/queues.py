"""The queue tree: parents exist, no cycle, guarantees within what is above them."""

from collections.abc import Iterator, Mapping

from placement.cluster import ROOT_QUEUE, Queue
from placement.quantities import shown
from placement.references.jobs import further_resources
from placement.references.subject import Subject, repeated, unknown
from placement.schema_faults import Finding, did_you_mean
from placement.workload import NAMED_RESOURCES


def queue_findings(subject: Subject) -> Iterator[Finding]:
    """Find queues that are named twice, run in circles or promise what they do not have."""
    queues = subject.document.cluster.queues
    by_name = {queue.name: position for position, queue in enumerate(queues)}
    for position, name in repeated(queue.name for queue in queues):
        yield subject.at("queues", position, "name"), f"queue {shown(name)} is listed twice"
    for position, queue in enumerate(queues):
        place = subject.at("queues", position)
        if queue.name == ROOT_QUEUE:
            if queue.parent != ROOT_QUEUE:
                yield (*place, "parent"), "root is the root of all queues and has no parent"
        else:
            yield from unknown("queue", subject.queues, queue.parent, (*place, "parent"))
        yield from _resource_findings(subject, position, queue)
    yield from _cycle_findings(subject, by_name)
    yield from _guarantee_findings(subject, by_name)


def _resource_findings(subject: Subject, position: int, queue: Queue) -> Iterator[Finding]:
    if subject.shapes.open:
        return
    shapes = subject.document.cluster.shapes.values()
    models = dict.fromkeys(f"gpus/{shape.gpus.model}" for shape in shapes if shape.gpus is not None)
    known = {**dict.fromkeys(NAMED_RESOURCES), **models, **further_resources(subject)}
    for key, amounts in (("guarantee", queue.guarantee), ("limit", queue.limit)):
        for resource in amounts:
            if resource not in known:
                yield (
                    subject.at("queues", position, key, resource),
                    f"unknown resource {shown(resource)}{did_you_mean(resource, known)}",
                )


def _cycle_findings(subject: Subject, by_name: Mapping[str, int]) -> Iterator[Finding]:
    queues = subject.document.cluster.queues
    cleared: set[str] = {ROOT_QUEUE}
    for position, queue in enumerate(queues):
        path: list[str] = []
        name = queue.name
        while name not in cleared and name in by_name and name not in path:
            path.append(name)
            name = queues[by_name[name]].parent
        if name in path:
            circle = [*path[path.index(name) :], name]
            text = " -> ".join(circle[:8]) + (" -> ..." if len(circle) > 8 else "")
            yield (
                subject.at("queues", position, "parent"),
                f"the queues run in a circle: {text}",
            )
        cleared.update(path)


def _guarantee_findings(subject: Subject, by_name: Mapping[str, int]) -> Iterator[Finding]:
    queues = subject.document.cluster.queues
    promised: dict[tuple[int, str], int] = {}
    for queue in queues:
        parent = by_name.get(queue.parent)
        if parent is not None and queue.name != ROOT_QUEUE:
            for resource, amount in queue.guarantee.items():
                promised[parent, resource] = promised.get((parent, resource), 0) + amount
    for (parent, resource), total in promised.items():
        for key in ("guarantee", "limit"):
            amounts: Mapping[str, int] = getattr(queues[parent], key)
            if total > amounts.get(resource, total):
                yield (
                    subject.at("queues", parent, key, resource),
                    f"the queues below {shown(queues[parent].name)} are guaranteed more than this "
                    "together",
                )
