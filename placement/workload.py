"""Pending jobs: task groups, what one task asks for, and where tasks may and should sit."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from placement.faults import FieldFaultsError, Location, raise_faults
from placement.model_base import FrozenModel, NotEmpty
from placement.quantities import (
    MOST_TASKS,
    BitsPerSecond,
    Bytes,
    DurationSeconds,
    Flag,
    GpuMilli,
    Identifier,
    LabelValue,
    Millicores,
    MinimumBytes,
    NonNegative,
    Positive,
    Priority,
    TimeUnixSeconds,
    WeightMilli,
    parse_positive,
    shown,
)

UNCONSTRAINED = "unconstrained"
"""Topology of independent replicas: their span does not matter."""


ONLY_GROUP = "task"
"""Name of the one group of a job whose task fields stand on the job itself."""


class Topology(FrozenModel):
    """Levels at which all tasks must, and should, share one domain."""

    required: Identifier | None = None
    preferred: Identifier | None = None


def _is_text(value: object) -> str:
    return "<text>" if isinstance(value, str) else "<mapping>"


JobTopology = Annotated[
    Annotated[Literal["unconstrained"], Tag("<text>")] | Annotated[Topology, Tag("<mapping>")],
    Discriminator(_is_text),
]
"""Topology of a whole job: levels, or ``unconstrained`` for independent replicas."""


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

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if (self.most is None) == (self.skew is None):
            raise ValueError("give exactly one of most and skew")
        return self


class SelectorOp(StrEnum):
    """Operators of label selectors, as in Kubernetes; Gt and Lt compare dotted versions."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


VERSION = re.compile(r"[vV]?[0-9]{1,18}(\.[0-9]{1,18}){0,15}")
"""What Gt and Lt compare: dotted numbers."""


class Selector(FrozenModel):
    """One requirement on a node's labels."""

    key: Identifier
    op: SelectorOp = SelectorOp.IN
    values: tuple[LabelValue, ...] = ()
    value: LabelValue | None = None

    @model_validator(mode="after")
    def _right_number_of_values(self) -> Self:
        count = len(self.wanted)
        if self.op in (SelectorOp.EXISTS, SelectorOp.DOES_NOT_EXIST):
            if count:
                raise ValueError(f"{self.op} takes no value")
        elif self.op in (SelectorOp.GT, SelectorOp.LT):
            if count != 1:
                raise ValueError(f"{self.op} takes exactly one value, not {count}")
            if not VERSION.fullmatch(self.wanted[0]):
                raise ValueError(
                    f"{self.op} compares dotted numbers (12.4), not {shown(self.wanted[0])}"
                )
        elif not count:
            raise ValueError(f"{self.op} takes at least one value; give value or values")
        return self

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
    value: LabelValue = ""
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule"] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.op is TolerationOp.EXISTS and self.value:
            raise ValueError("Exists takes no value; use Equal, or leave the value out")
        if self.op is TolerationOp.EQUAL and self.key is None:
            raise ValueError("Equal takes a key; only Exists bears every taint without one")
        return self


class Near(FrozenModel):
    """Data sits in these domains; each task elsewhere costs ``weight``."""

    level: Identifier
    domains: NotEmpty[Identifier] = Field(description="paths: z1/b1/r1")
    weight_milli: WeightMilli = Field(default=1000, alias="weight")


def _models_of(value: object) -> object:
    return [value] if isinstance(value, str) else value


class GpuRequest(FrozenModel):
    """Which GPUs will do: models in order of preference, least memory, where they sit."""

    model: Annotated[
        tuple[Identifier, ...],
        BeforeValidator(_models_of, json_schema_input_type=Identifier | tuple[Identifier, ...]),
    ] = Field(default=(), description="one, or several in order of preference")
    memory_min_bytes: MinimumBytes | None = Field(default=None, alias="memory")
    same: Literal["nvlink", "numa"] | None = None

    @field_validator("model")
    @classmethod
    def _each_once(cls, models: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(models)) < len(models):
            raise ValueError("a model is listed twice")
        return models


class TaskCount(FrozenModel):
    """Number of tasks of a group: any from ``min`` to ``max``."""

    min: NonNegative
    max: Positive

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        if self.max > MOST_TASKS:
            raise ValueError(f"{self.max} tasks are out of range; at most {MOST_TASKS}")
        return self


def _count_of(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        count = parse_positive(value)
        return {"min": count, "max": count}
    if not isinstance(value, Mapping | TaskCount):
        raise ValueError(f"{shown(value)} is not a count; write 16, or {{min: 8, max: 16}}")
    return value


Count = Annotated[
    TaskCount, BeforeValidator(_count_of, json_schema_input_type=Positive | TaskCount)
]
"""A number of tasks, or the least and the most of an elastic group."""

_MIG_PROFILE = re.compile(r"(?:[1-7]c\.)?[1-7]g\.[1-9][0-9]{0,3}gb(?:[+-][a-z.]+)*")


def _mig_of(value: object) -> str:
    if not isinstance(value, str) or not _MIG_PROFILE.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a MIG profile; write it as 1g.10gb")
    return value


MigProfile = Annotated[
    str, BeforeValidator(_mig_of), Field(description="MIG profile such as 1g.10gb")
]
"""Name of a MIG profile."""


NAMED_RESOURCES = ("cpu", "memory", "nvme", "network", "gpus", "slots")
"""Resources that have a field of their own."""


def _further_resource(name: str) -> str:
    if name in NAMED_RESOURCES or name.startswith("gpus/"):
        raise ValueError(f"{name} is a field of its own, not a further resource")
    return name


FurtherResource = Annotated[Identifier, AfterValidator(_further_resource)]
"""Name of a countable resource that has no field of its own."""


def gpu_forms(gpus_milli: int, gpu_memory_bytes: int, mig: str | None) -> list[str]:
    """Names of the fields by which a task asks for GPUs; more than one contradict each other."""
    asked = {"gpus": gpus_milli > 0, "gpu_memory": gpu_memory_bytes > 0, "mig": mig is not None}
    return [name for name, given in asked.items() if given]


class TaskGroup(FrozenModel):
    """``count`` identical tasks with one request; what is not named is not used."""

    name: Identifier = ONLY_GROUP
    count: Count = Field(default=TaskCount(min=1, max=1), description="a number, or {min, max}")
    cpu_millicores: Millicores = Field(default=0, alias="cpu")
    memory_bytes: Bytes = Field(default=0, alias="memory")
    nvme_bytes: Bytes = Field(default=0, alias="nvme")
    network_bps: BitsPerSecond = Field(default=0, alias="network", description="per direction")
    gpus_milli: GpuMilli = Field(default=0, alias="gpus", description="whole GPUs, or a share")
    gpu_memory_bytes: Bytes = Field(default=0, alias="gpu_memory", description="share by memory")
    mig: MigProfile | None = None
    gpu: GpuRequest = GpuRequest()
    nic: Literal["per-gpu"] | None = None
    resources: Mapping[FurtherResource, NonNegative] = Field(default_factory=dict)
    topology: Topology | None = None
    slices: tuple[Slice, ...] = ()
    spread: Spread | None = None
    selector: tuple[Selector, ...] = ()
    prefer: tuple[Preference, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    near: tuple[Near, ...] = ()

    @model_validator(mode="after")
    def _asks_for_something_once(self) -> Self:
        forms = gpu_forms(self.gpus_milli, self.gpu_memory_bytes, self.mig)
        faults: list[tuple[Location, str]] = [
            ((form,), f"a task asks for GPUs in one way; {forms[0]} is given already")
            for form in forms[1:]
        ]
        if not forms:
            if self.gpu != GpuRequest():
                faults.append((("gpu",), "the task asks for no GPU; give gpus, or leave gpu out"))
            if self.nic is not None:
                faults.append((("nic",), "the task asks for no GPU; give gpus, or leave nic out"))
            if not (
                self.cpu_millicores
                or self.memory_bytes
                or self.nvme_bytes
                or self.network_bps
                or any(self.resources.values())
            ):
                faults.append(((), "a task asks for nothing; give cpu, memory, gpus or another"))
        raise_faults(faults)
        return self

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

    groups: NotEmpty[Identifier]
    level: Identifier

    @field_validator("groups")
    @classmethod
    def _at_least_two(cls, groups: tuple[str, ...]) -> tuple[str, ...]:
        if len(groups) < 2:
            raise ValueError("give at least two groups")
        return groups


class With(FrozenModel):
    """The job shares one domain of ``level`` with another pending job."""

    job: Identifier
    level: Identifier


def positive_duration(seconds: int | None) -> int | None:
    """Refuse a duration of 0: a job that takes no time is a slip."""
    if seconds == 0:
        raise ValueError("a duration of 0; leave it out for a job that never ends")
    return seconds


class Job(FrozenModel):
    """A pending job: a gang, which starts as a whole or not at all.

    A job with one task may carry the task's fields itself instead of ``tasks``.
    """

    name: Identifier
    queue: Identifier = "default"
    priority: Priority = 0
    submitted_unix_s: TimeUnixSeconds | None = Field(default=None, alias="submitted")
    duration_s: DurationSeconds | None = Field(default=None, alias="duration")
    preemptible: Flag = False
    movable: Flag | None = Field(default=None, description="none: as preemptible")
    intensity_milli: WeightMilli = Field(default=1000, alias="intensity")
    topology: JobTopology | None = None
    bind: tuple[Bind, ...] = ()
    with_: tuple[With, ...] = Field(default=(), alias="with")
    tasks: NotEmpty[TaskGroup]

    _positive_duration = field_validator("duration_s")(positive_duration)

    @model_validator(mode="before")
    @classmethod
    def _accept_task_fields(cls, written: Any) -> Any:
        if not isinstance(written, Mapping):
            return written
        of_task = [key for key in written if key in TASK_FIELDS]
        # Both, or neither: left as it is, and refused for the key too many or the one missing.
        if "tasks" in written or not of_task:
            return written
        task = {key: written[key] for key in of_task}
        rest = {key: value for key, value in written.items() if key not in TASK_FIELDS}
        return {**rest, "tasks": [{"name": ONLY_GROUP, **task}]}

    @model_validator(mode="after")
    def _starts_with_a_task(self) -> Self:
        if not any(group.count.min for group in self.tasks):
            raise FieldFaultsError(
                [(("tasks", 0, "count"), "the job could start without any task; min is 0")]
            )
        return self

    @property
    def is_shorthand(self) -> bool:
        """Whether the task's fields were written on the job itself."""
        return len(self.tasks) == 1 and (
            self.tasks[0].name == ONLY_GROUP and "name" in self.tasks[0].model_fields_set
        )


TASK_FIELDS = frozenset(field.alias or name for name, field in TaskGroup.model_fields.items()) - {
    "name",
    "topology",
}
"""Fields of a task that a job without ``tasks`` carries itself."""
