"""Large neighbourhood search: some nodes are emptied and filled anew, again and again.

Which nodes: those that fall furthest short of the best way to fill them at the prices that prove
the bound, and random others, whose tasks are what the former lack (Shaw, "Using Constraint
Programming and Local Search Methods to Solve Vehicle Routing Problems", CP 1998). They are filled
by the same few rounds of column generation and rounding as the whole at first.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from solvers.configurations.bound import ColumnGeneration, Fractional
from solvers.configurations.classes import NodeShapes, TaskClasses, total
from solvers.configurations.completion import FilledNode
from solvers.configurations.rounding import clipped, rounded

_FREED = 60
"""Nodes emptied at once: few enough for one step to take a fraction of a second."""

_ROUNDS = 15
"""Rounds of column generation per step; more find better fractions, and no better wholes."""

_ROUNDS_WHEN_ROUNDING = 5


class Improver:
    """A placement that gets better step by step, never worse.

    Parameters
    ----------
    shapes, classes
        The problem.
    fractional
        Its fractional placement.
    columns
        Configurations known.
    nodes
        The placement to begin with: every node, empty ones too.
    seed
        Of the random choices.
    """

    def __init__(
        self,
        shapes: NodeShapes,
        classes: TaskClasses,
        fractional: Fractional,
        columns: list[tuple[int, Mapping[int, int]]],
        nodes: list[FilledNode],
        *,
        seed: int,
    ) -> None:
        self._shapes, self._classes = shapes, classes
        self._fractional = fractional
        self._columns = {_key(*column): column for column in columns}
        self.nodes = list(nodes)
        self._left = classes.supply.copy()
        for _, tasks in nodes:
            self._take(tasks)
        self._random = random.Random(seed)
        self.value = sum(total(tasks, classes.value) for _, tasks in nodes)

    @property
    def is_proven(self) -> bool:
        """Whether no placement is better."""
        return self.value >= self._fractional.bound or not self._left.any()

    def step(self, stopped: Callable[[], bool]) -> bool:
        """Empty some nodes and fill them anew; whether the placement is worth more now.

        A placement of equal value is taken too: it is another one to go on from.
        """
        freed = self._choose()
        count = np.zeros(self._shapes.size, dtype=np.int64)
        supply = self._left.copy()
        before = 0
        for index in freed:
            shape, tasks = self.nodes[index]
            count[shape] += 1
            before += total(tasks, self._classes.value)
            for task, number in tasks.items():
                supply[task] += number
        shapes = replace(self._shapes, count=count)
        classes = replace(self._classes, supply=supply)
        known = clipped(self._columns.values(), count, supply)
        now = [self.nodes[index] for index in freed if self.nodes[index][1]]
        generation = ColumnGeneration(shapes, classes, [*known, *now])
        fractional = generation.run(stopped=stopped, rounds=_ROUNDS)
        filled = rounded(
            shapes,
            classes,
            fractional.used,
            generation.columns(),
            stopped=stopped,
            rounds=_ROUNDS_WHEN_ROUNDING,
        )
        after = sum(total(tasks, self._classes.value) for _, tasks in filled)
        if after < before:
            return False
        self._replace(freed, filled)
        self.value += after - before
        return after > before

    def _choose(self) -> list[int]:
        """Nodes to empty, ascending: half of them short of their best, half at random."""
        most = min(_FREED, len(self.nodes))
        losses = np.array([self._fractional.loss(*node) for node in self.nodes])
        worst = [int(i) for i in np.argsort(-losses, kind="stable")[:most] if losses[i] >= 1]
        self._random.shuffle(worst)
        chosen = set(worst[: most // 2])
        while len(chosen) < most:
            chosen.add(self._random.randrange(len(self.nodes)))
        return sorted(chosen)

    def _replace(self, freed: list[int], filled: list[FilledNode]) -> None:
        ways: dict[int, list[FilledNode]] = {}
        for shape, tasks in filled:
            ways.setdefault(shape, []).append((shape, tasks))
            if tasks:
                self._columns.setdefault(_key(shape, tasks), (shape, dict(tasks)))
        for index in freed:
            shape, tasks = self.nodes[index]
            for task, number in tasks.items():
                self._left[task] += number
            self.nodes[index] = ways[shape].pop()
        for index in freed:
            self._take(self.nodes[index][1])

    def _take(self, tasks: Mapping[int, int]) -> None:
        for task, number in tasks.items():
            self._left[task] -= number


def _key(shape: int, tasks: Mapping[int, int]) -> tuple[int, tuple[tuple[int, int], ...]]:
    return shape, tuple(sorted(tasks.items()))
