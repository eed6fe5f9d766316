"""The six policies of the study, and the seam for others.

A policy scores the nodes that fit with integers; the highest score wins, ties go to the lowest
rank. The study's scheduler truncates scores to 0..100 and breaks ties by rank, and both matter:
without them FGD allocates several percent less, so a comparison would be with a straw man.
"""

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from benchmarks.openb.cluster import Cluster, NodeState, Placement
from benchmarks.openb.fragmentation import FloatArray, UsualPods, usual_pods
from benchmarks.openb.pods import PodKinds
from benchmarks.openb.trace import GPU_MILLI, IntArray, Trace

MAX_CPU_MILLICORES = 128_000
"""The study's scale for CPU."""

MAX_GPU_MILLI = 8_000
"""The study's scale for GPUs."""

MAX_SCORE = 100

_UNFIT = -1
_Scores = npt.NDArray[np.int16]


class Policy(Protocol):
    """Decides one arrival after the other, in one cluster."""

    def decide(self, kind: int) -> Placement | None:
        """Where to place a pod of this kind; None: drop it. Changes nothing."""

    def placed(self, kind: int, placement: Placement) -> None:
        """Told after a placement has been carried out."""


class PolicyFactory(Protocol):
    """What is the same for all runs over one trace; holds caches."""

    def __call__(self, cluster: Cluster, seed: int) -> Policy:
        """Begin a run in an empty cluster."""


POLICIES: Mapping[str, str] = MappingProxyType(
    {
        "random": "benchmarks.openb.policies:random_factory",
        "dotprod": "benchmarks.openb.policies:dotprod_factory",
        "gpu-clustering": "benchmarks.openb.policies:gpu_clustering_factory",
        "gpu-packing": "benchmarks.openb.policies:gpu_packing_factory",
        "best-fit": "benchmarks.openb.policies:best_fit_factory",
        "fgd": "benchmarks.openb.policies:fgd_factory",
        "engine": "benchmarks.openb.engine:engine_factory",
    }
)
"""Name to ``module:function``; the function takes trace and kinds and returns a `PolicyFactory`.

Imported when used, so that the baselines run without what the others need.
"""

BASELINES = tuple(name for name in POLICIES if name != "engine")
"""The policies of the study."""


def policy_factory(name: str, trace: Trace, kinds: PodKinds) -> PolicyFactory:
    """Look a policy up by name.

    Raises
    ------
    ValueError
        There is none of this name, or its module is absent.
    """
    if name not in POLICIES:
        raise ValueError(f"no policy {name!r}; there are: {', '.join(POLICIES)}")
    module_name, _, function = POLICIES[name].partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        raise ValueError(f"policy {name!r}: there is no module {module_name}") from None
    make = cast("Callable[[Trace, PodKinds], PolicyFactory]", getattr(module, function))
    return make(trace, kinds)


class Scorer(Protocol):
    """A rule for nodes and GPUs, told only the state of one node."""

    uses_tags: bool
    """Whether scores depend on ``NodeState.tags``."""

    def scores(self, node: NodeState) -> IntArray:
        """``[K]`` score of the node for each kind; anything where GPUs or CPU do not fit."""

    def gpu_for_share(self, node: NodeState, kind: int) -> int:
        """Which GPU of the node a pod that takes a share gets."""


class ScoredPolicy:
    """Highest score wins; ties go to the lowest rank.

    Keeps the scores of all nodes for all kinds and renews one node's after each placement: an
    arrival then costs one ``argmax``. Nodes in equal states share one computation through
    ``known``, which outlives the run.

    Parameters
    ----------
    cluster
        The cluster.
    scorer
        The rule.
    known
        Scores by state of the node; filled here.
    """

    def __init__(self, cluster: Cluster, scorer: Scorer, known: dict[bytes, _Scores]) -> None:
        self._cluster = cluster
        self._scorer = scorer
        self._known = known
        self._scores: _Scores = np.empty((cluster.kinds.size, len(cluster)), dtype=np.int16)
        for position in range(len(cluster)):
            self._renew(position)

    def decide(self, kind: int) -> Placement | None:
        """See `Policy`."""
        row = self._scores[kind]
        position = int(row.argmax())
        if row[position] == _UNFIT:
            return None
        node = self._cluster.node(position)
        return Placement(position, _gpus(self._cluster.kinds, kind, node, self._scorer))

    def placed(self, kind: int, placement: Placement) -> None:
        """See `Policy`."""
        self._renew(placement.node)

    def _renew(self, position: int) -> None:
        node = self._cluster.node(position)
        key = (
            np.array([node.model, node.cpu, node.tags if self._scorer.uses_tags else 0]).tobytes()
            + np.sort(node.gpus).tobytes()
        )
        scores = self._known.get(key)
        if scores is None:
            scores = self._scorer.scores(node).astype(np.int16)
            self._known[key] = scores
        self._scores[:, position] = np.where(node.fits(self._cluster.kinds), scores, _UNFIT)


def _gpus(kinds: PodKinds, kind: int, node: NodeState, scorer: Scorer) -> tuple[int, ...]:
    count = int(kinds.count[kind])
    if not count:
        return ()
    if kinds.milli[kind] < GPU_MILLI:
        return (scorer.gpu_for_share(node, kind),)
    return _first_idle(node, count)


def _first_idle(node: NodeState, count: int) -> tuple[int, ...]:
    return tuple(np.flatnonzero(node.gpus == GPU_MILLI)[:count].tolist())


def _scored(scorer: Scorer) -> PolicyFactory:
    known: dict[bytes, _Scores] = {}

    def start(cluster: Cluster, seed: int) -> Policy:
        return ScoredPolicy(cluster, scorer, known)

    return start


class _TightestGpu:
    """GPU with the least left that suffices; the first of equals."""

    uses_tags = False

    def __init__(self, kinds: PodKinds) -> None:
        self.kinds = kinds

    def gpu_for_share(self, node: NodeState, kind: int) -> int:
        enough = node.gpus >= self.kinds.milli[kind]
        return int(np.where(enough, node.gpus, GPU_MILLI + 1).argmin())


class BestFit(_TightestGpu):
    """Prefers nodes with the least CPU and GPU left afterwards."""

    def scores(self, node: NodeState) -> IntArray:
        """See `Scorer`."""
        left: FloatArray = (node.cpu - self.kinds.cpu) / MAX_CPU_MILLICORES * 0.5
        left = left + (int(node.gpus.sum()) - self.kinds.total_milli) / MAX_GPU_MILLI * 0.5
        return _truncated((1.0 - left) * MAX_SCORE)


class DotProd(_TightestGpu):
    """Prefers nodes whose free resources, as a vector, have the smallest product with the pod's."""

    def scores(self, node: NodeState) -> IntArray:
        """See `Scorer`."""
        cpu = (node.cpu / MAX_CPU_MILLICORES) * (self.kinds.cpu / MAX_CPU_MILLICORES)
        gpu = (int(node.gpus.sum()) / MAX_GPU_MILLI) * (self.kinds.total_milli / MAX_GPU_MILLI)
        return _truncated(MAX_SCORE * (1.0 - (cpu + gpu) / 2.0))


class GpuPacking(_TightestGpu):
    """Prefers GPUs in use, then idle GPUs of nodes in use, then idle nodes."""

    def scores(self, node: NodeState) -> IntArray:
        """See `Scorer`."""
        kinds = self.kinds
        size = len(node.gpus)
        if bool((node.gpus == GPU_MILLI).all()):
            return np.where(kinds.count > 0, max(MAX_SCORE // 3 - size, size), 0)
        # The fitting GPUs with the least left: for a share the tightest one, else idle ones.
        enough = node.gpus >= kinds.milli[:, np.newaxis]
        tightest = np.where(enough, node.gpus, GPU_MILLI).min(axis=1)
        idle_used = np.where(tightest == GPU_MILLI, kinds.count, 0)
        on_idle = np.maximum(MAX_SCORE // 2 - idle_used, MAX_SCORE // 3)
        on_used = np.maximum(MAX_SCORE - tightest * 100 // GPU_MILLI // 10, MAX_SCORE // 2)
        score = np.where(idle_used > 0, on_idle, on_used)
        return np.where(kinds.count > 0, score, 0)


class GpuClustering(_TightestGpu):
    """Prefers nodes whose pods use GPUs in the same way: as shares, one by one, by twos, ..."""

    uses_tags = True

    def scores(self, node: NodeState) -> IntArray:
        """See `Scorer`."""
        kinds = self.kinds
        quarter = MAX_SCORE // 4
        fullness = quarter * (MAX_GPU_MILLI - int(node.gpus.sum())) // MAX_GPU_MILLI
        if node.tags == 0:
            like = np.full(kinds.size, quarter)
        else:
            like = np.where(kinds.tag & node.tags, 2 * quarter, 0)
            like = np.where(kinds.tag == node.tags, 3 * quarter, like)
        return np.where(kinds.tag > 0, fullness + like, 0)


class Fgd:
    """Prefers what adds the least fragmentation, in steps of about 0.04 GPU.

    Parameters
    ----------
    kinds
        The pods that will come.
    usual
        By which fragmentation is measured.
    """

    uses_tags = False

    def __init__(self, kinds: PodKinds, usual: UsualPods) -> None:
        self._kinds = kinds
        self._usual = usual
        # Memory does not enter the score: one computation per request without its memory.
        requests = list(zip(kinds.cpu, kinds.count, kinds.milli, kinds.models, strict=True))
        distinct = list(dict.fromkeys(requests))
        position = {request: index for index, request in enumerate(distinct)}
        self._distinct_of_kind = np.array([position[request] for request in requests])
        first = np.array([requests.index(request) for request in distinct])
        shares = (kinds.milli[first] > 0) & (kinds.milli[first] < GPU_MILLI)
        self._shares, self._others = first[shares], first[~shares]
        self._target = np.concatenate([np.flatnonzero(shares), np.flatnonzero(~shares)])

    def scores(self, node: NodeState) -> IntArray:
        """See `Scorer`."""
        kinds = self._kinds
        fits = node.gpus_fit(kinds) & (kinds.cpu <= node.cpu)
        # Shares: one state for each different amount left on a GPU that suffices.
        amounts, examples = np.unique(node.gpus, return_index=True)
        which, amount = np.nonzero(
            (amounts >= kinds.milli[self._shares, np.newaxis]) & fits[self._shares, np.newaxis]
        )
        share_gpus = np.repeat(node.gpus[np.newaxis, :], len(which), axis=0)
        share_gpus[np.arange(len(which)), examples[amount]] -= kinds.milli[self._shares[which]]
        # Whole GPUs, or none: one state each, since idle GPUs are alike.
        others = np.flatnonzero(fits[self._others])
        idle_before = np.cumsum(node.gpus == GPU_MILLI) - 1
        idle_before = np.where(node.gpus == GPU_MILLI, idle_before, len(node.gpus))
        taken = idle_before < kinds.count[self._others[others], np.newaxis]
        other_gpus = np.where(taken, 0, node.gpus)

        used = np.concatenate([self._shares[which], self._others[others]])
        result: IntArray = np.zeros(len(self._target), dtype=np.int64)
        if used.size:
            after = np.concatenate([share_gpus, other_gpus])
            score = self._score(node, node.cpu - kinds.cpu[used], after)
            slots = np.concatenate([which, others + len(self._shares)])
            np.maximum.at(result, self._target[slots], score)
        of_kinds: IntArray = result[self._distinct_of_kind]
        return of_kinds

    def gpu_for_share(self, node: NodeState, kind: int) -> int:
        """See `Scorer`: the first GPU with the best score."""
        milli = self._kinds.milli[kind]
        candidates = np.flatnonzero(node.gpus >= milli)
        after = np.repeat(node.gpus[np.newaxis, :], len(candidates), axis=0)
        after[np.arange(len(candidates)), candidates] -= milli
        cpu = np.full(len(candidates), node.cpu - self._kinds.cpu[kind])
        return int(candidates[self._score(node, cpu, after).argmax()])

    def _score(self, node: NodeState, cpu: IntArray, gpus: IntArray) -> IntArray:
        """``[S]`` score of each state that a placement could leave the node in."""
        states_cpu = np.concatenate([[node.cpu], cpu])
        states_gpus = np.concatenate([node.gpus[np.newaxis, :], gpus])
        amount = self._usual.fragmentation(states_cpu, states_gpus, node.model)
        removed = (amount[0] - amount[1:]) / GPU_MILLI
        return _truncated(1.0 / (1.0 + np.exp(-removed)) * MAX_SCORE)


class Random:
    """A node that fits and a GPU that fits, each with equal chance.

    The study's own sequence cannot be repeated (it depends on the order in which threads finish):
    results agree in distribution only.

    Parameters
    ----------
    cluster
        The cluster.
    seed
        Of this run.
    """

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._random = np.random.default_rng(seed)
        self._fits = np.stack(
            [cluster.node(position).fits(cluster.kinds) for position in range(len(cluster))], axis=1
        )

    def decide(self, kind: int) -> Placement | None:
        """See `Policy`."""
        positions = np.flatnonzero(self._fits[kind])
        if not positions.size:
            return None
        position = int(self._random.choice(positions))
        node = self._cluster.node(position)
        kinds = self._cluster.kinds
        count, milli = int(kinds.count[kind]), int(kinds.milli[kind])
        if not count:
            return Placement(position, ())
        if milli < GPU_MILLI:
            gpu = int(self._random.choice(np.flatnonzero(node.gpus >= milli)))
            return Placement(position, (gpu,))
        return Placement(position, _first_idle(node, count))

    def placed(self, kind: int, placement: Placement) -> None:
        """See `Policy`."""
        node = self._cluster.node(placement.node)
        self._fits[:, placement.node] = node.fits(self._cluster.kinds)


def random_factory(trace: Trace, kinds: PodKinds) -> PolicyFactory:
    """`Random`."""
    return Random


def dotprod_factory(trace: Trace, kinds: PodKinds) -> PolicyFactory:
    """`DotProd`."""
    return _scored(DotProd(kinds))


def gpu_clustering_factory(trace: Trace, kinds: PodKinds) -> PolicyFactory:
    """`GpuClustering`."""
    return _scored(GpuClustering(kinds))


def gpu_packing_factory(trace: Trace, kinds: PodKinds) -> PolicyFactory:
    """`GpuPacking`."""
    return _scored(GpuPacking(kinds))


def best_fit_factory(trace: Trace, kinds: PodKinds) -> PolicyFactory:
    """`BestFit`."""
    return _scored(BestFit(kinds))


def fgd_factory(trace: Trace, kinds: PodKinds) -> PolicyFactory:
    """`Fgd`, with the usual pods of the trace."""
    return _scored(Fgd(kinds, usual_pods(trace, kinds.model_names)))


def _truncated(values: FloatArray) -> IntArray:
    """Towards zero, as the study's scheduler does."""
    return values.astype(np.int64)
