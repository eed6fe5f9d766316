"""Scores worked out by hand, GPUs within a node, and ties."""

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.openb.cluster import Cluster, NodeState, Placement
from benchmarks.openb.fragmentation import usual_pods
from benchmarks.openb.pods import PodKinds, pod_kinds
from benchmarks.openb.policies import (
    BASELINES,
    BestFit,
    DotProd,
    Fgd,
    GpuClustering,
    GpuPacking,
    Scorer,
    policy_factory,
)
from benchmarks.openb.trace import Pod
from tests.benchmarks.openb_files import in_order, node, pod, trace

CPU_ONLY = pod("c", cpu=8000, gpus=0)
SHARE = pod("s", cpu=4000, milli=300)
WHOLE = pod("w", cpu=4000)
PAIR = pod("x", cpu=16_000, gpus=2)
KINDS = pod_kinds(trace([node("n1")], [CPU_ONLY, SHARE, WHOLE, PAIR]))
TAG = dict(zip("cswx", KINDS.tag[KINDS.of_pod].tolist(), strict=True))


def state(gpus: Sequence[int], cpu: int = 64_000, tags: int = 0) -> NodeState:
    return NodeState(cpu, 1000, np.array(gpus), 0, tags)


def scores(scorer: Scorer, node: NodeState, kinds: PodKinds = KINDS) -> list[int]:
    """In the order of the trace's pods."""
    return [int(score) for score in scorer.scores(node)[kinds.of_pod]]


def test_best_fit_scores_what_is_left() -> None:
    # 0.5 x left cpu / 128000 + 0.5 x left gpu / 8000, from 100 down, truncated:
    # c: .21875 + .125    s: .234375 + .10625    w: .234375 + .0625    x: .1875 + 0
    assert scores(BestFit(KINDS), state([1000, 1000])) == [65, 65, 70, 81]


def test_dotprod_prefers_the_small_product() -> None:
    # cpu: .5 x pod cpu / 128000; gpu: .25 x pod gpu / 8000; 100 x (1 - half their sum):
    # c: .03125    s: .015625 + .009375    w: .015625 + .03125    x: .0625 + .0625
    assert scores(DotProd(KINDS), state([1000, 1000])) == [98, 98, 97, 93]


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([1000, 1000], [0, 31, 31, 31]),  # idle node: 33 - 2
        ([1000] * 8, [0, 25, 25, 25]),  # 33 - 8
        ([1000, 459, 1000], [0, 96, 49, 48]),  # used GPU: 100 - 45 / 10; idle ones: 50 - number
        ([1000, 299, 1000], [0, 49, 49, 48]),  # 299 is too little for 300
    ],
)
def test_gpu_packing_prefers_used_gpus_then_used_nodes(
    gpus: list[int], expected: list[int]
) -> None:
    assert scores(GpuPacking(KINDS), state(gpus)) == expected


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", [0, 43, 43, 43]),  # floor(25 x 6000 / 8000) = 18, and 25 for a node without GPU pods
        ("s", [0, 93, 18, 18]),
        ("w", [0, 18, 93, 18]),
        ("wx", [0, 18, 68, 68]),
    ],
)
def test_gpu_clustering_prefers_pods_of_the_same_use(tags: str, expected: list[int]) -> None:
    bits = sum(TAG[tag] for tag in tags)
    assert scores(GpuClustering(KINDS), state([1000, 700, 300], tags=bits)) == expected


def fgd(pods: Sequence[Pod]) -> tuple[Fgd, PodKinds]:
    """The usual pods are the first: nineteen of twenty."""
    tiny = trace([node("n1")], [*pods, *[pods[0]] * (20 * len(pods))])
    kinds = pod_kinds(tiny)
    usual = usual_pods(tiny, kinds.model_names)
    assert usual.share.tolist() == [1.0]
    return Fgd(kinds, usual), kinds


def test_fgd_scores_the_fragmentation_removed() -> None:
    pods = [pod("u", milli=500), pod("a", milli=600), pod("b"), pod("c", cpu=63_500, gpus=0)]
    scorer, kinds = fgd(pods)
    # One idle GPU has no fragment for 500. Taking 500 or all leaves none; taking 600 leaves 400
    # that are none of use: 100 / (1 + e^0.4) = 40.1. The pod without GPU leaves no CPU for the
    # usual pod, so all 1000 are lost: 100 / (1 + e^1) = 26.9.
    assert scores(scorer, state([1000]), kinds)[:4] == [50, 40, 50, 26]


def test_fgd_takes_the_gpu_that_scores_best_not_the_tightest() -> None:
    scorer, kinds = fgd([pod("u", milli=500), pod("a", milli=100)])
    kind = int(kinds.of_pod[1])
    node = state([600, 500])
    # Leaves 500 (of use) or, on the tightest, 400 (of none).
    assert scores(scorer, node, kinds)[1] == 50
    assert scorer.gpu_for_share(node, kind) == 0
    assert BestFit(kinds).gpu_for_share(node, kind) == 1


def test_fgd_uses_up_a_fragment() -> None:
    scorer, kinds = fgd([pod("u", milli=500), pod("a", milli=300)])
    node = state([1000, 400])
    # 400 to 100 removes 0.3 GPU of fragments: 100 / (1 + e^-0.3) = 57.4.
    assert scores(scorer, node, kinds)[1] == 57
    assert scorer.gpu_for_share(node, int(kinds.of_pod[1])) == 1


def test_fgd_sees_no_difference_below_a_point_and_takes_the_first_gpu() -> None:
    scorer, kinds = fgd([pod("u", milli=500), pod("a", milli=100)])
    # Leaves 20 more or 30 more of no use on GPU 1 or 2: both score 49; so does neither better.
    node = state([510, 520, 530])
    after = [scorer.gpu_for_share(state(gpus), int(kinds.of_pod[1])) for gpus in ([510], [520])]
    assert after == [0, 0]
    assert scorer.gpu_for_share(node, int(kinds.of_pod[1])) == 0


def test_fgd_score_without_change_is_fifty_for_every_rounding_of_the_sum() -> None:
    """The same state before and after gives exactly 0, so never 49."""
    pods = [pod(f"p{n}", cpu=1000 * n, milli=70 * n) for n in range(1, 14)]
    pods.append(pod("z", cpu=0, gpus=0))
    tiny = trace([node("n1")], pods)
    kinds = pod_kinds(tiny)
    scorer = Fgd(kinds, usual_pods(tiny, kinds.model_names))
    for gpus in ([1000, 1000], [333, 777], [10, 990, 450]):
        assert scores(scorer, state(gpus), kinds)[-1] == 50


def first_placement(policy: str, ranks: list[int]) -> Placement | None:
    tiny = trace([node("n1"), node("n2"), node("n3")], [SHARE])
    kinds = pod_kinds(tiny)
    cluster = Cluster(tiny, kinds, in_order(tiny, ranks))
    placement = policy_factory(policy, tiny, kinds)(cluster, 7).decide(0)
    return placement and Placement(int(cluster.order[placement.node]), placement.gpus)


@pytest.mark.parametrize("policy", [name for name in BASELINES if name != "random"])
def test_of_nodes_that_score_alike_the_lowest_rank_wins(policy: str) -> None:
    assert first_placement(policy, [1, 2, 0]) == Placement(2, (0,))
    assert first_placement(policy, [2, 0, 1]) == Placement(1, (0,))


@pytest.mark.parametrize("policy", BASELINES)
def test_a_pod_that_fits_nowhere_is_dropped(policy: str) -> None:
    tiny = trace(
        [node("n1"), node("n2", model="G2", gpus=1)],
        [
            pod("cpu", cpu=64_001),
            pod("mem", memory=1001),
            pod("model", models="A10"),
            pod("pair", gpus=2, models="G2"),
        ],
    )
    kinds = pod_kinds(tiny)
    chosen = policy_factory(policy, tiny, kinds)(Cluster(tiny, kinds, in_order(tiny)), 7)
    assert [chosen.decide(kind) for kind in range(kinds.size)] == [None] * 4


def test_random_gives_each_node_and_gpu_a_chance_and_repeats_with_its_seed() -> None:
    tiny = trace([node("n1"), node("n2")], [SHARE])
    kinds = pod_kinds(tiny)

    def draws(seed: int) -> list[Placement | None]:
        policy = policy_factory("random", tiny, kinds)(Cluster(tiny, kinds, in_order(tiny)), seed)
        return [policy.decide(0) for _ in range(60)]

    assert set(draws(1)) == {Placement(n, (g,)) for n in range(2) for g in range(2)}
    assert draws(1) == draws(1) != draws(2)


def test_an_unknown_policy_is_named() -> None:
    tiny = trace([node("n1")], [SHARE])
    with pytest.raises(ValueError, match="no policy 'best'"):
        policy_factory("best", tiny, pod_kinds(tiny))
