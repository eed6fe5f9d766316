"""The ceiling is never below what can be placed, and close to it where it can be worked out."""

import itertools
import random
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from benchmarks.openb.bounds import load_ceiling, trace_ceiling
from benchmarks.openb.ceiling import Ceiling, NodeShapes, PodClasses, allocation_ceiling
from benchmarks.openb.pods import pod_kinds
from benchmarks.openb.trace import Arrivals
from tests.benchmarks.openb_files import node, pod, trace

NodeShape = tuple[int, int, int, int]  # cpu, memory, GPUs, how many
PodClass = tuple[int, int, int, int, int]  # cpu, memory, GPUs, thousandths, how many


def shapes_of(shapes: Sequence[NodeShape], allowed: list[list[bool]]) -> NodeShapes:
    cpu, memory, gpu_count, count = np.array(shapes, dtype=np.int64).T
    return NodeShapes(cpu, memory, gpu_count, count, np.array(allowed))


def ceiling(
    shapes: Sequence[NodeShape],
    classes: Sequence[PodClass],
    allowed: list[list[bool]] | None = None,
    time_limit_s: float = 60.0,
) -> Ceiling:
    everywhere = [[True] * len(classes) for _ in shapes]
    return allocation_ceiling(
        shapes_of(shapes, allowed or everywhere),
        PodClasses(*np.array(classes, dtype=np.int64).T),
        time_limit_s=time_limit_s,
    )


@pytest.mark.parametrize(
    ("shape", "classes", "bound"),
    [
        # Three shares of 0.6 on two GPUs: one each.
        ((99, 99, 2, 1), [(1, 1, 1, 600, 3)], 1200),
        # CPU for one pod only.
        ((10, 99, 2, 1), [(6, 1, 1, 1000, 9)], 1000),
        # No more than there are pods.
        ((99, 99, 8, 5), [(1, 1, 4, 1000, 3)], 12_000),
        # Shares beside a pod on several GPUs: 0.8 and 0.2 fill the third.
        ((99, 99, 3, 1), [(1, 1, 2, 1000, 1), (1, 1, 1, 800, 1), (1, 1, 1, 200, 9)], 3000),
        # 0.7 + 0.3 needs the CPU of both; with 9 cores one GPU is filled, the other holds 0.7.
        ((9, 99, 2, 1), [(4, 1, 1, 700, 9), (1, 1, 1, 300, 1)], 1700),
        # Pods without GPUs play no part.
        ((10, 99, 1, 1), [(10, 1, 0, 1000, 9), (10, 1, 1, 500, 1)], 500),
    ],
)
def test_the_ceiling_is_exact_where_a_node_decides(
    shape: NodeShape, classes: list[PodClass], bound: int
) -> None:
    assert ceiling([shape], classes).bound_milli == bound


def test_half_nodes_are_allowed_so_the_ceiling_may_lie_above() -> None:
    # One node takes two pods of 3 of its 8 cores; over three nodes no third pod fits anywhere, but
    # a class that exists once may be spread: 0.5 node each. Never more than exist.
    result = ceiling([(8, 99, 4, 3)], [(3, 1, 1, 1000, 99), (8, 1, 4, 1000, 1)])
    assert result.bound_milli == 2000 * 2 + 4000


def test_models_keep_pods_off_shapes() -> None:
    shapes = [(99, 99, 1, 1), (99, 99, 1, 1)]
    classes = [(1, 1, 1, 1000, 2)]
    assert ceiling(shapes, classes).bound_milli == 2000
    assert ceiling(shapes, classes, allowed=[[True], [False]]).bound_milli == 1000


def test_memory_is_priced_and_configurations_fit_it() -> None:
    # By memory one pod fits; the price of memory bounds it by 1666, without it 2000.
    result = ceiling([(99, 10, 2, 1)], [(1, 6, 1, 1000, 2)])
    assert 1000 <= result.bound_milli <= 1666
    assert [dict(used.tasks) for used in result.configurations] == [{0: 1}]
    # Where memory cuts nothing off, it does not loosen the bound.
    assert ceiling([(99, 12, 2, 1)], [(1, 6, 1, 1000, 9)]).bound_milli == 2000
    assert ceiling([(99, 10, 2, 3)], [(1, 5, 1, 1000, 9), (1, 9, 1, 1000, 9)]).bound_milli == 6000


def test_without_time_the_ceiling_is_what_is_there_or_asked_for() -> None:
    assert ceiling([(1, 1, 2, 3)], [(9, 9, 1, 1000, 99)], time_limit_s=0.0).bound_milli == 6000
    assert ceiling([(1, 1, 2, 3)], [(9, 9, 1, 1000, 2)], time_limit_s=0.0).bound_milli == 2000


def test_configurations_fit_and_use_no_more_than_there_is() -> None:
    shapes: list[NodeShape] = [(96, 300, 8, 4), (16, 120, 2, 7)]
    classes: list[PodClass] = [
        (12, 49, 1, 1000, 20),
        (8, 30, 1, 470, 9),
        (4, 15, 1, 320, 30),
        (60, 200, 4, 1000, 2),
        (2, 60, 1, 1000, 20),
    ]
    result = ceiling(shapes, classes)
    value = [pod_class[2] * pod_class[3] for pod_class in classes]
    reached = 0.0
    used_pods = [0.0] * len(classes)
    used_nodes = [0.0] * len(shapes)
    for configuration in result.configurations:
        cpu, memory, gpus, _ = shapes[configuration.shape]
        assert sum(classes[k][0] * n for k, n in configuration.tasks.items()) <= cpu
        assert sum(classes[k][1] * n for k, n in configuration.tasks.items()) <= memory
        assert sum(value[k] * n for k, n in configuration.tasks.items()) <= 1000 * gpus
        used_nodes[configuration.shape] += configuration.weight
        for k, n in configuration.tasks.items():
            used_pods[k] += n * configuration.weight
            reached += value[k] * n * configuration.weight
    assert all(used <= shapes[s][3] + 1e-6 for s, used in enumerate(used_nodes))
    assert all(used <= classes[k][4] + 1e-6 for k, used in enumerate(used_pods))
    assert reached == pytest.approx(result.reached_milli)
    assert result.bound_milli >= int(result.reached_milli)


def test_parts_of_several_gpus_are_refused() -> None:
    with pytest.raises(ValueError, match="whole GPUs or a part of one"):
        ceiling([(1, 1, 1, 1)], [(1, 1, 2, 500, 1)])


def test_memory_may_be_in_bytes() -> None:
    gib = 2**30
    assert ceiling([(99, 12 * gib, 2, 1)], [(1, 6 * gib, 1, 1000, 9)]).bound_milli == 2000
    within = ceiling([(99, 10 * gib, 2, 1)], [(1, 6 * gib, 1, 1000, 2)])
    assert 1000 <= within.bound_milli <= 1667


def most(
    nodes: list[list[int]], gpus: list[list[int]], pods: list[tuple[int, int, int, int]]
) -> int:
    """The most that can be placed, by trying everything."""
    if not pods:
        return 0
    (cpu, memory, count, milli), *rest = pods
    best = most(nodes, gpus, rest)
    for index, free in enumerate(nodes):
        if free[0] < cpu or free[1] < memory:
            continue
        seen = set()
        for chosen in itertools.combinations(range(len(gpus[index])), count):
            left = list(gpus[index])
            for gpu in chosen:
                left[gpu] -= milli
            state = tuple(sorted(left))
            if min(left, default=0) < 0 or state in seen:
                continue
            seen.add(state)
            new_nodes = [*nodes[:index], [free[0] - cpu, free[1] - memory], *nodes[index + 1 :]]
            new_gpus = [*gpus[:index], left, *gpus[index + 1 :]]
            best = max(best, count * milli + most(new_nodes, new_gpus, rest))
    return best


@pytest.mark.parametrize("seed", range(25))
def test_no_placement_of_a_random_small_case_exceeds_the_ceiling(seed: int) -> None:
    draw = random.Random(seed)
    shapes = [
        (draw.randint(4, 12), draw.randint(4, 12), gpus, 1) for gpus in draw.sample([1, 2, 3], 2)
    ]
    classes = [
        (
            draw.randint(0, 6),
            draw.randint(0, 6),
            count,
            1000 if count == 2 else draw.choice([250, 300, 450, 700, 1000]),
            draw.randint(1, 2),
        )
        for count in draw.choices([1, 2], [3, 1], k=4)
    ]
    pods = [pod_class[:4] for pod_class in classes for _ in range(pod_class[4])]
    optimum = most([[s[0], s[1]] for s in shapes], [[1000] * s[2] for s in shapes], pods)
    bound = ceiling(shapes, classes).bound_milli
    assert optimum <= bound
    assert bound <= min(sum(c[2] * c[3] * c[4] for c in classes), 1000 * sum(s[2] for s in shapes))


@pytest.mark.parametrize("seed", range(25))
def test_for_one_node_and_any_number_of_pods_the_ceiling_is_the_fullest_node(seed: int) -> None:
    draw = random.Random(seed)
    cpu, gpus = draw.randint(4, 14), draw.randint(1, 3)
    requests = [
        (draw.randint(1, 6), count, 1000 if count > 1 else draw.choice([230, 350, 440, 610, 1000]))
        for count in draw.choices([1, 2, 3], [4, 1, 1], k=5)
    ]

    @cache
    def fullest(cpu: int, gpus: tuple[int, ...]) -> int:
        best = 0
        for pod_cpu, count, milli in requests:
            for chosen in itertools.combinations(range(len(gpus)), count):
                left = [free - milli * (gpu in chosen) for gpu, free in enumerate(gpus)]
                if pod_cpu <= cpu and min(left) >= 0:
                    rest = fullest(cpu - pod_cpu, tuple(sorted(left)))
                    best = max(best, count * milli + rest)
        return best

    classes = [(pod_cpu, 0, count, milli, 99) for pod_cpu, count, milli in requests]
    result = ceiling([(cpu, 0, gpus, 1)], classes)
    assert result.bound_milli == fullest(cpu, (1000,) * gpus)


def test_the_ceiling_of_a_trace_is_in_percent_rounded_up() -> None:
    # Three nodes of one GPU: 0.7 each out of 3 GPUs, and one whole.
    tiny = trace(
        [node("n1", gpus=1), node("n2", gpus=1), node("n3", gpus=1, model="G2")],
        [pod("a", milli=700, models="T4"), *[pod("b", milli=700)] * 3, pod("c", gpus=0)],
    )
    assert trace_ceiling(tiny, pod_kinds(tiny)) == 70.0
    tiny = trace([node("n1", gpus=3)], [pod("a"), pod("c", gpus=0)])
    assert trace_ceiling(tiny, pod_kinds(tiny)) == 33.3334


def test_the_ceiling_at_a_load_covers_every_moment_of_its_bin() -> None:
    # 100 GPUs; the bin of 100 percent is reached with 99.5 < asked < 100.5 GPUs: after the arrival
    # of the last whole GPU (100) and of the share after it (100.4).
    tiny = trace([node("n1", gpus=100)], [pod("a"), pod("b", milli=400)])
    kinds = pod_kinds(tiny)
    arrivals = Arrivals(7, np.array([0] * 100 + [1] + [0] * 3), np.array([0]))
    # 64 cores let 64 pods of one core in at any moment.
    assert load_ceiling(tiny, kinds, arrivals, 100) == 64.0
    assert load_ceiling(tiny, kinds, arrivals, 90) == 64.0
    assert load_ceiling(tiny, kinds, arrivals, 40) == 40.0
    assert load_ceiling(tiny, kinds, arrivals, 200) is None
