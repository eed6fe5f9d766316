"""Sums stay within 64 bits: what the nodes have, what runs, what one job asks for."""

from collections import Counter
from collections.abc import Iterator, Mapping

from placement.cluster import Shape, TaskUse
from placement.quantities import MOST
from placement.references.subject import Subject
from placement.schema_faults import Finding
from placement.workload import TaskGroup


def total_findings(subject: Subject) -> Iterator[Finding]:
    """Find sums that no arithmetic of 64 bits holds; they are slips of a unit."""
    cluster = subject.document.cluster
    shapes = Counter(node.shape_name for node in subject.nodes)
    have: Counter[str] = Counter()
    for name, count in shapes.items():
        for resource, amount in _amounts(cluster.shapes.get(name, Shape())).items():
            have[resource] += amount * count
    for resource in _beyond(have):
        yield ("cluster", "nodes"), f"the nodes have more {resource} together than 2^60 units"
    held: Counter[str] = Counter()
    for running in cluster.running:
        for task in running.tasks:
            held.update(_amounts(task))
    for resource in _beyond(held):
        yield ("cluster", "running"), f"running jobs hold more {resource} than 2^60 units"
    for position, job in enumerate(subject.document.jobs):
        asked: Counter[str] = Counter()
        for group in job.tasks:
            for resource, amount in _amounts(group).items():
                asked[resource] += amount * group.count.max
        for resource in _beyond(asked):
            yield (
                subject.at("jobs", position),
                f"the job asks for more {resource} than 2^60 units",
            )


def _amounts(holder: Shape | TaskUse | TaskGroup) -> dict[str, int]:
    return {
        "cpu": holder.cpu_millicores,
        "memory": holder.memory_bytes,
        "nvme": holder.nvme_bytes,
        "network": holder.network_bps,
        **holder.resources,
    }


def _beyond(totals: Mapping[str, int]) -> list[str]:
    return [resource for resource, total in totals.items() if total > MOST]
