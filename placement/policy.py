"""What the operator wants: time limit, value of work, preemption, reservations, target mix."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, field_validator

from placement.cluster import parse_amount
from placement.faults import Location, raise_faults
from placement.model_base import FrozenModel
from placement.quantities import (
    Bytes,
    DurationMillis,
    DurationSeconds,
    Flag,
    Identifier,
    Millicores,
    NonNegative,
    Positive,
    WeightMilli,
    parse_priority,
    parse_seconds,
    shown,
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

    jobs: Identifier = Field(description="name or pattern: serve-*")
    most: NonNegative


class PreemptionPolicy(FrozenModel):
    """Who may be evicted for whom."""

    enabled: Flag = False
    reclaim: Flag | None = Field(default=None, description="none: as enabled")
    most_evictions: NonNegative | None = None
    budgets: tuple[Budget, ...] = ()


class MigrationPolicy(FrozenModel):
    """Whether running jobs may be moved."""

    enabled: Flag = False
    most_moves: NonNegative | None = None


def _entitled_of(written: object) -> dict[str, str]:
    if not isinstance(written, Mapping):
        raise ValueError(f'{shown(written)} is not a mapping such as {{gpus: ">=32"}}')
    thresholds: dict[str, str] = {}
    faults: list[tuple[Location, str]] = []
    for key, value in written.items():
        try:
            if not isinstance(value, str) or not value.startswith(">="):
                raise ValueError(f'{shown(value)} is not a threshold; write it as ">=32"')
            entitled_threshold(str(key), value)
            thresholds[str(key)] = value
        except ValueError as error:
            faults.append(((str(key),), str(error)))
    raise_faults(faults)
    return thresholds


def entitled_threshold(key: str, expression: str) -> int:
    """Least value of a ``>=`` expression, in the unit of what it is about.

    ``priority`` is a priority, ``waiting`` seconds since the submission; all else a resource of the
    whole job, in the unit of :class:`placement.cluster.Queue`.
    """
    amount = expression.removeprefix(">=").strip(" ")
    if key == "waiting":
        return parse_seconds(amount)
    if key == "priority":
        return parse_priority(_integer(amount))
    if key in ("cpu", "memory", "nvme", "network", "gpus") or key.startswith("gpus/"):
        return parse_amount(key, amount)
    return parse_amount(key, _integer(amount))


def _integer(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise ValueError(f'{shown(text)} is not a whole number; write it as ">=32"')
    return int(text)


class ReservationPolicy(FrozenModel):
    """Which jobs get a reservation when they cannot start now."""

    mode: Literal["off", "strict", "balanced"] = "off"
    entitled: Annotated[
        Mapping[str, str],
        BeforeValidator(_entitled_of),
        WithJsonSchema(
            {"type": "object", "additionalProperties": {"type": "string", "pattern": "^>=.+$"}}
        ),
    ] = Field(default_factory=dict, description="by resource, priority or waiting: >=32")
    most: NonNegative | None = None
    horizon_s: DurationSeconds | None = Field(default=None, alias="horizon")
    exchange_rate_milli: WeightMilli | None = Field(default=None, alias="exchange_rate")


class TargetSet(FrozenModel):
    """A set to be kept assemblable: ``nodes`` different nodes, each giving this."""

    nodes: Positive = 1
    gpus: NonNegative = 0
    model: Identifier | None = None
    cpu_millicores: Millicores = Field(default=0, alias="cpu")
    memory_bytes: Bytes = Field(default=0, alias="memory")
    level: Identifier | None = Field(default=None, description="all in one domain of this level")
    same: Literal["nvlink", "numa"] | None = None
    weight_milli: WeightMilli = Field(default=1000, alias="weight")


def _is_text(value: object) -> str:
    return "<text>" if isinstance(value, str) else "<list>"


class FragmentationPolicy(FrozenModel):
    """The mix of sets by which leftovers are valued; auto: learned from the jobs."""

    target: Annotated[
        Annotated[Literal["auto"], Tag("<text>")] | Annotated[tuple[TargetSet, ...], Tag("<list>")],
        Discriminator(_is_text),
    ] = "auto"


class Policy(FrozenModel):
    """All that a request may say about how to decide."""

    time_limit_ms: DurationMillis = Field(default=5000, alias="time_limit")
    value: Value = Value.SHARE
    fairness: Fairness = Fairness.OFF
    borrow_nonpreemptible: Flag = True
    preemption: PreemptionPolicy = PreemptionPolicy()
    migration: MigrationPolicy = MigrationPolicy()
    reservations: ReservationPolicy = ReservationPolicy()
    fragmentation: FragmentationPolicy = FragmentationPolicy()

    @field_validator("time_limit_ms")
    @classmethod
    def _some_time(cls, millis: int) -> int:
        if millis == 0:
            raise ValueError("a time limit of 0; write it as 500ms, 5s or 1m30s")
        return millis
