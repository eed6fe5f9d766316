"""Tasks that are left over go where there still is room."""

from collections import Counter

import numpy as np

from placement.compiled.shares import pack_shares
from solvers.configurations.classes import IntArray, NodeShapes, TaskClasses

FilledNode = tuple[int, Counter[int]]
"""Shape of a node, and its tasks by class."""


def complete(
    shapes: NodeShapes, classes: TaskClasses, nodes: list[FilledNode], supply: IntArray
) -> None:
    """Add tasks to the nodes, the most valuable first, each where it leaves least.

    Parameters
    ----------
    shapes, classes
        The problem.
    nodes
        Changed in place.
    supply
        ``[K]`` tasks left over; changed in place.
    """
    if not nodes or not supply.any():
        return
    room = _Room(shapes, classes, nodes)
    waiting = np.flatnonzero(supply)
    for task in waiting[np.argsort(-classes.value[waiting], kind="stable")].tolist():
        while supply[task]:
            node = room.tightest(task)
            if node is None:
                break
            room.place(task, node)
            nodes[node][1][task] += 1
            supply[task] -= 1


class _Room:
    """What is left on filled nodes: ``[nodes, R]`` resources, idle GPUs, rest of shared ones."""

    def __init__(self, shapes: NodeShapes, classes: TaskClasses, nodes: list[FilledNode]) -> None:
        self._shapes, self._classes = shapes, classes
        self._shape = np.array([shape for shape, _ in nodes], dtype=np.int64)
        self._free = shapes.free[self._shape]
        self._idle = shapes.idle[self._shape]
        self._bins: list[list[int]] = []
        self._largest = np.zeros(len(nodes), dtype=np.int64)
        for node, (shape, tasks) in enumerate(nodes):
            kind = int(shapes.gpu_kind[shape])
            shares: list[int] = []
            for task, number in tasks.items():
                self._free[node] -= classes.demand[task] * number
                self._idle[node] -= int(classes.gpus[task]) * number
                if kind >= 0 and not classes.gpus[task] and classes.share[task, kind]:
                    shares += [int(classes.share[task, kind])] * number
            self._pack(node, shape, kind, shares)

    def _pack(self, node: int, shape: int, kind: int, shares: list[int]) -> None:
        bins = list(self._shapes.shared[shape])
        capacity = int(self._shapes.gpu_capacity[kind]) if kind >= 0 else 0
        packed = pack_shares(bins, int(self._idle[node]), capacity, shares)
        if packed is None:  # the search was cut short: what is left is not known
            self._idle[node], bins = 0, []
        else:
            opened = max(0, max(packed, default=-1) + 1 - len(bins))
            bins += [capacity] * opened
            for units, position in zip(shares, packed, strict=True):
                bins[position] -= units
            self._idle[node] -= opened
        self._bins.append(bins)
        self._largest[node] = max(bins, default=0)

    def tightest(self, task: int) -> int | None:
        """The node that has room for the task and least of the first resource; None: none has."""
        classes, shapes = self._classes, self._shapes
        able = (self._free >= classes.demand[task]).all(axis=1)
        able &= shapes.allowed[self._shape, task]
        kinds = shapes.gpu_kind[self._shape]
        if classes.gpus[task]:
            able &= self._idle >= classes.gpus[task]
        elif classes.share[task].any():
            units = classes.share[task][kinds]
            able &= (kinds >= 0) & (units > 0)
            able &= (self._largest >= units) | (self._idle > 0)
        found = np.flatnonzero(able)
        if not len(found):
            return None
        return int(found[np.argmin(self._free[found, 0])])

    def place(self, task: int, node: int) -> None:
        """Take the room of one task that fits."""
        self._free[node] -= self._classes.demand[task]
        self._idle[node] -= int(self._classes.gpus[task])
        kind = int(self._shapes.gpu_kind[self._shape[node]])
        units = int(self._classes.share[task, kind]) if kind >= 0 else 0
        if self._classes.gpus[task] or not units:
            return
        bins = self._bins[node]
        able = [position for position, left in enumerate(bins) if left >= units]
        if able:
            bins[min(able, key=bins.__getitem__)] -= units
        else:
            self._idle[node] -= 1
            bins.append(int(self._shapes.gpu_capacity[kind]) - units)
        self._largest[node] = max(bins)
