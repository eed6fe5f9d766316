"""Pending jobs: task groups, what one task asks for, and where tasks may and should sit."""

from collections.abc import Mapping
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
    LabelValue,
    Millicores,
    MinimumBytes,
    Positive,
    TimeUnixSeconds,
    WeightMilli,
)

UNCONSTRAINED = "unconstrained"
"""Topology of independent replicas: their span does not matter."""


class Topology(FrozenModel):
    """Levels at which all tasks must, and should, share one domain."""

    required: Identifier | None = None
    preferred: Identifier | None = None


class SliceMode(StrEnum):
    """Whether a slice must, or should, stay in one domain."""

    REQUIRED = "required"
    PREFERRED = "preferred"


class Slice(FrozenModel):
    """Each run of ``size`` consecutive ranks lies in one domain of ``level``."""

    size: Positive
    level: Identifier
    mode: SliceMode = SliceMode.REQUIRED


class Spread(FrozenModel):
    """At most ``most`` tasks of the group per domain of ``level``, or a bounded skew."""

    level: Identifier
    most: Positive | None = None
    skew: Positive | None = None


class SelectorOp(StrEnum):
    """Operators of label selectors, as in Kubernetes; Gt and Lt compare dotted versions."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class Selector(FrozenModel):
    """One requirement on a node's labels."""

    key: Identifier
    op: SelectorOp = SelectorOp.IN
    values: tuple[LabelValue, ...] = ()
    value: LabelValue | None = None

    @property
    def wanted(self) -> tuple[str, ...]:
        """The values, ``value`` counting as one of them."""
        return self.values if self.value is None else (*self.values, self.value)


class Preference(Selector):
    """A wish about a node's labels; unmet, each task costs ``weight``."""

    weight_milli: WeightMilli = Field(default=1000, alias="weight")


class TolerationOp(StrEnum):
    """How a toleration matches a taint."""

    EXISTS = "Exists"
    EQUAL = "Equal"


class Toleration(FrozenModel):
    """Which taints a task bears; no ``key`` with ``Exists`` bears all, no ``effect`` every one."""

    key: Identifier | None = None
    op: TolerationOp = TolerationOp.EQUAL
    value: str = ""
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule"] | None = None


class Near(FrozenModel):
    """Data sits in these domains; each task elsewhere costs ``weight``."""

    level: Identifier
    domains: tuple[str, ...] = Field(min_length=1)
    weight_milli: WeightMilli = Field(default=1000, alias="weight")


class GpuRequest(FrozenModel):
    """Which GPUs will do: models in order of preference, least memory, where they sit."""

    model: tuple[Identifier, ...] = Field(default=(), description="one, or several in order")
    memory_min_bytes: MinimumBytes | None = Field(default=None, alias="memory")
    same: Literal["nvlink", "numa"] | None = None


class TaskCount(FrozenModel):
    """Number of tasks of a group: any from ``min`` to ``max``."""

    min: NonNegative
    max: Positive


class TaskGroup(FrozenModel):
    """``count`` identical tasks with one request; what is not named is not used."""

    name: Identifier = "task"
    count: TaskCount = Field(default=TaskCount(min=1, max=1), description="a number, or {min, max}")
    cpu_millicores: Millicores = Field(default=0, alias="cpu")
    memory_bytes: Bytes = Field(default=0, alias="memory")
    nvme_bytes: Bytes = Field(default=0, alias="nvme")
    network_bps: BitsPerSecond = Field(default=0, alias="network", description="per direction")
    gpus_milli: GpuMilli = Field(default=0, alias="gpus", description="whole GPUs, or a share")
    gpu_memory_bytes: Bytes = Field(default=0, alias="gpu_memory", description="share by memory")
    mig: str | None = None
    gpu: GpuRequest = GpuRequest()
    nic: Literal["per-gpu"] | None = None
    resources: Mapping[Identifier, NonNegative] = Field(default_factory=dict)
    topology: Topology | None = None
    slices: tuple[Slice, ...] = ()
    spread: Spread | None = None
    selector: tuple[Selector, ...] = ()
    prefer: tuple[Preference, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    near: tuple[Near, ...] = ()

    @property
    def whole_gpu_count(self) -> int:
        """GPUs a task takes whole; 0 for shares."""
        return self.gpus_milli // 1000 if self.gpus_milli % 1000 == 0 else 0

    @property
    def is_shared_gpu(self) -> bool:
        """Whether a task takes a share of one GPU."""
        return self.gpu_memory_bytes > 0 or self.gpus_milli % 1000 != 0


class Bind(FrozenModel):
    """These groups of the job share one domain of ``level``."""

    groups: tuple[Identifier, ...] = Field(min_length=2)
    level: Identifier


class With(FrozenModel):
    """The job shares one domain of ``level`` with another pending job."""

    job: Identifier
    level: Identifier


class Job(FrozenModel):
    """A pending job: a gang, which starts as a whole or not at all."""

    name: Identifier
    queue: Identifier = "default"
    priority: int = Field(default=0, ge=-(2**31), lt=2**31)
    submitted_unix_s: TimeUnixSeconds | None = Field(default=None, alias="submitted")
    duration_s: DurationSeconds | None = Field(default=None, alias="duration")
    preemptible: bool = False
    movable: bool | None = Field(default=None, description="none: as preemptible")
    intensity_milli: WeightMilli = Field(default=1000, alias="intensity")
    topology: Topology | Literal["unconstrained"] | None = None
    bind: tuple[Bind, ...] = ()
    with_: tuple[With, ...] = Field(default=(), alias="with")
    tasks: tuple[TaskGroup, ...] = Field(min_length=1)
