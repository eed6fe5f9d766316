"""The answer: a decision for every pending job, what was proven, and how the cluster is left."""

from enum import StrEnum
from typing import Any

from pydantic import ConfigDict, Field

from placement.model_base import FrozenModel


class Status(StrEnum):
    """What is proven: of the whole answer, or of one tier."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"


class Action(StrEnum):
    """What is decided for a pending job."""

    START = "start"
    RESERVE = "reserve"
    WAIT = "wait"


class TierResult(FrozenModel):
    """Value, proven bound and gap of one tier.

    ``value`` and ``bound`` are in the tier's unit: work in clusters (dominant share 1.0 = all of
    it) or GPUs, others in weighted counts. ``gap`` is |bound - value| / max(|bound|, |value|), 0
    when both are 0.
    """

    tier: str
    priority: int | None = None
    level: str | None = None
    value: float
    bound: float
    gap: float
    status: Status


class TaskPlacement(FrozenModel):
    """One task of a started job: its rank in the job, its node, its GPU indices there."""

    group: str
    rank: int
    node: str
    local_rank: int = 0
    gpus: tuple[int, ...] = ()


class Why(FrozenModel):
    """Why a job waits: a sentence first, the structure beneath."""

    summary: str
    conflict: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    nodes: dict[str, int] = Field(default_factory=dict)


class Decision(FrozenModel):
    """What happens to one pending job."""

    job: str
    action: Action
    tasks: tuple[TaskPlacement, ...] = ()
    why: Why | None = None


class FragmentationReport(FrozenModel):
    """What the cluster can still take: sets per target shape, and the FGD measure.

    ``fgd_milli_gpus`` is F of Weng et al., USENIX ATC 2023, in thousandths of a GPU.
    """

    sets: tuple[dict[str, Any], ...] = ()
    weighted: float = 0.0
    fgd_milli_gpus: int = 0
    free_gpus_milli: int = 0


class Fragmentation(FrozenModel):
    """Fragmentation before and after the decisions."""

    before: FragmentationReport
    after: FragmentationReport


class SolverReport(FrozenModel):
    """Who found the answer, how long it took, and how good it is known to be.

    ``gap`` is the largest gap of any work tier; ``notes`` say what was rounded, cut short or
    replaced; ``seconds`` is left out in reproducible mode.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    seconds: float | None = None
    gap: float = 0.0
    seed: int = 0
    notes: tuple[str, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)


class Answer(FrozenModel):
    """Everything that is decided, in the order of the pending jobs."""

    status: Status
    objective: tuple[TierResult, ...]
    decisions: tuple[Decision, ...]
    fragmentation: Fragmentation
    warnings: tuple[str, ...] = ()
    solver: SolverReport
