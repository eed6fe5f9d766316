"""A small map: one character per node, grouped by its finest domain, before and after."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text

from placement.answer import Action, Answer
from placement.cluster import NODE_LEVEL, NodeState
from placement.compiled.occupancy import gpu_kinds, occupancy, resource_names
from placement.problem import Problem
from placement.render.layout import plain_table, section

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
    """Count the idle GPUs of each node before the decisions and after them.

    Those of nodes that take nothing new are not idle but out of use.
    """
    held = occupancy(problem, gpu_kinds(problem.nodes), resource_names(problem))
    left = [
        set(gpus) if node.state is NodeState.READY else set()
        for node, gpus in zip(problem.nodes, held.idle_gpus, strict=True)
    ]
    before = tuple(len(gpus) for gpus in left)
    number = {node.name: index for index, node in enumerate(problem.nodes)}
    for decision in answer.decisions:
        if decision.action is Action.START:
            for task in decision.tasks:
                left[number[task.node]].difference_update(task.gpus)
    return IdleGpus(before=before, after=tuple(len(gpus) for gpus in left))


def map_section(problem: Problem, idle: IdleGpus) -> Group | None:
    """Draw the map, or summarise it for large clusters.

    Returns
    -------
    Group or None
        None for a cluster without GPUs.
    """
    if not any(node.shape.gpus for node in problem.nodes):
        return None
    level, domains = _domains(problem)
    drawn = len(problem.nodes) <= MOST_CELLS
    table = plain_table(level, "before", "after", ">idle gpus")
    shown = list(domains.items())[:MOST_DOMAINS]
    for name, nodes in shown:
        before = sum(idle.before[node] for node in nodes)
        total = Text(f"{before} -> {sum(idle.after[node] for node in nodes)}")
        if drawn:
            _add_cells(table, problem, idle, (name, nodes, total))
        else:
            table.add_row(
                Text(name),
                _histogram(problem, nodes, idle.before),
                _histogram(problem, nodes, idle.after),
                total,
            )
    if len(domains) > len(shown):
        table.add_row(Text(f"... {len(domains) - len(shown)} more"), *[Text("")] * 3)
    if drawn:
        return section("Idle GPUs, one character per node", table, _legend(problem))
    return section("Idle GPUs x nodes that have so many", table)


def _add_cells(
    table: Table, problem: Problem, idle: IdleGpus, domain: tuple[str, list[int], Text]
) -> None:
    name, nodes, total = domain
    for start in range(0, len(nodes), CELLS_PER_LINE):
        line = nodes[start : start + CELLS_PER_LINE]
        before = "".join(_cell(problem, node, idle.before[node]) for node in line)
        after = "".join(_cell(problem, node, idle.after[node]) for node in line)
        table.add_row(
            Text("" if start else name),
            Text(before),
            _changes(before, after),
            Text("") if start else total,
        )


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


def _changes(before: str, after: str) -> Text:
    text = Text()
    for old, new in zip(before, after, strict=True):
        text.append(new, style="bold green" if old != new else "")
    return text


def _histogram(problem: Problem, nodes: Sequence[int], idle: Sequence[int]) -> Text:
    counts = Counter(
        idle[node]
        for node in nodes
        if problem.nodes[node].state is NodeState.READY and problem.nodes[node].shape.gpus
    )
    return Text(" ".join(f"{count}x{counts[count]}" for count in sorted(counts, reverse=True)))


def _legend(problem: Problem) -> str:
    parts = []
    if any(node.state is not NodeState.READY for node in problem.nodes):
        parts.append(f"{NOTHING_NEW} takes nothing new")
    if any(node.shape.gpus is None for node in problem.nodes):
        parts.append(f"{NO_GPUS} has no GPUs")
    if any(node.shape.gpus and node.shape.gpus.count > 9 for node in problem.nodes):
        parts.append(f"{MANY} ten or more")
    return ", ".join(parts)
