"""A small map: one character per node, grouped by its finest domain, before and after."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from placement.answer import Action, Answer
from placement.cluster import NODE_LEVEL, NodeState
from placement.compiled.occupancy import gpu_kinds, occupancy, resource_names
from placement.problem import Problem
from placement.render.layout import plain_table

MOST_CELLS = 400
"""Clusters with more nodes are summarised: how many nodes have how many idle GPUs."""

MOST_DOMAINS = 40
"""With more domains than this a coarser level is drawn, and at most so many lines of it."""

CELLS_PER_LINE = 25

NOTHING_NEW = "-"
NO_GPUS = "."
MANY = "+"


@dataclass(frozen=True, slots=True)
class IdleGpus:
    """Idle whole GPUs per node, in the order of the problem's nodes, before and after."""

    before: tuple[int, ...]
    after: tuple[int, ...]


def idle_gpus(problem: Problem, answer: Answer) -> IdleGpus:
    """Count the idle GPUs of each node before the decisions and after them."""
    held = occupancy(problem, gpu_kinds(problem.nodes), resource_names(problem))
    left = [set(gpus) for gpus in held.idle_gpus]
    number = {node.name: index for index, node in enumerate(problem.nodes)}
    for decision in answer.decisions:
        if decision.action is Action.START:
            for task in decision.tasks:
                left[number[task.node]].difference_update(task.gpus)
    return IdleGpus(
        before=tuple(len(gpus) for gpus in held.idle_gpus),
        after=tuple(len(gpus) for gpus in left),
    )


def map_table(problem: Problem, idle: IdleGpus) -> Table | None:
    """Draw the map, or summarise it for large clusters.

    Returns
    -------
    Table or None
        None for a cluster without GPUs.
    """
    if not any(node.shape.gpus for node in problem.nodes):
        return None
    level, domains = _domains(problem)
    drawn = len(problem.nodes) <= MOST_CELLS
    what = "one character per node" if drawn else "idle GPUs x nodes"
    table = plain_table(f"Idle GPUs by {level}: {what}", level, "before", "after", ">idle GPUs")
    shown = list(domains.items())[:MOST_DOMAINS]
    for name, nodes in shown:
        before = [idle.before[node] for node in nodes]
        after = [idle.after[node] for node in nodes]
        total = Text(f"{sum(before)} -> {sum(after)}")
        if not drawn:
            table.add_row(
                Text(name),
                _histogram(problem, nodes, before),
                _histogram(problem, nodes, after),
                total,
            )
            continue
        lines = zip(
            _lines([_cell(problem, node, idle.before[node]) for node in nodes]),
            _lines([_cell(problem, node, idle.after[node]) for node in nodes]),
            strict=True,
        )
        for position, (left, right) in enumerate(lines):
            first = position == 0
            table.add_row(
                Text(name if first else ""),
                Text(left),
                _changes(left, right),
                total if first else Text(""),
            )
    if len(domains) > len(shown):
        table.add_row(Text(f"... {len(domains) - len(shown)} more"), Text(""), Text(""), Text(""))
    legend = _legend(problem) if drawn else ""
    table.caption = legend or None
    return table


def _domains(problem: Problem) -> tuple[str, dict[str, list[int]]]:
    """The level to draw and its domains' nodes: the finest level with few enough domains."""
    levels = [level for level in problem.cluster.levels if level != NODE_LEVEL]
    for position in reversed(range(len(levels))):
        domains: dict[str, list[int]] = {}
        for index, node in enumerate(problem.nodes):
            path = node.domains[position]
            domains.setdefault(path or f"(no {levels[position]})", []).append(index)
        if len(domains) <= MOST_DOMAINS or position == 0:
            return levels[position], domains
    return "cluster", {"all": list(range(len(problem.nodes)))}


def _cell(problem: Problem, node: int, idle: int) -> str:
    if problem.nodes[node].state is not NodeState.READY:
        return NOTHING_NEW
    if problem.nodes[node].shape.gpus is None:
        return NO_GPUS
    return str(idle) if idle <= 9 else MANY


def _lines(cells: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(cells), CELLS_PER_LINE):
        yield "".join(cells[start : start + CELLS_PER_LINE])


def _changes(before: str, after: str) -> Text:
    text = Text()
    for old, new in zip(before, after, strict=True):
        text.append(new, style="bold green" if old != new else "")
    return text


def _histogram(problem: Problem, nodes: Sequence[int], idle: Sequence[int]) -> Text:
    counts = Counter(
        gpus
        for node, gpus in zip(nodes, idle, strict=True)
        if problem.nodes[node].state is NodeState.READY and problem.nodes[node].shape.gpus
    )
    return Text(" ".join(f"{gpus}x{counts[gpus]}" for gpus in sorted(counts, reverse=True)))


def _legend(problem: Problem) -> str:
    parts = []
    if any(node.state is not NodeState.READY for node in problem.nodes):
        parts.append(f"{NOTHING_NEW} takes nothing new")
    if any(node.shape.gpus is None for node in problem.nodes):
        parts.append(f"{NO_GPUS} has no GPUs")
    if any(node.shape.gpus and node.shape.gpus.count > 9 for node in problem.nodes):
        parts.append(f"{MANY} ten or more")
    return ", ".join(parts)
