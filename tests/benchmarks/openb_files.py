"""Tiny traces in the format of the real ones, written by the tests themselves."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.openb.trace import Arrivals, Node, Pod, Trace


def node(sn: str, cpu: int = 64_000, memory: int = 1000, gpus: int = 2, model: str = "T4") -> Node:
    return Node(sn, cpu, memory, gpus, model)


def pod(
    name: str, cpu: int = 1000, memory: int = 10, gpus: int = 1, milli: int = 1000, models: str = ""
) -> Pod:
    listed = tuple(models.split("|")) if models else ()
    return Pod(name, cpu, memory, gpus, milli if gpus else 0, listed)


def trace(nodes: Sequence[Node], pods: Sequence[Pod]) -> Trace:
    return Trace("tiny", tuple(nodes), tuple(pods))


def in_order(trace: Trace, ranks: Sequence[int] | None = None, seed: int = 7) -> Arrivals:
    """Every pod once, as listed; nodes ranked as listed unless told otherwise."""
    return Arrivals(
        seed, np.arange(len(trace.pods)), np.array(ranks or range(len(trace.nodes)), dtype=np.int64)
    )


def write_trace(directory: Path, trace: Trace) -> None:
    nodes = [
        f"{n.sn},{n.cpu_millicores},{n.memory_mib},{n.gpu_count},{n.model}" for n in trace.nodes
    ]
    pods = [
        f"{p.name},{p.cpu_millicores},{p.memory_mib},{p.gpu_count},{p.gpu_milli},"
        + "|".join(p.models)
        for p in trace.pods
    ]
    write_lines(
        directory / "openb_node_list_gpu_node.csv", "sn,cpu_milli,memory_mib,gpu,model", *nodes
    )
    write_lines(
        directory / f"openb_pod_list_{trace.name}.csv",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec",
        *pods,
    )


def write_arrivals(path: Path, trace: Trace, arrivals: Sequence[Arrivals]) -> None:
    arrays: dict[str, Any] = {
        f"{trace.name}/{run.seed}/{key}": array.astype(np.uint16)
        for run in arrivals
        for key, array in (("seq", run.pods), ("rank", run.node_ranks))
    }
    np.savez(path, **arrays)


def write_lines(path: Path, *lines: str) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
