"""Random problems small enough to try every plan."""

import random
from typing import Any

Document = dict[str, Any]


def small_document(seed: int) -> Document:
    """A problem of 2 to 4 nodes and 1 to 4 jobs that uses every rule and tier now and then."""
    source = random.Random(seed)
    nodes = [_node(source, index) for index in range(source.randint(2, 4))]
    document: Document = {
        "now": "2026-11-30T12:00:00Z",
        "cluster": {
            "levels": ["block", "rack"],
            "shapes": {"a": _shape(source, "A"), "b": _shape(source, "B")},
            "nodes": nodes,
            "running": [_running(source, index, nodes) for index in range(source.randint(0, 2))],
        },
        "jobs": [_job(source, index) for index in range(source.randint(1, 4))],
        "policy": {"value": source.choice(["share", "share", "gpus"])},
    }
    if source.random() < 0.5:
        document["policy"]["fragmentation"] = {
            "target": [_target(source) for _ in range(source.randint(1, 2))]
        }
    return document


def _shape(source: random.Random, model: str) -> Document:
    shape: Document = {
        "cpu": source.randint(2, 6),
        "memory": f"{source.randint(4, 9)}Gi",
        "network": f"{source.choice([1, 2, 3])}Gbps",
        "gpus": {"model": model, "memory": "10Gi", "count": source.randint(1, 3)},
    }
    if source.random() < 0.3:
        shape["slots"] = source.randint(1, 3)
    if source.random() < 0.3:
        shape["resources"] = {"fpga": 2}
    if source.random() < 0.2:
        shape["taints"] = [{"key": "slow", "effect": "PreferNoSchedule"}]
    return shape


def _node(source: random.Random, index: int) -> Document:
    node: Document = {"name": f"n{index}", "shape": source.choice("aab")}
    domain = source.choice(["b1/r1", "b1/r2", "b2/r3", "b1", None])
    if domain:
        node["domain"] = domain
    if source.random() < 0.3:
        node["labels"] = {"disk": "fast"}
    return node


def _running(source: random.Random, index: int, nodes: list[Document]) -> Document:
    task: Document = {"node": source.choice(nodes)["name"], "cpu": 1, "gpus": 1}
    if source.random() < 0.5:
        task["gpus"] = source.choice([0.3, 0.5])
    return {"job": f"run{index}", "tasks": [task]}


def _job(source: random.Random, index: int) -> Document:
    groups = 2 if source.random() < 0.25 else 1
    job: Document = {
        "name": f"job{index}",
        "priority": source.choice([0, 0, 1]),
        "tasks": [_group(source, f"g{number}", 2 if groups > 1 else 3) for number in range(groups)],
    }
    if source.random() < 0.4:
        job["submitted"] = f"-{source.randint(1, 5)}h"
    if source.random() < 0.3:
        job["intensity"] = source.choice([0.5, 2])
    draw = source.random()
    if draw < 0.25:
        job["topology"] = {"required": source.choice(["block", "rack", "node"])}
    elif draw < 0.5:
        job["topology"] = {"preferred": source.choice(["block", "rack", "node"])}
    elif draw < 0.6:
        job["topology"] = "unconstrained"
    return job


def _group(source: random.Random, name: str, most: int) -> Document:
    count: Any = source.randint(1, most)
    if source.random() < 0.3:
        least = 1 if name == "g0" else 0  # a job never starts without any task
        count = {"min": source.randint(least, 1), "max": source.randint(1, most)}
    group: Document = {"name": name, "count": count, "cpu": source.randint(0, 2)}
    gpus = source.choice([0, 1, 1, 2, 0.3, 0.5, 0.6])
    if gpus:
        group["gpus"] = gpus
    elif source.random() < 0.4:
        group["gpu_memory"] = source.choice(["3Gi", "4Gi", "7Gi"])
    if source.random() < 0.4 or (not group["cpu"] and not gpus and "gpu_memory" not in group):
        group["memory"] = f"{source.randint(1, 3)}Gi"
    if source.random() < 0.3:
        group["network"] = source.choice(["500Mbps", "1Gbps"])
    if source.random() < 0.15:
        group["resources"] = {"fpga": 1}
    if source.random() < 0.3 and ("gpus" in group or "gpu_memory" in group):
        group["gpu"] = {"model": source.choice([["A"], ["A", "B"], ["B", "A"]])}
    if source.random() < 0.25:
        rule = source.choice(["most", "skew"])
        group["spread"] = {"level": source.choice(["rack", "node"]), rule: 1}
    if source.random() < 0.2:
        group["topology"] = {
            source.choice(["required", "preferred"]): source.choice(["rack", "node"])
        }
    if source.random() < 0.2:
        group["prefer"] = [{"key": "disk", "op": "In", "values": ["fast"]}]
    return group


def _target(source: random.Random) -> Document:
    target: Document = {
        "nodes": source.randint(1, 2),
        "gpus": source.randint(0, 2),
        "cpu": source.randint(0, 1),
        "weight": source.choice([1, 0.5]),
    }
    if source.random() < 0.5:
        target["level"] = source.choice(["block", "rack"])
    return target
