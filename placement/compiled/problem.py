"""The compiled problem: one dense, immutable, solver-neutral form; all that solvers know.

Axes, used in the shapes below:

``N``
    nodes, in the order of the snapshot.
``R``
    countable node resources other than GPUs and NIC bandwidth: CPU, memory, NVMe, slots, further.
``J``
    pending jobs; ``G`` task groups, job by job in the order written.
``K``
    request kinds: groups whose single task no node can tell apart share one kind.
``L``
    levels, coarse to fine; the last is the node itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

WORK_UNIT = 10**9
"""Units of work in one whole cluster (dominant share 1.0)."""


UNLIMITED = 2**40
"""Free task slots of a node without a limit."""


class TierKind(StrEnum):
    """What a tier of the objective measures (``docs/objective.md``)."""

    WORK = "work"
    WORK_WITHOUT_GPUS = "work-without-gpus"
    AGE = "age"
    PREFERRED_SPAN = "preferred-span"
    SPAN = "span"
    BALANCE = "balance"
    SOFT = "soft"
    FRAGMENTATION = "fragmentation"


@dataclass(frozen=True, slots=True)
class Tier:
    """One tier: optimised with those before it held at what they reached.

    Attributes
    ----------
    kind
        What is measured.
    maximise
        Whether more is better.
    unit
        Integer units per reported 1.0.
    priority
        Only jobs of this priority count; None: all.
    level
        Index of the topology level, for span and balance.
    """

    kind: TierKind
    maximise: bool
    unit: int
    priority: int | None = None
    level: int | None = None


@dataclass(frozen=True, slots=True)
class OneDomain:
    """The tasks of these groups must (required) or should (preferred) share a domain of a level."""

    job: int
    groups: tuple[int, ...]
    level: int


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """At most ``most`` tasks of the group per domain, or counts that differ by at most ``skew``.

    ``domains``: ids of the domains over which skew is measured: those with an eligible node.
    """

    group: int
    level: int
    most: int | None
    skew: int | None
    domains: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TargetShape:
    """A set whose number in the leftovers is the fragmentation tier.

    ``nodes`` different nodes in one domain of ``level`` (None: anywhere), each with ``gpus`` idle
    GPUs, and ``demand`` (shape ``[R]``) of the other resources.
    """

    nodes: int
    gpus: int
    demand: IntArray
    level: int | None
    weight: int
    usable: BoolArray  # [N]: nodes that count (ready, not overfull, model matches)


@dataclass(frozen=True, eq=False)
class CompiledProblem:
    """See the module docstring for the axes. Arrays are read-only.

    Attributes
    ----------
    node_names, resource_names, level_names, job_names
        For messages and stable order only.
    free
        ``[N, R]``, what is left of each resource; a slot count without limit is ``UNLIMITED``.
    network_free
        ``[N]`` bit/s left on the NIC, per direction.
    gpu_kind
        ``[N]`` index of the (model, memory) kind of the node's GPUs, -1 without GPUs.
    gpu_kind_capacity
        ``[gpu kinds]`` share units of one GPU; 1000 x memory bytes, divided by what all share.
    idle_gpus
        per node: healthy GPU indices that nobody holds, ascending.
    shared_gpus
        per node: (index, free share units) of GPUs that running tasks share, ascending.
    group_job, group_kind, count_min, count_max
        ``[G]``.
    demand, network, whole_gpus
        ``[K, R]``, ``[K]`` bit/s, ``[K]`` GPUs, of one task.
    share_units
        ``[K, gpu kinds]`` units a task takes of one shared GPU; 0 for tasks without share.
    eligible, fit
        ``[K, N]`` whether a task may sit there; how many fit on the node by themselves (as if
        all of their job sat there: NIC bandwidth does not count).
    soft_cost
        ``[K, N]`` milli-cost of soft preferences per task.
    domain
        ``[L, N]`` domain id per level. A node outside every named domain has an id of its own.
    named
        per level: ``[domains]`` whether the domain has a name (required levels need one).
    job_groups
        per job: its groups.
    priority, intensity, age_weight
        ``[J]``; intensity in thousandths; age_weight per started job, in tier units.
    work_base, work_per_task
        ``[J]`` units when started with the least counts, ``[G]`` per further task of the group.
    has_gpu
        ``[J]`` whether any group takes GPUs.
    gang
        ``[J]`` whether locality counts: more than one task at most, and not unconstrained.
    required, preferred, spread
        Topology rules.
    targets
        Shapes of the fragmentation tier.
    tiers
        In order of importance.
    node_class, job_class
        ``[N]``, ``[J]``: equal numbers cannot be told apart by any rule of this problem (jobs:
        but for their age).
    warnings
        What was noticed and treated as documented (a node that is over its capacity).
    """

    node_names: tuple[str, ...]
    resource_names: tuple[str, ...]
    level_names: tuple[str, ...]
    job_names: tuple[str, ...]
    group_names: tuple[str, ...]
    gpu_models: tuple[str, ...]
    free: IntArray
    network_free: IntArray
    gpu_kind: IntArray
    gpu_kind_capacity: IntArray
    idle_gpus: tuple[tuple[int, ...], ...]
    shared_gpus: tuple[tuple[tuple[int, int], ...], ...]
    group_job: IntArray
    group_kind: IntArray
    count_min: IntArray
    count_max: IntArray
    demand: IntArray
    network: IntArray
    whole_gpus: IntArray
    share_units: IntArray
    eligible: BoolArray
    fit: IntArray
    soft_cost: IntArray
    domain: IntArray
    named: tuple[BoolArray, ...]
    job_groups: tuple[tuple[int, ...], ...]
    priority: IntArray
    intensity: IntArray
    age_weight: IntArray
    work_base: IntArray
    work_per_task: IntArray
    has_gpu: BoolArray
    gang: BoolArray
    required: tuple[OneDomain, ...]
    preferred: tuple[OneDomain, ...]
    spread: tuple[SpreadRule, ...]
    targets: tuple[TargetShape, ...]
    tiers: tuple[Tier, ...]
    node_class: IntArray
    job_class: IntArray
    warnings: tuple[str, ...]

    @property
    def node_count(self) -> int:
        """Number of nodes, ``N``."""
        return len(self.node_names)

    @property
    def job_count(self) -> int:
        """Number of pending jobs, ``J``."""
        return len(self.job_names)

    @property
    def group_count(self) -> int:
        """Number of task groups, ``G``."""
        return len(self.group_job)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a solver decides: how many tasks of each group start on each node.

    Attributes
    ----------
    group, node, count
        ``[entries]`` each, int64, sorted by (group, node); counts are positive. A job none of
        whose groups appears waits.
    """

    group: IntArray
    node: IntArray
    count: IntArray

    @staticmethod
    def of(entries: Sequence[tuple[int, int, int]]) -> "Plan":
        """Make a plan of (group, node, count) triples; zero counts are dropped, doubles added."""
        total: dict[tuple[int, int], int] = {}
        for group, node, count in entries:
            if count:
                total[group, node] = total.get((group, node), 0) + count
        keys = sorted(total)
        return Plan(
            group=np.array([key[0] for key in keys], dtype=np.int64),
            node=np.array([key[1] for key in keys], dtype=np.int64),
            count=np.array([total[key] for key in keys], dtype=np.int64),
        )


EMPTY_PLAN = Plan.of(())
"""Nothing starts."""
