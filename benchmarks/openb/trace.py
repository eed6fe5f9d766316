"""The trace as it is in the files: nodes, pods, recorded arrival orders, published figures."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

GPU_MILLI = 1000
"""Thousandths of one GPU."""

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Node:
    """A machine.

    Attributes
    ----------
    sn
        Its name.
    cpu_millicores, memory_mib, gpu_count
        What it has.
    model
        The model of its GPUs.
    """

    sn: str
    cpu_millicores: int
    memory_mib: int
    gpu_count: int
    model: str


@dataclass(frozen=True, slots=True)
class Pod:
    """A request for part of one node.

    Attributes
    ----------
    name
        Its name, unique within a trace.
    cpu_millicores, memory_mib
        What it takes of the node.
    gpu_count
        On how many GPUs it runs.
    gpu_milli
        Thousandths it takes of each of them; below 1000 only with one GPU; 0 without GPUs.
    models
        GPU models it may run on, as the trace lists them (repeats included); empty: any.
    """

    name: str
    cpu_millicores: int
    memory_mib: int
    gpu_count: int
    gpu_milli: int
    models: tuple[str, ...] = ()

    @property
    def gpu_milli_total(self) -> int:
        """Thousandths of a GPU over all GPUs it takes."""
        return self.gpu_count * self.gpu_milli


@dataclass(frozen=True, slots=True)
class Trace:
    """Nodes and pods of one trace.

    Attributes
    ----------
    name
        As in the file names, e.g. ``default``.
    nodes
        Sorted by ``sn``.
    pods
        Sorted by ``name``; recorded arrivals point into this order.
    """

    name: str
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]

    @property
    def gpu_capacity_milli(self) -> int:
        """Thousandths of a GPU over all nodes."""
        return GPU_MILLI * sum(node.gpu_count for node in self.nodes)


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """One recorded run of the study.

    Attributes
    ----------
    seed
        The study's seed.
    pods
        ``[arrivals]`` index into ``Trace.pods``; a pod may come several times (as copies) or never.
    node_ranks
        ``[nodes]`` rank of each of ``Trace.nodes``; of nodes of equal score the lowest wins.
    """

    seed: int
    pods: IntArray
    node_ranks: IntArray


@dataclass(frozen=True, slots=True)
class Published:
    """Figures of the study for one trace and policy, in percent of all GPUs.

    Attributes
    ----------
    allocation, allocation_at_130
        Mean over the study's ten seeds, with 100 % and 130 % of the GPUs asked for.
    """

    allocation: float
    allocation_at_130: float


def read_trace(directory: Path, name: str) -> Trace:
    """Read ``openb_node_list_gpu_node.csv`` and ``openb_pod_list_<name>.csv``.

    Times in the pod list are not read: in this experiment pods never leave.

    Parameters
    ----------
    directory
        Folder with the files.
    name
        Name of the trace.

    Raises
    ------
    ValueError
        A value is missing, negative or not an integer, or a pod asks for parts of several GPUs.
    """
    nodes = [
        Node(
            sn=_text(row, "sn"),
            cpu_millicores=_count(row, "cpu_milli"),
            memory_mib=_count(row, "memory_mib"),
            gpu_count=_count(row, "gpu"),
            model=row.get("model") or "",
        )
        for row in _rows(directory / "openb_node_list_gpu_node.csv")
    ]
    pods = [_pod(row) for row in _rows(directory / f"openb_pod_list_{name}.csv")]
    return Trace(
        name=name,
        nodes=tuple(sorted(nodes, key=lambda node: node.sn)),
        pods=tuple(sorted(pods, key=lambda pod: pod.name)),
    )


def read_arrivals(path: Path, trace: Trace, seed: int) -> Arrivals:
    """Read one recorded arrival order.

    Parameters
    ----------
    path
        ``.npz`` with arrays ``<trace>/<seed>/seq`` and ``<trace>/<seed>/rank``.
    trace
        The trace the order belongs to.
    seed
        Which order.

    Raises
    ------
    ValueError
        There is no such order, or it does not fit the trace.
    """
    with np.load(path) as recorded:
        prefix = f"{trace.name}/{seed}"
        if f"{prefix}/seq" not in recorded.files:
            raise ValueError(f"{path}: no arrivals for trace {trace.name!r} and seed {seed}")
        pods = recorded[f"{prefix}/seq"].astype(np.int64)
        ranks = recorded[f"{prefix}/rank"].astype(np.int64)
    if pods.size and not (pods.min() >= 0 and pods.max() < len(trace.pods)):
        raise ValueError(f"{path}: {prefix}/seq names pods that trace {trace.name!r} has not")
    if not np.array_equal(np.sort(ranks), np.arange(len(trace.nodes))):
        raise ValueError(f"{path}: {prefix}/rank does not order the {len(trace.nodes)} nodes")
    return Arrivals(seed=seed, pods=pods, node_ranks=ranks)


def read_published(path: Path) -> Mapping[tuple[str, str], Published]:
    """Read published figures.

    Parameters
    ----------
    path
        CSV with columns trace, policy (``NN-Name``), allocation_at_100, allocation_at_130.

    Returns
    -------
    Mapping[tuple[str, str], Published]
        By trace and policy; the policy as this benchmark names it.
    """
    return {
        (row["trace"], _policy_name(row["policy"])): Published(
            allocation=float(row["allocation_at_100"]),
            allocation_at_130=float(row["allocation_at_130"]),
        )
        for row in _rows(path)
    }


def _policy_name(published: str) -> str:
    """``05-BestFit`` to ``best-fit``: hyphens between words of the study's names."""
    _, _, name = published.partition("-")
    return {
        "DotProd": "dotprod",
        "GpuClustering": "gpu-clustering",
        "GpuPacking": "gpu-packing",
        "BestFit": "best-fit",
    }.get(name, name.lower())


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _pod(row: dict[str, str]) -> Pod:
    gpu_count = _count(row, "num_gpu")
    # Pods without GPUs carry shares and models in some files; they mean nothing there.
    gpu_milli = _count(row, "gpu_milli") if gpu_count else 0
    models = row.get("gpu_spec") or "" if gpu_count else ""
    pod = Pod(
        name=_text(row, "name"),
        cpu_millicores=_count(row, "cpu_milli"),
        memory_mib=_count(row, "memory_mib"),
        gpu_count=gpu_count,
        gpu_milli=gpu_milli,
        models=tuple(models.split("|")) if models else (),
    )
    whole = pod.gpu_milli == GPU_MILLI
    share = pod.gpu_count == 1 and 0 < pod.gpu_milli < GPU_MILLI
    if pod.gpu_count and not (whole or share):
        raise ValueError(
            f"pod {pod.name}: {pod.gpu_milli} thousandths on each of {pod.gpu_count} GPUs; "
            "a pod takes whole GPUs or a part of one"
        )
    return pod


def _text(row: dict[str, str], column: str) -> str:
    value = row.get(column) or ""
    if not value:
        raise ValueError(f"no {column} in {row}")
    return value


def _count(row: dict[str, str], column: str) -> int:
    text = row.get(column) or ""
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{column} {text!r} is not an integer in {row}") from None
    if value < 0:
        raise ValueError(f"{column} {value} is negative in {row}")
    return value
