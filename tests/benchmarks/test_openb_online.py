"""The replay against a slow second implementation, and what it reports."""

import math
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.openb.cluster import Cluster, Placement
from benchmarks.openb.metrics import allocation_at, bin_members
from benchmarks.openb.online import replay, run_one
from benchmarks.openb.pods import pod_kinds
from benchmarks.openb.policies import BASELINES, policy_factory
from benchmarks.openb.trace import Arrivals, Node, Pod, Trace
from tests.benchmarks.openb_files import in_order, node, pod, trace

# ------------------------------------------------------------ slow implementation of the rules


class SlowNode:
    def __init__(self, node: Node) -> None:
        self.cpu, self.memory, self.model = node.cpu_millicores, node.memory_mib, node.model
        self.gpus = [1000] * node.gpu_count
        self.uses: set[str] = set()

    def fits(self, pod: Pod) -> bool:
        return (
            pod.cpu_millicores <= self.cpu
            and pod.memory_mib <= self.memory
            and (not pod.models or self.model in pod.models)
            and sum(left >= pod.gpu_milli for left in self.gpus) >= pod.gpu_count
        )

    def ways(self, pod: Pod) -> list[tuple[int, ...]]:
        """Choices of GPUs; idle GPUs are taken from the first."""
        if not pod.gpu_count:
            return [()]
        fitting = [gpu for gpu, left in enumerate(self.gpus) if left >= pod.gpu_milli]
        if pod.gpu_milli == 1000:
            return [tuple(fitting[: pod.gpu_count])]
        return [(gpu,) for gpu in fitting]


def use(pod: Pod) -> str:
    return "share" if pod.gpu_milli < 1000 else str(pod.gpu_count)


def slow_fragmentation(
    usual: list[tuple[tuple[int, int, int, str], float]], cpu: int, gpus: list[int], model: str
) -> float:
    sums = dict.fromkeys(("q1", "q2", "q4", "xl", "xr", "na"), 0.0)
    for (pod_cpu, milli, count, spec), share in usual:
        amount = sum(gpus)
        gpu_fits = sum(left >= milli for left in gpus) >= count
        if not count:
            bucket = "xl" if cpu >= pod_cpu else "xr"
        elif spec and model not in spec.split("|"):
            bucket = "na"
        elif gpu_fits and cpu >= pod_cpu:
            bucket, amount = "q2", sum(left for left in gpus if left < milli)
        elif gpu_fits:
            bucket = "q4"
        else:
            bucket = "q2" if cpu >= pod_cpu else "q1"
        sums[bucket] += share * amount
    total = 0.0
    for amount_of_bucket in sums.values():
        total += amount_of_bucket
    return total


def slow_usual(pods: Sequence[Pod]) -> list[tuple[tuple[int, int, int, str], float]]:
    counts = Counter((p.cpu_millicores, p.gpu_milli, p.gpu_count, "|".join(p.models)) for p in pods)
    ordered = sorted(counts, key=lambda request: (counts[request], request), reverse=True)
    size = next(n for n in range(1, 999) if sum(counts[r] for r in ordered[:n]) >= 0.95 * len(pods))
    covered = sum(counts[request] for request in ordered[:size]) / len(pods)
    return [
        (request, counts[request] / len(pods) / (1 if size == len(ordered) else covered))
        for request in ordered[:size]
    ]


def slow_choice(
    policy: str, node: SlowNode, pod: Pod, usual: list[tuple[tuple[int, int, int, str], float]]
) -> tuple[int, tuple[int, ...]]:
    """Score and GPUs."""
    asked, left = pod.gpu_milli_total, sum(node.gpus)
    tightest = min(node.ways(pod), key=lambda way: [node.gpus[gpu] for gpu in way])
    if policy == "best-fit":
        rest = (node.cpu - pod.cpu_millicores) / 128000 * 0.5 + (left - asked) / 8000 * 0.5
        return int((1.0 - rest) * 100), tightest
    if policy == "dotprod":
        product = node.cpu / 128000 * (pod.cpu_millicores / 128000) + left / 8000 * (asked / 8000)
        return int(100 * (1 - product / 2)), tightest
    if policy == "gpu-packing":
        if not pod.gpu_count:
            return 0, ()
        if node.gpus.count(1000) == len(node.gpus):
            return max(33 - len(node.gpus), len(node.gpus)), tightest
        idle = sum(node.gpus[gpu] == 1000 for gpu in tightest)
        if idle:
            return max(50 - idle, 33), tightest
        return max(100 - sum(node.gpus[gpu] * 100 // 1000 for gpu in tightest) // 10, 50), tightest
    if policy == "gpu-clustering":
        if not pod.gpu_count:
            return 0, ()
        if use(pod) in node.uses:
            like = 75 if len(node.uses) == 1 else 50
        else:
            like = 0 if node.uses else 25
        return 25 * (8000 - left) // 8000 + like, tightest
    before = slow_fragmentation(usual, node.cpu, node.gpus, node.model)
    best: tuple[int, tuple[int, ...]] = (-1, ())
    for way in node.ways(pod):
        gpus = [free - (pod.gpu_milli if gpu in way else 0) for gpu, free in enumerate(node.gpus)]
        after = slow_fragmentation(usual, node.cpu - pod.cpu_millicores, gpus, node.model)
        score = int(100 / (1 + math.exp(-(before - after) / 1000)))
        if score > best[0]:
            best = score, way
    return best


def slow_replay(
    trace: Trace, arrivals: Arrivals, policy: str
) -> list[tuple[int, tuple[int, ...]] | None]:
    """Index into ``trace.nodes`` and GPUs."""
    nodes = [SlowNode(n) for n in trace.nodes]
    by_rank = sorted(range(len(nodes)), key=lambda index: int(arrivals.node_ranks[index]))
    usual = slow_usual(trace.pods)
    placed: list[tuple[int, tuple[int, ...]] | None] = []
    for index in arrivals.pods.tolist():
        pod = trace.pods[index]
        best: tuple[int, int, tuple[int, ...]] | None = None
        for candidate in by_rank:
            if nodes[candidate].fits(pod):
                score, gpus = slow_choice(policy, nodes[candidate], pod, usual)
                if best is None or score > best[0]:
                    best = score, candidate, gpus
        placed.append(best and best[1:])
        if best:
            chosen = nodes[best[1]]
            chosen.cpu -= pod.cpu_millicores
            chosen.memory -= pod.memory_mib
            for gpu in best[2]:
                chosen.gpus[gpu] -= pod.gpu_milli
            if pod.gpu_count:
                chosen.uses.add(use(pod))
    return placed


def random_case(seed: int) -> tuple[Trace, Arrivals]:
    draw = random.Random(seed)
    models = ["T4", "G2", "P100"]
    shapes = [
        (draw.choice([16_000, 64_000, 96_000]), draw.choice([100, 400]), gpus, draw.choice(models))
        for gpus in (1, 2, 4, 8)
    ]
    nodes = [Node(f"n{index}", *draw.choice(shapes)) for index in range(draw.randint(3, 9))]
    requests = [
        (
            draw.choice([1000, 4000, 8152, 11_908]),
            draw.choice([0, 10, 40]),
            count,
            1000 if count > 1 else draw.choice([50, 220, 470, 810, 1000]) if count else 0,
            tuple(draw.sample(models, draw.randint(1, 2))) if count and draw.random() < 0.3 else (),
        )
        for count in draw.choices([0, 1, 2, 4, 8], [2, 8, 2, 1, 1], k=9)
    ]
    pods = [Pod(f"p{index:03}", *draw.choice(requests)) for index in range(80)]
    arrivals = Arrivals(
        seed,
        np.array(draw.choices(range(len(pods)), k=90)),
        np.array(draw.sample(range(len(nodes)), len(nodes))),
    )
    return Trace("drawn", tuple(nodes), tuple(pods)), arrivals


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("policy", [name for name in BASELINES if name != "random"])
def test_every_decision_is_that_of_the_slow_implementation(policy: str, seed: int) -> None:
    drawn, arrivals = random_case(seed)
    kinds = pod_kinds(drawn)
    course = replay(drawn, kinds, arrivals, policy_factory(policy, drawn, kinds))
    order = np.argsort(arrivals.node_ranks).tolist()
    decisions = [
        (order[placement.node], placement.gpus) if placement else None
        for placement in course.placements
    ]
    assert decisions == slow_replay(drawn, arrivals, policy)
    assert None in decisions


# ------------------------------------------------------------------------------------ the replay


def test_dropped_pods_count_as_arrived_and_never_come_back() -> None:
    # n1: one GPU. The second pod of 600 is dropped though the first two arrivals leave 400.
    tiny = trace([node("n1", gpus=1)], [pod("a", milli=600), pod("b", milli=400)])
    kinds = pod_kinds(tiny)
    arrivals = Arrivals(7, np.array([0, 0, 1, 1]), np.array([0]))
    course = replay(tiny, kinds, arrivals, policy_factory("best-fit", tiny, kinds))
    assert course.arrived_milli.tolist() == [600, 1200, 1600, 2000]
    assert course.allocated_milli.tolist() == [600, 600, 1000, 1000]
    assert course.placements == [Placement(0, (0,)), None, Placement(0, (0,)), None]


def test_a_policy_that_overfills_a_node_is_found_out() -> None:
    class Stubborn:
        def __init__(self, cluster: Cluster, seed: int) -> None:
            pass

        def decide(self, kind: int) -> Placement | None:
            return Placement(0, (0,))

        def placed(self, kind: int, placement: Placement) -> None:
            pass

    tiny = trace([node("n1")], [pod("a", milli=600), pod("b", milli=600)])
    with pytest.raises(ValueError, match="does not fit"):
        replay(tiny, pod_kinds(tiny), in_order(tiny), Stubborn)


@pytest.mark.parametrize(
    ("asked", "gpus"),
    [
        (pod("a", cpu=2000), (0,)),
        (pod("a", memory=2000), (0,)),
        (pod("a", models="G2"), (0,)),
        (pod("a", gpus=2), (0,)),
        (pod("a", gpus=2), (1, 1)),
        (pod("a"), (2,)),
        (pod("a"), ()),
    ],
)
def test_a_cluster_takes_no_illegal_placement(asked: Pod, gpus: tuple[int, ...]) -> None:
    tiny = trace([node("n1", cpu=1000, memory=1000)], [asked])
    cluster = Cluster(tiny, pod_kinds(tiny), in_order(tiny))
    with pytest.raises(ValueError, match="does not fit"):
        cluster.take(0, Placement(0, gpus))


# ------------------------------------------------------------------------------------ the measure


def test_a_bin_holds_the_arrivals_whose_load_rounds_to_it() -> None:
    arrived = np.array([994, 995, 996, 1000, 1004, 1005, 1006])  # halves go to the even percent
    assert bin_members(arrived, 1000, 100).tolist() == [1, 2, 3, 4, 5]


def test_allocation_is_the_mean_over_the_bin() -> None:
    arrived = np.array([500, 996, 1004, 1300])
    allocated = np.array([500, 900, 908, 1000])
    assert allocation_at(arrived, allocated, 1000, 100) == pytest.approx(90.4)
    assert allocation_at(arrived, allocated, 1000, 130) == pytest.approx(100.0)
    assert allocation_at(arrived, allocated, 1000, 120) is None


def test_a_run_reports_both_loads_and_each_decision() -> None:
    # Two GPUs; 1000, 2000 and 2600 asked for: 50, 100 and 130 percent.
    tiny = trace(
        [node("n1", gpus=1), node("n2", gpus=1)],
        [pod("a"), pod("b", models="G2"), pod("c", milli=600)],
    )
    kinds = pod_kinds(tiny)
    outcome = run_one(
        tiny,
        kinds,
        in_order(tiny, ranks=[1, 0]),
        "fgd",
        policy_factory("fgd", tiny, kinds),
        keep_decisions=True,
    )
    assert (outcome.trace, outcome.mode, outcome.policy, outcome.seed) == (
        "tiny",
        "online",
        "fgd",
        7,
    )
    assert (outcome.allocation, outcome.allocation_at_130) == (50.0, 80.0)
    assert outcome.ceiling is None
    assert [(d.arrival, d.pod, d.node, d.gpus) for d in outcome.decisions] == [
        (0, "a", "n2", (0,)),
        (1, "b", "", ()),
        (2, "c", "n1", (0,)),
    ]
