"""Seeded made-up clusters and jobs, as documents that people could have written.

A cluster in use: racks of 8 to 16 nodes with 8 GPUs each, part of every node busy, so that 0 to 8
GPUs are idle here and there; and a mix of pending jobs that asks for about 120 % of what is idle.
"""

import random
from typing import Any

Document = dict[str, Any]

GPUS_PER_NODE = 8
RACKS_PER_BLOCK = 4
DEMAND_PERCENT = 120
"""GPUs that the pending jobs ask for (elastic ones at full size), in percent of the idle GPUs."""

_SHAPES: Document = {
    "h100": {
        "cpu": 192,
        "memory": "2Ti",
        "nvme": "28Ti",
        "network": "3.2Tbps",
        "gpus": {"model": "H100", "memory": "80Gi", "count": GPUS_PER_NODE},
    },
    "a100": {
        "cpu": 128,
        "memory": "1Ti",
        "nvme": "14Ti",
        "network": "1.6Tbps",
        "gpus": {"model": "A100", "memory": "80Gi", "count": GPUS_PER_NODE},
    },
}


def job_count(nodes: int) -> int:
    """Pending jobs for a cluster of this many nodes: 40 for 50, 200 for 500."""
    growth: float = (nodes / 50) ** 0.7
    return round(40 * growth)


def cluster_document(nodes: int, seed: int, *, jobs: int | None = None) -> Document:
    """A whole problem: ``nodes`` nodes, partly busy, and pending jobs.

    Parameters
    ----------
    nodes
        Number of nodes with 8 GPUs each.
    seed
        Same arguments, same document.
    jobs
        Number of pending jobs; None: :func:`job_count`.
    """
    source = random.Random(f"cluster {nodes} {seed}")
    entries = _nodes(source, nodes)
    running, idle = _running(source, entries)
    pending = _jobs(source, job_count(nodes) if jobs is None else jobs, idle)
    return {
        "now": "2026-11-30T12:00:00Z",
        "cluster": {
            "levels": ["block", "rack"],
            "shapes": _SHAPES,
            "nodes": entries,
            "running": running,
        },
        "jobs": pending,
        "policy": {"time_limit": "30s"},
    }


def _nodes(source: random.Random, count: int) -> list[Document]:
    """Nodes rack by rack; a rack has one shape."""
    entries: list[Document] = []
    rack = 0
    while len(entries) < count:
        left = count - len(entries)
        # No rack of fewer than eight, unless the cluster is that small.
        size = left if left <= 16 else min(source.randint(8, 16), left - 8)
        shape = "h100" if rack % 3 != 2 else "a100"
        for _ in range(size):
            entries.append(
                {
                    "name": f"n{len(entries) + 1:04d}",
                    "shape": shape,
                    "domain": f"b{rack // RACKS_PER_BLOCK + 1}/r{rack + 1}",
                }
            )
        rack += 1
    return entries


def _running(source: random.Random, nodes: list[Document]) -> tuple[list[Document], int]:
    """Running jobs of one task each, and the number of GPUs that they leave idle."""
    running: list[Document] = []
    idle_total = 0
    for node in nodes:
        draw = source.random()
        idle = 8 if draw < 0.35 else 0 if draw < 0.55 else source.randint(1, 7)
        idle_total += idle
        busy = GPUS_PER_NODE - idle
        while busy:
            gpus = source.choice([size for size in (1, 2, 4, 8) if size <= busy])
            busy -= gpus
            running.append(_running_job(len(running), node["name"], gpus, 12 * gpus, 96 * gpus))
        if source.random() < 0.3:
            cpu = source.choice([4, 8, 16])
            running.append(_running_job(len(running), node["name"], 0, cpu, 4 * cpu))
    return running, idle_total


def _running_job(number: int, node: str, gpus: int, cpu: int, memory_gib: int) -> Document:
    task: Document = {"node": node, "cpu": cpu, "memory": f"{memory_gib}Gi"}
    if gpus:
        task["gpus"] = gpus
    return {"job": f"run-{number + 1:05d}", "started": "-3h", "duration": "24h", "tasks": [task]}


def _jobs(source: random.Random, count: int, idle_gpus: int) -> list[Document]:
    """The mix: each kind in its share, gangs grown until demand is what it should be."""
    makers = [
        (35, _single),
        (12, _node_gang),
        (13, _small_task_gang),
        (15, _inference),
        (10, _elastic),
        (15, _cpu_only),
    ]
    made: list[Document] = []
    for index in range(count):
        # Shares are kept exactly, not only on average: position in the mix, then shuffled.
        place, make = index * 100 // count, makers[-1][1]
        for percent, maker in makers:
            if place < percent:
                make = maker
                break
            place -= percent
        made.append(make(source))
    source.shuffle(made)
    _grow(source, made, idle_gpus * DEMAND_PERCENT // 100)
    for index, job in enumerate(made):
        job["name"] = f"{job['name']}-{index + 1:03d}"
        job["priority"] = source.choice([0, 0, 0, 1, 1, 2])
        job["submitted"] = f"-{source.randint(1, 48) * 15}m"
        job["duration"] = f"{source.choice([1, 4, 12, 36])}h"
    return made


def _grow(source: random.Random, jobs: list[Document], target_gpus: int) -> None:
    """Add a task to one gang after another until the demand is reached."""
    gangs = [job for job in jobs if job["name"] in ("train", "tune")]
    demand = sum(_gpus(job) for job in jobs)
    while gangs and demand < target_gpus:
        job = source.choice(gangs)
        tasks = job["tasks"][0]
        # Gangs that must share a rack stay below its size, else they would never start.
        most = 8 if job["topology"].get("required") == "rack" else 32
        if tasks["count"] >= most:
            if all(g["tasks"][0]["count"] >= 8 for g in gangs):
                return
            continue
        tasks["count"] += 1
        demand += int(tasks["gpus"])


def _gpus(job: Document) -> int:
    total = 0
    for group in job["tasks"]:
        count = group["count"]["max"] if isinstance(group["count"], dict) else group["count"]
        total += count * int(group.get("gpus", 0))
    return total


def _request(gpus: int, *, cpu_per_gpu: int = 12, memory_per_gpu_gib: int = 96) -> Document:
    return {
        "gpus": gpus,
        "cpu": cpu_per_gpu * gpus,
        "memory": f"{memory_per_gpu_gib * gpus}Gi",
    }


def _single(source: random.Random) -> Document:
    group: Document = {"count": 1, **_request(source.choice([1, 1, 2, 2, 4, 8]))}
    draw = source.random()
    if draw < 0.3:
        group["gpu"] = {"model": ["H100"]}
    elif draw < 0.6:
        group["gpu"] = {"model": ["H100", "A100"]}
    return {"name": "single", "tasks": [group]}


def _node_gang(source: random.Random) -> Document:
    topology: Document = source.choice(
        [
            {"required": "rack"},
            {"required": "rack"},
            {"required": "block", "preferred": "rack"},
            {"preferred": "rack"},
        ]
    )
    group: Document = {"count": 2, **_request(8), "network": "400Gbps"}
    return {"name": "train", "topology": topology, "tasks": [group]}


def _small_task_gang(source: random.Random) -> Document:
    topology: Document = source.choice([{"required": "rack"}, {"preferred": "rack"}])
    group: Document = {
        "count": 2,
        **_request(source.choice([2, 4])),
        "network": "100Gbps",
    }
    return {"name": "tune", "topology": topology, "tasks": [group]}


def _inference(source: random.Random) -> Document:
    spread = source.choice(
        [{"level": "node", "most": 1}, {"level": "node", "most": 2}, {"level": "rack", "most": 2}]
    )
    group: Document = {
        "count": source.choice([2, 3, 4]),
        **_request(source.choice([1, 2]), cpu_per_gpu=8, memory_per_gpu_gib=64),
        "spread": spread,
    }
    return {"name": "serve", "topology": "unconstrained", "tasks": [group]}


def _elastic(source: random.Random) -> Document:
    least = source.choice([1, 2])
    group: Document = {
        "count": {"min": least, "max": least + source.choice([1, 2, 3])},
        **_request(source.choice([1, 2, 4])),
    }
    return {"name": "elastic", "tasks": [group]}


def _cpu_only(source: random.Random) -> Document:
    cpu = source.choice([8, 16, 32])
    group: Document = {
        "count": source.choice([1, 2, 4, 8]),
        "cpu": cpu,
        "memory": f"{cpu * source.choice([2, 4])}Gi",
    }
    return {"name": "prepare", "topology": "unconstrained", "tasks": [group]}
