"""The cluster snapshot: nodes, their shapes and domains, what runs, queues, reservations.

All quantities are exact integers; the unit is in the field's name. Aliases are the names that
people write in problem files (``cpu`` for ``cpu_millicores``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import Field

from placement.model_base import FrozenModel
from placement.quantities import (
    BitsPerSecond,
    Bytes,
    NonNegative,
    DurationSeconds,
    GpuMilli,
    Identifier,
    Millicores,
    Positive,
    TimeUnixSeconds,
    WeightMilli,
)
from placement.workload import Slice, TaskCount, Topology

NODE_LEVEL = "node"
"""Name of the finest level, which every cluster has."""

ROOT_QUEUE = "root"
"""Name of the implied root of the queue tree."""

DEFAULT_QUEUE = "default"
"""Queue of a job that names none."""


class NodeState(StrEnum):
    """What may happen on a node (design: node states)."""

    READY = "ready"
    CORDONED = "cordoned"
    DRAINING = "draining"
    DOWN = "down"


class TaintEffect(StrEnum):
    """What a taint does to a task that does not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    NO_EXECUTE = "NoExecute"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"


class Taint(FrozenModel):
    """A mark on a node that keeps tasks away unless they tolerate it."""

    key: Identifier
    value: str = ""
    effect: TaintEffect = TaintEffect.NO_SCHEDULE


class MaintenanceWindow(FrozenModel):
    """A planned outage of a node, ``[from, until)``."""

    from_unix_s: TimeUnixSeconds = Field(alias="from")
    until_unix_s: TimeUnixSeconds = Field(alias="until")


class GpuSpec(FrozenModel):
    """The GPUs of a node: one model; indices run from 0 to ``count`` - 1."""

    model: Identifier
    memory_bytes: Bytes | None = Field(default=None, alias="memory", description="per GPU")
    count: Positive
    nvlink: tuple[tuple[NonNegative, ...], ...] = Field(default=(), description="NVLink groups")
    numa: tuple[NonNegative, ...] = Field(default=(), description="NUMA domain of each GPU")
    mig: bool = Field(default=False, description="whether MIG instances can be made")


class NumaDomain(FrozenModel):
    """CPU and memory of one NUMA domain of a node."""

    cpu_millicores: Millicores | None = Field(default=None, alias="cpu")
    memory_bytes: Bytes | None = Field(default=None, alias="memory")


class Nic(FrozenModel):
    """One network card of a node."""

    numa: NonNegative | None = None
    bandwidth_bps: BitsPerSecond = Field(alias="bandwidth")


class Shape(FrozenModel):
    """A kind of node, written once; nodes refer to it by name."""

    cpu_millicores: Millicores = Field(default=0, alias="cpu")
    memory_bytes: Bytes = Field(default=0, alias="memory")
    nvme_bytes: Bytes = Field(default=0, alias="nvme")
    network_bps: BitsPerSecond = Field(default=0, alias="network")
    slots: NonNegative | None = Field(default=None, description="most tasks at once; none: unlimited")
    resources: Mapping[Identifier, NonNegative] = Field(default_factory=dict)
    gpus: GpuSpec | None = None
    numa: tuple[NumaDomain, ...] = ()
    nics: tuple[Nic, ...] = ()
    labels: Mapping[str, str] = Field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    maintenance: tuple[MaintenanceWindow, ...] = ()


class NodeEntry(FrozenModel):
    """One node, or many alike by a hostlist expression such as ``n[001-128]``."""

    name: Identifier
    shape: Identifier
    domain: str | None = Field(default=None, description="path, coarse to fine: z1/b1/r1")
    state: NodeState = NodeState.READY
    unhealthy_gpus: tuple[NonNegative, ...] = ()
    labels: Mapping[str, str] = Field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    maintenance: tuple[MaintenanceWindow, ...] = ()


class Domain(FrozenModel):
    """A domain with something to say; domains are otherwise known from their nodes."""

    path: str
    uplink_bps: BitsPerSecond | None = Field(default=None, alias="uplink")


class Checkpoint(FrozenModel):
    """When a running job last saved its work, and how long a restart takes."""

    last_unix_s: TimeUnixSeconds | None = Field(default=None, alias="last")
    restart_s: DurationSeconds = Field(default=0, alias="restart")


class TaskUse(FrozenModel):
    """What one placed task holds on one node."""

    node: Identifier
    cpu_millicores: Millicores = Field(default=0, alias="cpu")
    memory_bytes: Bytes = Field(default=0, alias="memory")
    nvme_bytes: Bytes = Field(default=0, alias="nvme")
    network_bps: BitsPerSecond = Field(default=0, alias="network")
    resources: Mapping[Identifier, NonNegative] = Field(default_factory=dict)
    gpus_milli: GpuMilli = Field(default=0, alias="gpus", description="whole GPUs, or a share")
    gpu_memory_bytes: Bytes = Field(default=0, alias="gpu_memory", description="share by memory")
    mig: str | None = None
    mig_start: NonNegative | None = None
    devices: tuple[NonNegative, ...] | None = Field(default=None, description="none: any consistent")
    group: Identifier | None = None
    rank: NonNegative | None = None


class RunningJob(FrozenModel):
    """A job that holds resources now."""

    job: Identifier
    queue: Identifier = DEFAULT_QUEUE
    priority: int = Field(default=0, ge=-(2**31), lt=2**31)
    preemptible: bool = False
    movable: bool | None = Field(default=None, description="none: as preemptible")
    started_unix_s: TimeUnixSeconds | None = Field(default=None, alias="started")
    ends_unix_s: TimeUnixSeconds | None = Field(default=None, alias="ends")
    duration_s: DurationSeconds | None = Field(default=None, alias="duration")
    checkpoint: Checkpoint | None = None
    min_runtime_s: DurationSeconds = Field(default=0, alias="min_runtime")
    intensity_milli: WeightMilli = Field(default=1000, alias="intensity")
    topology: Topology | Literal["unconstrained"] | None = None
    slices: tuple[Slice, ...] = ()
    count: TaskCount | None = None
    tasks: tuple[TaskUse, ...] = Field(min_length=1)

    @property
    def end_unix_s(self) -> int | None:
        """Expected end, Unix seconds; None for a job that never ends."""
        if self.ends_unix_s is not None:
            return self.ends_unix_s
        if self.duration_s is not None and self.started_unix_s is not None:
            return self.started_unix_s + self.duration_s
        return None


class Queue(FrozenModel):
    """A queue of the tree; amounts per resource, ``gpus/MODEL`` told apart."""

    name: Identifier
    parent: Identifier = ROOT_QUEUE
    weight_milli: WeightMilli = Field(default=1000, alias="weight")
    guarantee: Mapping[str, int] = Field(default_factory=dict)
    limit: Mapping[str, int] = Field(default_factory=dict)


class Reservation(FrozenModel):
    """A reservation kept from an earlier answer."""

    job: Identifier
    start_unix_s: TimeUnixSeconds = Field(alias="start")
    tasks: tuple[TaskUse, ...] = Field(min_length=1)


class Cluster(FrozenModel):
    """The snapshot as written; :class:`placement.problem.Problem` resolves its names."""

    levels: tuple[Identifier, ...] = Field(default=(), description="coarse to fine; node is implied")
    domains: tuple[Domain, ...] = ()
    shapes: Mapping[Identifier, Shape] = Field(default_factory=dict)
    nodes: tuple[NodeEntry, ...] = ()
    running: tuple[RunningJob, ...] = ()
    queues: tuple[Queue, ...] = ()
    reservations: tuple[Reservation, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """One node with its shape and entry merged.

    Attributes
    ----------
    name
        Unique in the cluster.
    shape
        The shape it was made from; capacities are the shape's.
    domains
        Domain path prefix per level, coarse to fine (``("z1", "z1/b1", "z1/b1/r1")``); None at a
        level where the node is in no domain.
    healthy_gpus
        Indices of GPUs that may be used.
    """

    name: str
    shape_name: str
    shape: Shape
    domains: tuple[str | None, ...]
    state: NodeState
    healthy_gpus: tuple[int, ...]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    maintenance: tuple[MaintenanceWindow, ...]
