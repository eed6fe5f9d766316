"""Best fit: each task on the node with the least left of everything."""

import numpy as np
import numpy.typing as npt

from placement.compiled.problem import CompiledProblem, IntArray
from solvers.baselines.one_by_one import NodeRule, OneByOne
from solvers.occupancy import Occupancy


class _Fullest:
    """Least sum of what is left, each resource relative to the largest amount on any node.

    Bin packing's best fit as cluster schedulers generalise it (BestFit in Weng et al., USENIX ATC
    2023, weighs CPU and GPUs alike). What nobody asks for does not count, nor do task slots.
    """

    def __init__(self, problem: CompiledProblem) -> None:
        slots = problem.resource_names.index("slots")
        asked = np.flatnonzero(problem.demand.any(axis=0))
        self._resources = asked[asked != slots]
        largest = problem.free[:, self._resources].max(axis=0, initial=1)
        self._scale = 1.0 / np.maximum(1, largest)
        self._gpu_scale = 1.0 / max((1, *(len(gpus) for gpus in problem.idle_gpus)))

    def choose(self, occupancy: Occupancy, kind: int, nodes: IntArray) -> int:
        # The task takes the same from every node: what is left before it ranks them as well.
        left = occupancy.free[np.ix_(nodes, self._resources)] @ self._scale
        left = left + gpus_left(occupancy, nodes) * self._gpu_scale
        return int(nodes[np.argmin(left)])

    def changed(self, occupancy: Occupancy, node: int) -> None:
        """Nothing is remembered."""


def gpus_left(occupancy: Occupancy, nodes: IntArray) -> npt.NDArray[np.float64]:
    """``[len(nodes)]`` GPUs left on each node, shares as fractions."""
    capacity = np.maximum(1, occupancy.capacity[nodes])
    in_shares: npt.NDArray[np.float64] = occupancy.bins[nodes].sum(axis=1) / capacity
    return occupancy.idle[nodes] + in_shares


class BestFit(OneByOne):
    """The usual packing scheduler."""

    name = "best-fit"

    def rule(self, occupancy: Occupancy) -> NodeRule:
        """The fullest node."""
        return _Fullest(occupancy.problem)
