"""A whole problem, resolved: every name it uses exists, every hostlist is expanded."""

from dataclasses import dataclass

from pydantic import Field

from placement.cluster import Cluster, Node
from placement.model_base import FrozenModel
from placement.policy import Policy
from placement.quantities import TimeUnixSeconds
from placement.workload import Job


class ProblemDocument(FrozenModel):
    """A problem as written; :mod:`placement.resolve` makes a :class:`Problem` of it."""

    now: TimeUnixSeconds | None = Field(default=None, description="instant of the snapshot")
    cluster: Cluster
    jobs: tuple[Job, ...]
    policy: Policy = Policy()


@dataclass(frozen=True, slots=True)
class Problem:
    """A cluster snapshot at one instant, pending jobs, and a policy.

    Attributes
    ----------
    now_unix_s
        The instant of the snapshot, Unix seconds.
    cluster
        The snapshot as written.
    nodes
        Every node with shape and entry merged, in the order written.
    jobs
        Pending jobs, in the order written.
    policy
        How to decide.
    """

    now_unix_s: int
    cluster: Cluster
    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]
    policy: Policy
