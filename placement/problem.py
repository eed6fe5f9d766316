"""A whole problem, resolved: every name it uses exists, every hostlist is expanded."""

from collections.abc import Mapping
from dataclasses import dataclass

from placement.cluster import Cluster, Node
from placement.policy import Policy
from placement.workload import Job


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
