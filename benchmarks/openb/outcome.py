"""The result of one run."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """What happened to one arrival.

    Attributes
    ----------
    arrival
        0 for the first.
    pod
        Name.
    node
        Name; empty: dropped.
    gpus
        Indices of the GPUs taken.
    """

    arrival: int
    pod: str
    node: str
    gpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one run.

    Attributes
    ----------
    trace, mode, policy
        What ran.
    seed
        Of the arrivals; None if the mode knows none.
    allocation
        Percent of all GPUs allocated when those asked for are 100 % of all; None: never reached.
    allocation_at_130
        The same at 130 %.
    ceiling
        Percent that ``allocation`` of no placement can exceed; None: not computed.
    seconds
        Wall time of the placements.
    decisions
        Empty unless asked for.
    peak_rss_mib
        Most memory that the process has used so far, MiB; None: not measured.
    """

    trace: str
    mode: str
    policy: str
    seed: int | None
    allocation: float | None
    allocation_at_130: float | None
    ceiling: float | None
    seconds: float
    decisions: Sequence[Decision] = ()
    peak_rss_mib: int | None = None
