"""The usual pods of a trace, and the free GPU they cannot use."""

import numpy as np
import pytest

from benchmarks.openb.fragmentation import BUCKETS, UsualPods, usual_pods
from benchmarks.openb.trace import Pod
from tests.benchmarks.openb_files import node, pod, trace


def usual(*pods: Pod) -> UsualPods:
    tiny = trace([node("n1"), node("n2", model="G2")], pods)
    return usual_pods(tiny, ("G2", "T4"))


def waste(classes: UsualPods, cpu: int, gpus: list[int], model: int = 1) -> dict[str, float]:
    amounts = classes.waste(np.array([cpu]), np.array([gpus]), model)[0].tolist()
    return {bucket: amount for bucket, amount in zip(BUCKETS, amounts, strict=True) if amount}


def test_rare_classes_beyond_95_percent_do_not_count() -> None:
    classes = usual(*[pod("a")] * 80, *[pod("b", milli=500)] * 15, *[pod("c", milli=200)] * 5)
    assert classes.milli.tolist() == [1000, 500]
    assert classes.share == pytest.approx([80 / 95, 15 / 95])


def test_equally_frequent_classes_come_with_more_cpu_first_then_share_gpus_and_models() -> None:
    classes = usual(
        pod("a", cpu=1000, gpus=1),
        pod("b", cpu=1000, gpus=2),
        pod("c", cpu=2000, milli=300),
        pod("d", cpu=1000, milli=400),
        pod("e", cpu=1000, models="T4"),
        pod("f", cpu=1000, models="G2|T4"),
    )
    order = list(zip(classes.cpu, classes.milli, classes.count, strict=True))
    assert order == [(2000, 300, 1)] + [(1000, 1000, 2)] + [(1000, 1000, 1)] * 3 + [(1000, 400, 1)]
    assert classes.allowed[2:5].tolist() == [[False, True], [True, True], [True, True]]


def test_memory_makes_no_difference_between_classes() -> None:
    classes = usual(pod("a", memory=1), pod("b", memory=2))
    assert classes.share.tolist() == [1.0]


@pytest.mark.parametrize(
    ("cpu", "gpus", "expected"),
    [
        (4000, [1000, 400], {"lacks gpu": 400}),  # fits: the small rest is of no use
        (4000, [400, 300], {"lacks gpu": 700}),
        (3999, [1000, 400], {"lacks cpu": 1400}),
        (3999, [400, 300], {"lacks cpu and gpu": 700}),
        (3999, [0, 0], {}),
    ],
)
def test_a_share_finds_cpu_or_gpu_lacking(
    cpu: int, gpus: list[int], expected: dict[str, float]
) -> None:
    assert waste(usual(pod("a", cpu=4000, milli=500)), cpu, gpus) == expected


def test_several_gpus_must_each_suffice() -> None:
    classes = usual(pod("a", gpus=2))
    assert waste(classes, 4000, [1000, 999]) == {"lacks gpu": 1999}
    assert waste(classes, 4000, [1000, 999, 1000]) == {"lacks gpu": 999}


def test_no_gpu_is_of_use_to_a_pod_without_gpus_or_of_another_model() -> None:
    cpu_only = usual(pod("a", cpu=4000, gpus=0))
    assert waste(cpu_only, 4000, [1000]) == {"no gpu, cpu fits": 1000}
    assert waste(cpu_only, 3999, [1000]) == {"no gpu": 1000}
    elsewhere = usual(pod("a", models="G2"))
    assert waste(elsewhere, 4000, [1000], model=1) == {"no access": 1000}
    assert waste(elsewhere, 4000, [1000], model=0) == {}


def test_fragmentation_is_the_expectation_over_the_classes() -> None:
    classes = usual(*[pod("a")] * 3, pod("b", gpus=0))
    assert waste(classes, 4000, [600, 1000]) == {"lacks gpu": 450, "no gpu, cpu fits": 400}
    total = classes.fragmentation(np.array([4000, 0]), np.array([[600, 1000], [0, 0]]), 1)
    assert total.tolist() == [850, 0]
