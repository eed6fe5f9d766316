"""What the operator wants: time limit, value of work, preemption, reservations, target mix."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from placement.model_base import FrozenModel
from placement.quantities import (
    Bytes,
    NonNegative,
    DurationMillis,
    DurationSeconds,
    Identifier,
    Millicores,
    Positive,
    WeightMilli,
)


class Value(StrEnum):
    """What work is worth: dominant resource share, or plain GPUs."""

    SHARE = "share"
    GPUS = "gpus"


class Fairness(StrEnum):
    """Whether fair shares come before all work (strict) or after (off)."""

    OFF = "off"
    STRICT = "strict"


class Budget(FrozenModel):
    """At most ``most`` of the jobs that match the pattern are evicted."""

    jobs: str
    most: NonNegative


class PreemptionPolicy(FrozenModel):
    """Who may be evicted for whom."""

    enabled: bool = False
    reclaim: bool | None = Field(default=None, description="none: as enabled")
    most_evictions: NonNegative | None = None
    budgets: tuple[Budget, ...] = ()


class MigrationPolicy(FrozenModel):
    """Whether running jobs may be moved."""

    enabled: bool = False
    most_moves: NonNegative | None = None


class ReservationPolicy(FrozenModel):
    """Which jobs get a reservation when they cannot start now."""

    mode: Literal["off", "strict", "balanced"] = "off"
    entitled: Mapping[str, str] = Field(default_factory=dict)
    most: NonNegative | None = None
    horizon_s: DurationSeconds | None = Field(default=None, alias="horizon")
    exchange_rate_milli: WeightMilli | None = Field(default=None, alias="exchange_rate")


class TargetSet(FrozenModel):
    """A set the cluster should still be able to take: ``nodes`` different nodes, each giving this."""

    nodes: Positive = 1
    gpus: NonNegative = 0
    model: Identifier | None = None
    cpu_millicores: Millicores = Field(default=0, alias="cpu")
    memory_bytes: Bytes = Field(default=0, alias="memory")
    level: Identifier | None = Field(default=None, description="all in one domain of this level")
    same: Literal["nvlink", "numa"] | None = None
    weight_milli: WeightMilli = Field(default=1000, alias="weight")


class FragmentationPolicy(FrozenModel):
    """The mix of sets by which leftovers are valued; auto: learned from the jobs."""

    target: Literal["auto"] | tuple[TargetSet, ...] = "auto"


class Policy(FrozenModel):
    """All that a request may say about how to decide."""

    time_limit_ms: DurationMillis = Field(default=5000, alias="time_limit")
    value: Value = Value.SHARE
    fairness: Fairness = Fairness.OFF
    borrow_nonpreemptible: bool = True
    preemption: PreemptionPolicy = PreemptionPolicy()
    migration: MigrationPolicy = MigrationPolicy()
    reservations: ReservationPolicy = ReservationPolicy()
    fragmentation: FragmentationPolicy = FragmentationPolicy()
