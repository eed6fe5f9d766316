"""What runs and what is reserved: on nodes and devices that exist, no GPU held twice."""

from collections.abc import Iterator, Mapping

from placement.cluster import Node, RunningJob, TaskUse, no_such_gpu
from placement.faults import Location
from placement.quantities import shown
from placement.references.cluster import gpu_count
from placement.references.subject import (
    Subject,
    repeated,
    slice_findings,
    unknown,
    unknown_levels,
)
from placement.schema_faults import Finding


def running_findings(subject: Subject) -> Iterator[Finding]:
    """Find running jobs that contradict the cluster, the clock or each other."""
    running = subject.document.cluster.running
    by_name = {node.name: node for node in subject.nodes}
    for position, name in repeated(job.job for job in running):
        yield subject.at("running", position, "job"), f"job {shown(name)} is listed twice"
    for position, job in enumerate(running):
        place = subject.at("running", position)
        yield from unknown("queue", subject.queues, job.queue, (*place, "queue"))
        yield from _time_findings(job, subject.now_unix_s, place)
        yield from unknown_levels(subject, job.topology, (*place, "topology"))
        fixed = job.count is not None and job.count.min == job.count.max
        count = job.count.max if job.count is not None and fixed else None
        yield from slice_findings(subject, job.slices, count, (*place, "slices"))
        for t, task in enumerate(job.tasks):
            yield from _use_findings(subject, task, by_name, (*place, "tasks", t))
    yield from _device_findings(subject)


def reservation_findings(subject: Subject) -> Iterator[Finding]:
    """Find reservations on nodes or devices that do not exist."""
    by_name = {node.name: node for node in subject.nodes}
    for position, reservation in enumerate(subject.document.cluster.reservations):
        for t, task in enumerate(reservation.tasks):
            place = subject.at("reservations", position, "tasks", t)
            yield from _use_findings(subject, task, by_name, place)


def _time_findings(job: RunningJob, now_unix_s: int, place: Location) -> Iterator[Finding]:
    if job.started_unix_s is not None and job.started_unix_s > now_unix_s:
        yield (*place, "started"), "is after now, and the job runs"
    if job.ends_unix_s is not None:
        if job.ends_unix_s < now_unix_s:
            yield (*place, "ends"), "is before now, and the job runs"
        elif job.started_unix_s is not None and job.ends_unix_s <= job.started_unix_s:
            yield (*place, "ends"), "is not after started"
    saved = None if job.checkpoint is None else job.checkpoint.last_unix_s
    if saved is not None and saved > now_unix_s:
        yield (*place, "checkpoint", "last"), "is after now"


def _use_findings(
    subject: Subject, task: TaskUse, by_name: Mapping[str, Node], place: Location
) -> Iterator[Finding]:
    yield from unknown("node", subject.node_names, task.node, (*place, "node"))
    node = by_name.get(task.node)
    if node is None or node.shape_name not in subject.document.cluster.shapes:
        return
    count = gpu_count(node.shape)
    for d, gpu in enumerate(task.devices or ()):
        if gpu >= count:
            yield (*place, "devices", d), no_such_gpu(gpu, count)


def _device_findings(subject: Subject) -> Iterator[Finding]:
    """Find whole GPUs that two running tasks hold."""
    running = subject.document.cluster.running
    holder: dict[tuple[str, int], tuple[int, bool]] = {}
    for position, job in enumerate(running):
        for t, task in enumerate(job.tasks):
            whole = task.gpus_milli >= 1000
            for d, gpu in enumerate(task.devices or ()):
                earlier = holder.get((task.node, gpu))
                if earlier is None:
                    holder[task.node, gpu] = (position, whole)
                elif whole or earlier[1]:
                    yield (
                        subject.at("running", position, "tasks", t, "devices", d),
                        f"GPU {gpu} of node {shown(task.node)} is held already, by a task of job "
                        f"{shown(running[earlier[0]].job)}",
                    )
