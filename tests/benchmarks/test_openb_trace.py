"""Files become nodes, pods, arrival orders and published figures, or an error that says why not."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.openb.pods import pod_kinds
from benchmarks.openb.trace import (
    Arrivals,
    Pod,
    Published,
    read_arrivals,
    read_published,
    read_trace,
)
from tests.benchmarks.openb_files import node, pod, trace, write_arrivals, write_lines, write_trace

NODES = "sn,cpu_milli,memory_mib,gpu,model"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos"


def write(directory: Path, *pods: str) -> None:
    write_lines(directory / "openb_node_list_gpu_node.csv", NODES, "n1,8000,10,1,T4")
    write_lines(directory / "openb_pod_list_tiny.csv", PODS, *pods)


def test_nodes_and_pods_are_sorted_by_name(tmp_path: Path) -> None:
    write_trace(
        tmp_path,
        trace([node("n2", gpus=4, model="G2"), node("n1")], [pod("p2"), pod("p1", milli=300)]),
    )
    read = read_trace(tmp_path, "tiny")
    assert read.nodes == (node("n1"), node("n2", gpus=4, model="G2"))
    assert read.pods == (pod("p1", milli=300), pod("p2"))
    assert read.gpu_capacity_milli == 6000


def test_a_list_of_models_is_kept_as_written(tmp_path: Path) -> None:
    write(tmp_path, "p1,1000,5,1,500,V100M32|T4|V100M32,LS")
    (read,) = read_trace(tmp_path, "tiny").pods
    assert read == Pod("p1", 1000, 5, 1, 500, ("V100M32", "T4", "V100M32"))


def test_a_pod_without_gpus_has_neither_share_nor_models(tmp_path: Path) -> None:
    write(tmp_path, "p1,1000,5,0,700,T4,LS")
    (read,) = read_trace(tmp_path, "tiny").pods
    assert read == Pod("p1", 1000, 5, 0, 0, ())


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("p1,1000,5,2,500,,LS", "500 thousandths on each of 2 GPUs"),
        ("p1,1000,5,1,0,,LS", "0 thousandths on each of 1 GPUs"),
        ("p1,1000,5,1,1001,,LS", "1001 thousandths"),
        ("p1,many,5,1,500,,LS", "cpu_milli 'many' is not an integer"),
        ("p1,-1,5,1,500,,LS", "cpu_milli -1 is negative"),
        (",1000,5,1,500,,LS", "no name"),
    ],
)
def test_a_pod_that_makes_no_sense_is_refused(tmp_path: Path, row: str, message: str) -> None:
    write(tmp_path, row)
    with pytest.raises(ValueError, match=message):
        read_trace(tmp_path, "tiny")


def test_arrivals_are_read_by_trace_and_seed(tmp_path: Path) -> None:
    tiny = trace([node("n1"), node("n2")], [pod("p1"), pod("p2")])
    recorded = Arrivals(42, np.array([1, 0, 1]), np.array([1, 0]))
    write_arrivals(tmp_path / "a.npz", tiny, [recorded])
    read = read_arrivals(tmp_path / "a.npz", tiny, 42)
    assert (read.seed, read.pods.tolist(), read.node_ranks.tolist()) == (42, [1, 0, 1], [1, 0])
    with pytest.raises(ValueError, match="no arrivals for trace 'tiny' and seed 43"):
        read_arrivals(tmp_path / "a.npz", tiny, 43)


@pytest.mark.parametrize(
    ("pods", "ranks", "message"),
    [([0, 2], [0, 1], "names pods"), ([0], [0, 0], "does not order the 2 nodes")],
)
def test_arrivals_of_another_trace_are_refused(
    tmp_path: Path, pods: list[int], ranks: list[int], message: str
) -> None:
    tiny = trace([node("n1"), node("n2")], [pod("p1"), pod("p2")])
    write_arrivals(tmp_path / "a.npz", tiny, [Arrivals(42, np.array(pods), np.array(ranks))])
    with pytest.raises(ValueError, match=message):
        read_arrivals(tmp_path / "a.npz", tiny, 42)


def test_published_figures_are_found_under_the_names_used_here(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "published.csv",
        "trace,policy,allocation_at_100,allocation_at_130",
        "default,01-Random,86.30,87.47",
        "default,05-BestFit,92.86,93.08",
        "default,06-FGD,95.23,95.39",
    )
    published = read_published(tmp_path / "published.csv")
    assert set(published) == {("default", name) for name in ("random", "best-fit", "fgd")}
    assert published["default", "fgd"] == Published(allocation=95.23, allocation_at_130=95.39)


def test_pods_alike_in_all_they_ask_for_are_one_kind() -> None:
    pods = [
        pod("p1", milli=500),
        pod("p2", milli=500),
        pod("p3", milli=500, memory=11),
        pod("p4", milli=500, models="G2"),
        pod("p5", gpus=0),
        pod("p6", gpus=2),
    ]
    kinds = pod_kinds(trace([node("n1"), node("n2", model="G2")], pods))
    assert kinds.size == 5
    assert kinds.of_pod[0] == kinds.of_pod[1]
    assert len(set(kinds.of_pod.tolist())) == 5
    assert kinds.total_milli[kinds.of_pod].tolist() == [500, 500, 500, 500, 0, 2000]
    assert kinds.model_names == ("G2", "T4")
    assert kinds.allowed[kinds.of_pod[3]].tolist() == [True, False]
    tags = kinds.tag[kinds.of_pod].tolist()
    assert tags[0] == tags[3] != tags[5]
    assert tags[4] == 0
