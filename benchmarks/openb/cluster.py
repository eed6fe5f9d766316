"""What is free on each node while a replay runs."""

from dataclasses import dataclass

import numpy as np

from benchmarks.openb.pods import BoolArray, PodKinds
from benchmarks.openb.trace import GPU_MILLI, Arrivals, IntArray, Trace


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one pod goes.

    Attributes
    ----------
    node
        Position of the node in the cluster: its rank.
    gpus
        Indices of its GPUs, ascending; empty for a pod without GPUs.
    """

    node: int
    gpus: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class NodeState:
    """One node at one moment; what a policy may look at.

    Attributes
    ----------
    cpu, memory
        Free millicores and MiB.
    gpus
        ``[GPUs of the node]`` free thousandths of each.
    model
        Index of the model of its GPUs.
    tags
        Bits of the ways (``PodKinds.tag``) in which the pods on it use GPUs.
    """

    cpu: int
    memory: int
    gpus: IntArray
    model: int
    tags: int

    def fits(self, kinds: PodKinds) -> BoolArray:
        """``[K]`` whether one more pod of each kind fits."""
        return self.gpus_fit(kinds) & (kinds.cpu <= self.cpu) & (kinds.memory <= self.memory)

    def gpus_fit(self, kinds: PodKinds) -> BoolArray:
        """``[K]`` whether the GPUs suffice and are of a model the kind may run on."""
        enough = self.gpus >= kinds.milli[:, np.newaxis]
        fit: BoolArray = np.count_nonzero(enough, axis=1) >= kinds.count
        # A pod without GPUs lists no models, so it is allowed everywhere.
        return fit & kinds.allowed[:, self.model]


class Cluster:
    """Free resources of all nodes, in the order of their ranks.

    The order makes the study's rule for ties (lowest rank wins) that of ``argmax``.

    Parameters
    ----------
    trace
        Nodes.
    kinds
        The pods that will come.
    arrivals
        Gives the ranks.

    Attributes
    ----------
    kinds
        As given.
    order
        ``[nodes]`` index into ``Trace.nodes`` of the node at each position.
    cpu, memory
        ``[nodes]`` free millicores and MiB.
    """

    def __init__(self, trace: Trace, kinds: PodKinds, arrivals: Arrivals) -> None:
        self.kinds = kinds
        self.order: IntArray = np.argsort(arrivals.node_ranks)
        nodes = [trace.nodes[index] for index in self.order]
        self.cpu: IntArray = np.array([node.cpu_millicores for node in nodes], dtype=np.int64)
        self.memory: IntArray = np.array([node.memory_mib for node in nodes], dtype=np.int64)
        self._gpus: list[IntArray] = [
            np.full(node.gpu_count, GPU_MILLI, dtype=np.int64) for node in nodes
        ]
        self._models = [kinds.model_names.index(node.model) for node in nodes]
        self._tags = [0] * len(nodes)

    def __len__(self) -> int:
        return len(self._gpus)

    def node(self, position: int) -> NodeState:
        """Look at one node. The arrays are the cluster's own: read, do not write or keep them."""
        return NodeState(
            cpu=int(self.cpu[position]),
            memory=int(self.memory[position]),
            gpus=self._gpus[position],
            model=self._models[position],
            tags=self._tags[position],
        )

    def take(self, kind: int, placement: Placement) -> None:
        """Place one pod.

        Parameters
        ----------
        kind
            Its kind.
        placement
            Where.

        Raises
        ------
        ValueError
            The placement is not legal: the benchmark trusts no policy.
        """
        position, gpus = placement.node, list(placement.gpus)
        kinds = self.kinds
        free = self._gpus[position]
        legal = (
            len(set(gpus)) == len(gpus) == kinds.count[kind]
            and all(0 <= gpu < len(free) for gpu in gpus)
            and kinds.allowed[kind, self._models[position]]
            and kinds.cpu[kind] <= self.cpu[position]
            and kinds.memory[kind] <= self.memory[position]
            and bool((free[gpus] >= kinds.milli[kind]).all())
        )
        if not legal:
            raise ValueError(f"a pod of kind {kind} does not fit as in {placement}")
        self.cpu[position] -= kinds.cpu[kind]
        self.memory[position] -= kinds.memory[kind]
        free[gpus] -= kinds.milli[kind]
        self._tags[position] |= int(kinds.tag[kind])
