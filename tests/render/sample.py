"""One small problem with everything the rendering shows, and an answer to it made by hand."""

from typing import Any

from rich.console import Console, RenderableType

from placement.answer import Answer
from placement.answer_file import answer_from_document
from placement.problem import Problem
from placement.problem_file import problem_from_document

PROBLEM: dict[str, Any] = {
    "now": "2026-11-30T12:00:00Z",
    "cluster": {
        "levels": ["block", "rack"],
        "shapes": {
            "hgx": {"cpu": 64, "memory": "1Ti", "gpus": {"model": "H100", "count": 8}},
            "cpu": {"cpu": 128, "memory": "1Ti"},
        },
        "nodes": [
            {"name": "n[01-03]", "shape": "hgx", "domain": "b1/r1"},
            {"name": "n04", "shape": "hgx", "domain": "b1/r2", "unhealthy_gpus": [7]},
            {"name": "n05", "shape": "hgx", "domain": "b1/r2", "state": "cordoned"},
            {"name": "c1", "shape": "cpu"},
        ],
        "running": [
            {
                "job": "serve",
                "tasks": [
                    {"node": "n03", "cpu": 16, "gpus": 4, "devices": [0, 1, 2, 3]},
                    {"node": "n04", "cpu": 16, "gpus": 0.5, "devices": [0]},
                ],
            }
        ],
    },
    "jobs": [
        {
            "name": "train",
            "priority": 10,
            "tasks": [
                {"name": "leader", "cpu": 8},
                {"name": "worker", "count": 2, "gpus": 8, "cpu": 8},
            ],
        },
        {"name": "sweep", "tasks": [{"count": {"min": 2, "max": 8}, "gpus": 1, "cpu": 1}]},
        {"name": "notebook", "gpus": 0.25, "cpu": 1},
        {"name": "[red]big[/red]", "tasks": [{"count": 4, "gpus": 8, "gpu": {"model": "H100"}}]},
        {"name": "prep", "cpu": 500},
    ],
}

ANSWER: dict[str, Any] = {
    "status": "feasible",
    "objective": [
        {"tier": "work", "priority": 10, "value": 0.4, "bound": 0.4, "gap": 0.0},
        {"tier": "work", "priority": 0, "value": 0.123456789, "bound": 0.15, "gap": 0.17696},
        {"tier": "span", "level": "rack", "value": 1.0, "bound": 0.0, "gap": 1.0},
    ],
    "decisions": [
        {
            "job": "train",
            "action": "start",
            "tasks": [
                {"group": "leader", "rank": 0, "node": "n01"},
                {"group": "worker", "rank": 1, "node": "n01", "local_rank": 1, "gpus": [*range(8)]},
                {"group": "worker", "rank": 2, "node": "n02", "gpus": [*range(8)]},
            ],
        },
        {
            "job": "sweep",
            "action": "start",
            "tasks": [
                {"group": "task", "rank": 0, "node": "n03", "gpus": [4]},
                {"group": "task", "rank": 1, "node": "n03", "local_rank": 1, "gpus": [5]},
                {"group": "task", "rank": 2, "node": "n04", "gpus": [1]},
            ],
        },
        {
            "job": "notebook",
            "action": "start",
            "tasks": [{"group": "task", "rank": 0, "node": "n04", "gpus": [0]}],
        },
        {
            "job": "[red]big[/red]",
            "action": "wait",
            "why": {"summary": "2 of 4 tasks would fit on what is free"},
        },
        {
            "job": "prep",
            "action": "wait",
            "why": {"summary": "no node can take a task: 6 nodes: too little cpu"},
        },
    ],
    "fragmentation": {
        "before": {
            "sets": [
                {"nodes": 1, "gpus": 8, "weight_milli": 727, "count": 2},
                {"nodes": 2, "gpus": 4, "model": "H100", "cpu_millicores": 1500,
                 "memory_bytes": 2**30, "level": "rack", "weight_milli": 90, "count": 1},
            ]
        },
        "after": {
            "sets": [
                {"nodes": 1, "gpus": 8, "weight_milli": 727, "count": 0},
                {"nodes": 2, "gpus": 4, "model": "H100", "cpu_millicores": 1500,
                 "memory_bytes": 2**30, "level": "rack", "weight_milli": 90, "count": 0},
            ]
        },
    },
    "warnings": ["node n09: running tasks exceed its cpu; it counts as full"],
    "solver": {"name": "by-hand", "seconds": 1.234, "gap": 0.17696, "notes": ["cut short"]},
}  # fmt: skip


def problem() -> Problem:
    """The problem of this module."""
    return problem_from_document(PROBLEM)


def answer() -> Answer:
    """The answer of this module."""
    return answer_from_document(ANSWER)


def shown(renderable: RenderableType, *, width: int = 100) -> str:
    """What is printed where there are no colours, without blanks at the ends of lines."""
    console = Console(width=width, color_system=None, markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"
