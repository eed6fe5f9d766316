"""The tasks and nodes of a configuration problem: classes of tasks, shapes of nodes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

EXACT = 0
"""The countable resource (column of ``demand`` and ``free``) that the bound takes exactly."""

PRICED = 1
"""The one it prices where it binds; the others it leaves out, only configurations keep them."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskClasses:
    """``K`` classes of tasks; ``R`` countable resources, ``Q`` kinds of GPUs.

    Attributes
    ----------
    value
        ``[K]`` what a placed task is worth; 0 or more.
    demand
        ``[K, R]`` what a task takes of the countable resources.
    gpus
        ``[K]`` whole GPUs of one task.
    share
        ``[K, Q]`` units that a task takes of one GPU; 0 for tasks without a share.
    supply
        ``[K]`` how many tasks there are.
    """

    value: IntArray
    demand: IntArray
    gpus: IntArray
    share: IntArray
    supply: IntArray

    @property
    def size(self) -> int:
        """Number of classes, ``K``."""
        return len(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class NodeShapes:
    """``S`` shapes of nodes.

    Attributes
    ----------
    free
        ``[S, R]`` what a node has left of the countable resources; 0 or more.
    idle
        ``[S]`` GPUs that nobody uses.
    shared
        Per shape: units left on each GPU that is shared already, ascending.
    gpu_kind
        ``[S]`` index into ``gpu_capacity``; -1 without GPUs.
    gpu_capacity
        ``[Q]`` units of an idle GPU.
    count
        ``[S]`` how many nodes there are.
    allowed
        ``[S, K]`` whether tasks of the class may run on the shape.
    """

    free: IntArray
    idle: IntArray
    shared: tuple[tuple[int, ...], ...]
    gpu_kind: IntArray
    gpu_capacity: IntArray
    count: IntArray
    allowed: BoolArray

    @property
    def size(self) -> int:
        """Number of shapes, ``S``."""
        return len(self.count)


@dataclass(frozen=True, slots=True)
class Configuration:
    """A way to fill one node, as often as the linear program uses it.

    Attributes
    ----------
    shape
        Index of the shape.
    tasks
        Number of tasks by index of the class.
    weight
        Number of nodes; not whole in general.
    """

    shape: int
    tasks: Mapping[int, int]
    weight: float


def total(tasks: Mapping[int, int], per_task: IntArray) -> int:
    """Sum of a number per task over tasks counted by class."""
    return sum(int(per_task[task]) * number for task, number in tasks.items())
