"""What the format can say and the solvers do not honour yet: refused, never silently ignored.

Each row of the tables names a field, tells when it asks for something, and why it is refused.
Who teaches the solvers a row deletes it.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from placement.cluster import Queue, RunningJob, TaskUse
from placement.faults import Fault, Location, format_path
from placement.policy import Fairness, Policy
from placement.problem import Problem
from placement.workload import Job, TaskGroup

_INSIDE_NODE = "placement of devices inside a node is not supported yet"
_SLICES = "slices are not supported yet"
_SHARED_DOMAINS = "sharing a domain with others is not supported yet"
_QUEUES = "shares of queues are not supported yet"
_EVICTIONS = "evictions are not supported yet"
_MOVES = "moves of running jobs are not supported yet"
_RESERVATIONS = "reservations are not supported yet"
_UPLINKS = "capacity of uplinks is not supported yet, and a pending job names network"


class _TaskRule(NamedTuple):
    inside: Location
    asked: Callable[[TaskGroup], bool]
    reason: str


class _JobRule(NamedTuple):
    inside: Location
    asked: Callable[[Job], bool]
    reason: str


class _RunningRule(NamedTuple):
    inside: Location
    asked: Callable[[RunningJob], bool]
    reason: str


class _UseRule(NamedTuple):
    inside: Location
    asked: Callable[[TaskUse], bool]
    reason: str


class _QueueRule(NamedTuple):
    inside: Location
    asked: Callable[[Queue], bool]
    reason: str


class _PolicyRule(NamedTuple):
    inside: Location
    asked: Callable[[Policy], bool]
    reason: str


_OF_TASKS = (
    _TaskRule(("mig",), lambda group: group.mig is not None, _INSIDE_NODE),
    _TaskRule(("gpu", "same"), lambda group: group.gpu.same is not None, _INSIDE_NODE),
    _TaskRule(("nic",), lambda group: group.nic is not None, _INSIDE_NODE),
    _TaskRule(("slices",), lambda group: bool(group.slices), _SLICES),
)
_OF_JOBS = (
    _JobRule(("bind",), lambda job: bool(job.bind), _SHARED_DOMAINS),
    _JobRule(("with",), lambda job: bool(job.with_), _SHARED_DOMAINS),
)
_OF_RUNNING_TASKS = (_UseRule(("mig",), lambda task: task.mig is not None, _INSIDE_NODE),)
_OF_RUNNING = (_RunningRule(("slices",), lambda job: bool(job.slices), _SLICES),)
_OF_QUEUES = (
    _QueueRule(("guarantee",), lambda queue: bool(queue.guarantee), _QUEUES),
    _QueueRule(("limit",), lambda queue: bool(queue.limit), _QUEUES),
    _QueueRule(("weight",), lambda queue: queue.weight_milli != 1000, _QUEUES),
)
_OF_POLICY = (
    _PolicyRule(("fairness",), lambda policy: policy.fairness is Fairness.STRICT, _QUEUES),
    _PolicyRule(
        ("borrow_nonpreemptible",), lambda policy: not policy.borrow_nonpreemptible, _QUEUES
    ),
    _PolicyRule(("preemption", "enabled"), lambda policy: policy.preemption.enabled, _EVICTIONS),
    _PolicyRule(
        ("preemption", "reclaim"), lambda policy: bool(policy.preemption.reclaim), _EVICTIONS
    ),
    _PolicyRule(("migration", "enabled"), lambda policy: policy.migration.enabled, _MOVES),
    _PolicyRule(
        ("reservations", "mode"), lambda policy: policy.reservations.mode != "off", _RESERVATIONS
    ),
)


def unsupported_faults(problem: Problem) -> list[Fault]:
    """Find every field of a problem that asks for what the solvers do not honour yet."""
    return [
        Fault(format_path(location), reason) for location, reason in unsupported_findings(problem)
    ]


def unsupported_findings(problem: Problem) -> Iterator[tuple[Location, str]]:
    """Yield where a problem asks for what the solvers do not honour yet, and the reason."""
    cluster = problem.cluster
    names_network = any(group.network_bps for job in problem.jobs for group in job.tasks)
    for index, domain in enumerate(cluster.domains):
        if domain.uplink_bps is not None and names_network:
            yield ("cluster", "domains", index, "uplink"), _UPLINKS
    for index, running in enumerate(cluster.running):
        place: Location = ("cluster", "running", index)
        for of_running in _OF_RUNNING:
            if of_running.asked(running):
                yield (*place, *of_running.inside), of_running.reason
        for number, use in enumerate(running.tasks):
            for of_use in _OF_RUNNING_TASKS:
                if of_use.asked(use):
                    yield (*place, "tasks", number, *of_use.inside), of_use.reason
    for index, queue in enumerate(cluster.queues):
        for of_queue in _OF_QUEUES:
            if of_queue.asked(queue):
                yield ("cluster", "queues", index, *of_queue.inside), of_queue.reason
    if cluster.reservations:
        yield ("cluster", "reservations"), _RESERVATIONS
    for index, job in enumerate(problem.jobs):
        for of_job in _OF_JOBS:
            if of_job.asked(job):
                yield ("jobs", index, *of_job.inside), of_job.reason
        for number, group in enumerate(job.tasks):
            task: Location = () if job.is_shorthand else ("tasks", number)
            for of_task in _OF_TASKS:
                if of_task.asked(group):
                    yield ("jobs", index, *task, *of_task.inside), of_task.reason
    for of_policy in _OF_POLICY:
        if of_policy.asked(problem.policy):
            yield ("policy", *of_policy.inside), of_policy.reason
    target = problem.policy.fragmentation.target
    for index, wanted in enumerate(target if isinstance(target, tuple) else ()):
        if wanted.same is not None:
            yield ("policy", "fragmentation", "target", index, "same"), _INSIDE_NODE
