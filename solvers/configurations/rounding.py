"""From a fractional placement to whole nodes: whole parts first, the rest solved again."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from solvers.configurations.bound import ColumnGeneration
from solvers.configurations.classes import Configuration, IntArray, NodeShapes, TaskClasses
from solvers.configurations.completion import FilledNode, complete

_ALMOST = 1e-6
_ROUNDS = 6
"""Rounds of column generation per residual; more find better fractions, and no better wholes."""


def rounded(
    shapes: NodeShapes,
    classes: TaskClasses,
    used: Iterable[Configuration],
    columns: Iterable[tuple[int, Mapping[int, int]]],
    *,
    stopped: Callable[[], bool],
    rounds: int = _ROUNDS,
) -> list[FilledNode]:
    """Fill whole nodes so that they are worth nearly what the fractional placement is.

    The whole part of every weight is taken, and the linear program solved again for the nodes and
    tasks that remain, with new configurations that suit them; where no weight is whole, the
    largest is rounded up. At last, what is left over goes where there still is room.

    Parameters
    ----------
    shapes, classes
        The problem.
    used
        The fractional placement.
    columns
        Configurations known.
    stopped
        True: nothing is solved again.
    rounds
        Most rounds of column generation before weights are rounded again.

    Returns
    -------
    list of FilledNode
        All nodes, those without tasks too; no more tasks of any class than there are.
    """
    nodes = shapes.count.copy()
    supply = classes.supply.copy()
    known = list(columns)
    filled: list[FilledNode] = []
    current = list(used)
    while current:
        if not _take_whole(current, nodes, supply, filled):
            _take_one(current, nodes, supply, filled)
        if stopped() or not nodes.any() or not supply.any():
            break
        generation = ColumnGeneration(
            replace(shapes, count=nodes.copy()),
            replace(classes, supply=supply.copy()),
            clipped(known, nodes, supply),
        )
        current = list(generation.run(stopped=stopped, rounds=rounds).used)
        known = generation.columns()
    for shape, number in enumerate(nodes.tolist()):
        filled += [(shape, Counter()) for _ in range(number)]
    complete(shapes, classes, filled, supply)
    return filled


def clipped(
    columns: Iterable[tuple[int, Mapping[int, int]]], nodes: IntArray, supply: IntArray
) -> Iterator[tuple[int, Mapping[int, int]]]:
    """Those of the columns whose nodes there are, with no more tasks than there are."""
    for shape, tasks in columns:
        if nodes[shape]:
            able = {k: min(n, int(supply[k])) for k, n in tasks.items() if supply[k]}
            if able:
                yield shape, able


def _take_whole(
    used: Iterable[Configuration], nodes: IntArray, supply: IntArray, filled: list[FilledNode]
) -> int:
    taken = 0
    for configuration in used:
        number = min(int(configuration.weight + _ALMOST), int(nodes[configuration.shape]))
        for task, each in configuration.tasks.items():
            number = min(number, int(supply[task]) // each)
        taken += number
        for _ in range(number):
            _fill(configuration.shape, Counter(configuration.tasks), nodes, supply, filled)
    return taken


def _take_one(
    used: Iterable[Configuration], nodes: IntArray, supply: IntArray, filled: list[FilledNode]
) -> None:
    """Round the largest weight up, with as many of its tasks as there are."""
    best = max(used, key=lambda configuration: configuration.weight)
    tasks = Counter({task: min(n, int(supply[task])) for task, n in best.tasks.items()})
    _fill(best.shape, +tasks, nodes, supply, filled)


def _fill(
    shape: int,
    tasks: Counter[int],
    nodes: IntArray,
    supply: IntArray,
    filled: list[FilledNode],
) -> None:
    nodes[shape] -= 1
    for task, number in tasks.items():
        supply[task] -= number
    filled.append((shape, tasks))
