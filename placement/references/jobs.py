"""Pending jobs and the policy: names are unique, and what they refer to exists."""

from collections.abc import Iterator

from placement.quantities import shown
from placement.references.subject import (
    Subject,
    repeated,
    slice_findings,
    unknown,
    unknown_levels,
)
from placement.schema_faults import Finding, did_you_mean
from placement.workload import NAMED_RESOURCES, Job


def job_findings(subject: Subject) -> Iterator[Finding]:
    """Find jobs that share a name, or refer to what does not exist."""
    running = {job.job for job in subject.document.cluster.running}
    for position, name in repeated(job.name for job in subject.document.jobs):
        yield subject.at("jobs", position, "name"), f"job {shown(name)} is listed twice"
    for position, job in enumerate(subject.document.jobs):
        place = subject.at("jobs", position)
        if job.name in running:
            yield (*place, "name"), f"job {shown(job.name)} is running already"
        yield from unknown("queue", subject.queues, job.queue, (*place, "queue"))
        yield from unknown_levels(subject, job.topology, (*place, "topology"))
        yield from _sharing_findings(subject, position, job)
        yield from _group_findings(subject, position, job)


def _sharing_findings(subject: Subject, position: int, job: Job) -> Iterator[Finding]:
    place = subject.at("jobs", position)
    groups = dict.fromkeys(group.name for group in job.tasks)
    for b, bind in enumerate(job.bind):
        yield from unknown("level", subject.levels, bind.level, (*place, "bind", b, "level"))
        for g, name in enumerate(bind.groups):
            inside = (*place, "bind", b, "groups", g)
            if name not in groups:
                yield (
                    inside,
                    f"the job has no group {shown(name)}{did_you_mean(name, groups)}",
                )
            elif name in bind.groups[:g]:
                yield inside, f"group {shown(name)} is listed twice"
    for w, other in enumerate(job.with_):
        yield from unknown("level", subject.levels, other.level, (*place, "with", w, "level"))
        if other.job == job.name:
            yield (*place, "with", w, "job"), "is the job itself"
        else:
            yield from unknown("job", subject.job_names, other.job, (*place, "with", w, "job"))


def _group_findings(subject: Subject, position: int, job: Job) -> Iterator[Finding]:
    for g, name in repeated(group.name for group in job.tasks):
        yield (
            subject.at_task(position, g, "name"),
            f"the job has two groups {shown(name)}; give each a name of its own",
        )
    for g, group in enumerate(job.tasks):
        place = subject.at_task(position, g)
        # On a job that carries its task's fields, ``topology`` is the job's and was looked at.
        yield from unknown_levels(subject, group.topology, (*place, "topology"))
        count = group.count.max if group.count.min == group.count.max else None
        yield from slice_findings(subject, group.slices, count, (*place, "slices"))
        if group.spread is not None:
            level = group.spread.level
            yield from unknown("level", subject.levels, level, (*place, "spread", "level"))
        for n, near in enumerate(group.near):
            yield from unknown("level", subject.levels, near.level, (*place, "near", n, "level"))


def policy_findings(subject: Subject) -> Iterator[Finding]:
    """Find levels and resources of the policy that do not exist."""
    policy = subject.document.policy
    further = further_resources(subject)
    place = ("policy", "reservations", "entitled")
    for key in policy.reservations.entitled:
        named = {*NAMED_RESOURCES, *further, "priority", "waiting"}
        if key not in named and not key.startswith("gpus/") and not subject.shapes.open:
            yield (*place, key), f"unknown resource {shown(key)}{did_you_mean(key, named)}"
    if isinstance(policy.fragmentation.target, tuple):
        for position, target in enumerate(policy.fragmentation.target):
            if target.level is not None:
                inside = ("policy", "fragmentation", "target", position, "level")
                yield from unknown("level", subject.levels, target.level, inside)


def further_resources(subject: Subject) -> dict[str, None]:
    """Names of resources that shapes have and that have no field of their own."""
    shapes = subject.document.cluster.shapes.values()
    return dict.fromkeys(name for shape in shapes for name in shape.resources)
