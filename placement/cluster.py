"""The cluster snapshot: nodes, their shapes and domains, what runs, queues, reservations.

All quantities are exact integers; the unit is in the field's name. Aliases are the names that
people write in problem files (``cpu`` for ``cpu_millicores``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Self

from pydantic import (
    BeforeValidator,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from placement.faults import FieldFaultsError, Location, raise_faults
from placement.model_base import FrozenModel, NotEmpty
from placement.quantities import (
    MOST_GPUS_PER_NODE,
    BitsPerSecond,
    Bytes,
    DurationSeconds,
    Flag,
    GpuMilli,
    HostExpression,
    Identifier,
    LabelValue,
    Millicores,
    NonNegative,
    Positive,
    Priority,
    TimeUnixSeconds,
    WeightMilli,
    parse_amount_milli,
    parse_bits_per_second,
    parse_bytes,
    parse_count,
    parse_millicores,
    shown,
)
from placement.workload import (
    Count,
    FurtherResource,
    JobTopology,
    MigProfile,
    Slice,
    gpu_forms,
    positive_duration,
)

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
    value: LabelValue = ""
    effect: TaintEffect = TaintEffect.NO_SCHEDULE


class MaintenanceWindow(FrozenModel):
    """A planned outage of a node, ``[from, until)``."""

    from_unix_s: TimeUnixSeconds = Field(alias="from")
    until_unix_s: TimeUnixSeconds = Field(alias="until")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.until_unix_s <= self.from_unix_s:
            raise FieldFaultsError([(("until",), "the window ends before it begins")])
        return self


class GpuSpec(FrozenModel):
    """The GPUs of a node: one model; indices run from 0 to ``count`` - 1."""

    model: Identifier
    memory_bytes: Bytes | None = Field(default=None, alias="memory", description="per GPU")
    count: Positive
    nvlink: tuple[tuple[NonNegative, ...], ...] = Field(default=(), description="NVLink groups")
    numa: tuple[NonNegative, ...] = Field(default=(), description="NUMA domain of each GPU")
    mig: Flag = Field(default=False, description="whether MIG instances can be made")

    @model_validator(mode="after")
    def _indices_exist_once(self) -> Self:
        if self.count > MOST_GPUS_PER_NODE:
            raise FieldFaultsError(
                [(("count",), f"{self.count} GPUs are out of range; at most {MOST_GPUS_PER_NODE}")]
            )
        faults: list[tuple[Location, str]] = []
        seen: set[int] = set()
        for number, group in enumerate(self.nvlink):
            for position, gpu in enumerate(group):
                if gpu >= self.count:
                    faults.append((("nvlink", number, position), no_such_gpu(gpu, self.count)))
                elif gpu in seen:
                    faults.append((("nvlink", number, position), f"GPU {gpu} is named twice"))
                seen.add(gpu)
        if self.numa and len(self.numa) != self.count:
            faults.append(
                (("numa",), f"{len(self.numa)} NUMA domains for {self.count} GPUs; give one each")
            )
        raise_faults(faults)
        return self


def no_such_gpu(index: int, count: int) -> str:
    """Say that a node has no GPU of this index."""
    if count == 0:
        return f"there is no GPU {index}: the node has no GPUs"
    return f"there is no GPU {index}: the node's GPUs are 0 to {count - 1}"


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
    slots: NonNegative | None = Field(default=None, description="most tasks; none: unlimited")
    resources: Mapping[FurtherResource, NonNegative] = Field(default_factory=dict)
    gpus: GpuSpec | None = None
    numa: tuple[NumaDomain, ...] = ()
    nics: tuple[Nic, ...] = ()
    labels: Mapping[Identifier, LabelValue] = Field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    maintenance: tuple[MaintenanceWindow, ...] = ()

    @model_validator(mode="after")
    def _numa_domains_exist(self) -> Self:
        faults: list[tuple[Location, str]] = []
        if self.numa:
            last = len(self.numa) - 1
            message = f"there is no NUMA domain %d: the shape's are 0 to {last}"
            of_gpus = () if self.gpus is None else self.gpus.numa
            faults += [
                (("gpus", "numa", position), message % domain)
                for position, domain in enumerate(of_gpus)
                if domain > last
            ]
            faults += [
                (("nics", position, "numa"), message % nic.numa)
                for position, nic in enumerate(self.nics)
                if nic.numa is not None and nic.numa > last
            ]
        raise_faults(faults)
        return self


class NodeEntry(FrozenModel):
    """One node, or many alike by a hostlist expression such as ``n[001-128]``."""

    name: HostExpression
    shape: Identifier
    domain: Identifier | None = Field(default=None, description="path, coarse to fine: z1/b1/r1")
    state: NodeState = NodeState.READY
    unhealthy_gpus: tuple[NonNegative, ...] = ()
    labels: Mapping[Identifier, LabelValue] = Field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    maintenance: tuple[MaintenanceWindow, ...] = ()


class Domain(FrozenModel):
    """A domain with something to say; domains are otherwise known from their nodes."""

    path: Identifier
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
    resources: Mapping[FurtherResource, NonNegative] = Field(default_factory=dict)
    gpus_milli: GpuMilli = Field(default=0, alias="gpus", description="whole GPUs, or a share")
    gpu_memory_bytes: Bytes = Field(default=0, alias="gpu_memory", description="share by memory")
    mig: MigProfile | None = None
    mig_start: NonNegative | None = None
    devices: tuple[NonNegative, ...] | None = Field(default=None, description="none: any that fit")
    group: Identifier | None = None
    rank: NonNegative | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        forms = gpu_forms(self.gpus_milli, self.gpu_memory_bytes, self.mig)
        faults: list[tuple[Location, str]] = [
            ((form,), f"a task holds GPUs in one way; {forms[0]} is given already")
            for form in forms[1:]
        ]
        if self.mig_start is not None and self.mig is None:
            faults.append((("mig_start",), "is of MIG instances only, and mig is not given"))
        if self.devices is not None:
            held = max(1, self.gpus_milli // 1000) if forms else 0
            if len(self.devices) != held:
                faults.append(
                    (("devices",), f"names {len(self.devices)} GPUs, but the task holds {held}")
                )
            faults += [
                (("devices", position), f"GPU {gpu} is named twice")
                for position, gpu in enumerate(self.devices)
                if gpu in self.devices[:position]
            ]
        raise_faults(faults)
        return self


class RunningJob(FrozenModel):
    """A job that holds resources now."""

    job: Identifier
    queue: Identifier = DEFAULT_QUEUE
    priority: Priority = 0
    preemptible: Flag = False
    movable: Flag | None = Field(default=None, description="none: as preemptible")
    started_unix_s: TimeUnixSeconds | None = Field(default=None, alias="started")
    ends_unix_s: TimeUnixSeconds | None = Field(default=None, alias="ends")
    duration_s: DurationSeconds | None = Field(default=None, alias="duration")
    checkpoint: Checkpoint | None = None
    min_runtime_s: DurationSeconds = Field(default=0, alias="min_runtime")
    intensity_milli: WeightMilli = Field(default=1000, alias="intensity")
    topology: JobTopology | None = None
    slices: tuple[Slice, ...] = ()
    count: Count | None = None
    tasks: NotEmpty[TaskUse]

    _positive_duration = field_validator("duration_s")(positive_duration)

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if self.duration_s is not None:
            if self.ends_unix_s is not None:
                raise FieldFaultsError([(("duration",), "ends is given already; leave one out")])
            if self.started_unix_s is None:
                raise FieldFaultsError(
                    [(("duration",), "counts from started, which is not given; or give ends")]
                )
        return self

    @property
    def end_unix_s(self) -> int | None:
        """Expected end, Unix seconds; None for a job that never ends."""
        if self.ends_unix_s is not None:
            return self.ends_unix_s
        if self.duration_s is not None and self.started_unix_s is not None:
            return self.started_unix_s + self.duration_s
        return None


QUEUE_RESOURCES = {
    "cpu": parse_millicores,
    "memory": parse_bytes,
    "nvme": parse_bytes,
    "network": parse_bits_per_second,
    "gpus": parse_amount_milli,
    "slots": parse_count,
}
"""Resources that every cluster has, with how an amount of each is read."""


def parse_amount(resource: str, value: object) -> int:
    """Read an amount of a resource of a queue, in the unit of :class:`Queue`."""
    if resource.startswith("gpus/"):
        return parse_amount_milli(value)
    return QUEUE_RESOURCES.get(resource, parse_count)(value)


def _amounts_of(written: object) -> dict[str, int]:
    if not isinstance(written, Mapping):
        raise ValueError(f"{shown(written)} is not a mapping of resources to amounts")
    amounts: dict[str, int] = {}
    faults: list[tuple[Location, str]] = []
    for resource, value in written.items():
        try:
            amounts[str(resource)] = parse_amount(str(resource), value)
        except ValueError as error:
            faults.append(((str(resource),), str(error)))
    raise_faults(faults)
    return amounts


ResourceAmounts = Annotated[
    Mapping[str, int],
    BeforeValidator(_amounts_of),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {"type": ["number", "string"], "minimum": 0},
            "description": "amount per resource: cpu, memory, nvme, network, slots, gpus, "
            "gpus/MODEL, or a further resource",
        }
    ),
]
"""Amounts per resource: millicores, bytes, bit/s, thousandths of a GPU, or counts."""


class Queue(FrozenModel):
    """A queue of the tree; amounts per resource, ``gpus/MODEL`` told apart."""

    name: Identifier
    parent: Identifier = ROOT_QUEUE
    weight_milli: WeightMilli = Field(default=1000, alias="weight")
    guarantee: ResourceAmounts = Field(default_factory=dict)
    limit: ResourceAmounts = Field(default_factory=dict)

    @model_validator(mode="after")
    def _guarantee_within_limit(self) -> Self:
        faults: list[tuple[Location, str]] = [
            (("guarantee", resource), "the guarantee is above the queue's limit")
            for resource, amount in self.guarantee.items()
            if amount > self.limit.get(resource, amount)
        ]
        if self.weight_milli == 0:
            faults.append((("weight",), "a weight of 0; write a number above 0"))
        raise_faults(faults)
        return self


class Reservation(FrozenModel):
    """A reservation kept from an earlier answer."""

    job: Identifier
    start_unix_s: TimeUnixSeconds = Field(alias="start")
    tasks: NotEmpty[TaskUse]


class Cluster(FrozenModel):
    """The snapshot as written; :class:`placement.problem.Problem` resolves its names."""

    levels: tuple[Identifier, ...] = Field(default=(), description="coarse to fine, without node")
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
