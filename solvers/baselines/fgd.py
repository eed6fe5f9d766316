"""FGD: each task on the node where it adds the least fragmentation.

Fragmentation gradient descent, Weng et al., "Beware of Fragmentation", USENIX ATC 2023. The
fragmentation of a node is the GPU capacity on it that a task drawn from the mix cannot use,
in expectation over the mix. Here the mix is that of the pending task groups, the only requests
that a compiled problem knows, and every resource counts when asking whether a task can be hosted.
"""

import numpy as np
import numpy.typing as npt

from placement.compiled.problem import BoolArray, CompiledProblem, IntArray
from solvers.baselines.one_by_one import NodeRule, OneByOne
from solvers.occupancy import Occupancy

FloatArray = npt.NDArray[np.float64]

TYPICAL_SHARE = 0.95
"""The mix is cut after the most frequent kinds that make up this part of the tasks."""


class Mix:
    """Request kinds by how often they are asked for.

    Attributes
    ----------
    kinds
        ``[M]`` the typical kinds.
    weight
        ``[M]`` their frequencies; sum 1 unless there is no kind.
    whole, shared
        ``[M]`` whether the kind takes whole GPUs, a share of one; neither: no GPUs.
    """

    def __init__(self, problem: CompiledProblem) -> None:
        tasks = np.bincount(
            problem.group_kind, weights=problem.count_max, minlength=len(problem.demand)
        )
        order = np.argsort(-tasks, kind="stable")
        total = float(tasks.sum())
        typical = int(np.searchsorted(np.cumsum(tasks[order]), TYPICAL_SHARE * total)) + 1
        self.kinds: IntArray = order[:typical]
        self.weight: FloatArray = tasks[self.kinds] / max(1.0, float(tasks[self.kinds].sum()))
        self.whole: BoolArray = problem.whole_gpus[self.kinds] > 0
        self.shared: BoolArray = ~self.whole & problem.share_units[self.kinds].any(axis=1)


def fragmentation(
    problem: CompiledProblem,
    mix: Mix,
    nodes: IntArray,
    free: IntArray,
    idle: IntArray,
    bins: IntArray,
) -> FloatArray:
    """Expected GPUs on each node that a task of the mix cannot use.

    Parameters
    ----------
    nodes
        ``[n]`` node indices.
    free, idle, bins
        ``[n, R]``, ``[n]``, ``[n, GPUs]``: state of these nodes as in :class:`Occupancy`.

    Returns
    -------
    ndarray
        ``[n]`` GPUs.
    """
    gpu_kind = problem.gpu_kind[nodes]
    capacity = np.ones(len(nodes), dtype=np.int64)
    if len(problem.gpu_kind_capacity):
        capacity = np.where(gpu_kind >= 0, problem.gpu_kind_capacity[gpu_kind], 1)
    # No units at all: a kind of which no request can take a share.
    in_shares = bins / np.maximum(capacity, 1)[:, None]
    all_shares = in_shares.sum(axis=1)
    left = np.where(gpu_kind >= 0, idle + all_shares, 0.0)
    hosts = problem.eligible[np.ix_(mix.kinds, nodes)]  # [M, n]
    for resource, amounts in enumerate(problem.demand[mix.kinds].T):
        hosts = hosts & (free[:, resource] >= amounts[:, None])
    hosts &= (idle >= problem.whole_gpus[mix.kinds][:, None]) & (mix.whole | mix.shared)[:, None]
    unusable = np.broadcast_to(all_shares, hosts.shape)
    if mix.shared.any():
        units = problem.share_units[mix.kinds[mix.shared]][:, gpu_kind, None]  # [shared, n, 1]
        too_small = bins < units
        hosts[mix.shared] &= (idle > 0) | ~too_small.all(axis=2)
        unusable = unusable.copy()
        unusable[mix.shared] = np.where(too_small, in_shares, 0.0).sum(axis=2)
    # A task without GPUs uses none of them: all that is left is lost to it.
    lost: FloatArray = mix.weight @ np.where(hosts, unusable, left)
    return lost


class _LeastFragmentation:
    """Score in whole percent as in the study; ties go to the first node, which matters there."""

    def __init__(self, occupancy: Occupancy) -> None:
        self._problem = occupancy.problem
        self._mix = Mix(occupancy.problem)
        nodes = np.arange(occupancy.problem.node_count, dtype=np.int64)
        self._now = fragmentation(
            self._problem, self._mix, nodes, occupancy.free, occupancy.idle, occupancy.bins
        )

    def choose(self, occupancy: Occupancy, kind: int, nodes: IntArray) -> int:
        problem = self._problem
        free = occupancy.free[nodes] - problem.demand[kind]
        idle = occupancy.idle[nodes] - problem.whole_gpus[kind]
        bins = occupancy.bins[nodes]
        if problem.share_units.shape[1] and problem.share_units[kind].any():
            idle, bins = _with_share(
                problem.share_units[kind][problem.gpu_kind[nodes]],
                occupancy.capacity[nodes],
                idle,
                bins,
            )
        after = fragmentation(problem, self._mix, nodes, free, idle, bins)
        # Rounded, so that a difference of zero scores 50 whatever the order of summation.
        removed = np.clip(np.round(self._now[nodes] - after, 9), -500.0, 500.0)
        score = np.floor(np.round(100.0 / (1.0 + np.exp(-removed)), 9))
        return int(nodes[np.argmax(score)])

    def changed(self, occupancy: Occupancy, node: int) -> None:
        one = np.array([node], dtype=np.int64)
        self._now[node] = fragmentation(
            self._problem,
            self._mix,
            one,
            occupancy.free[one],
            occupancy.idle[one],
            occupancy.bins[one],
        )[0]


def _with_share(
    units: IntArray, capacity: IntArray, idle: IntArray, bins: IntArray
) -> tuple[IntArray, IntArray]:
    """Idle GPUs and bins after one more share, put where :class:`Occupancy` puts it."""
    rows = np.arange(len(units))
    able = bins >= units[:, None]
    fullest = np.where(able, bins, np.iinfo(np.int64).max).argmin(axis=1)
    shared = able.any(axis=1)
    empty = (bins == 0).argmax(axis=1)
    position = np.where(shared, fullest, empty)
    bins = bins.copy()
    bins[rows, position] = np.where(shared, bins[rows, position], capacity) - units
    return idle - ~shared, bins


class Fgd(OneByOne):
    """Fragmentation gradient descent."""

    name = "fgd"

    def rule(self, occupancy: Occupancy) -> NodeRule:
        """The node that the task fragments least."""
        return _LeastFragmentation(occupancy)
