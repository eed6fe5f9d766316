"""A proven upper bound on the GPU that any placement can allocate.

The nodes and pods of a trace as a configuration problem: see `solvers.configurations.bound`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solvers.configurations.bound import ColumnGeneration
from solvers.configurations.classes import (
    BoolArray,
    Configuration,
    IntArray,
    TaskClasses,
)
from solvers.configurations.classes import NodeShapes as SolverShapes

GPU_MILLI = 1000
"""Thousandths of one GPU."""


@dataclass(frozen=True, slots=True, eq=False)
class PodClasses:
    """``K`` classes of pods.

    Attributes
    ----------
    cpu, memory
        ``[K]`` what a pod takes, in any unit; integers.
    gpu_count
        ``[K]`` GPUs.
    milli
        ``[K]`` thousandths of each GPU: 1000, or less if ``gpu_count`` is 1.
    supply
        ``[K]`` how many pods there are.
    """

    cpu: IntArray
    memory: IntArray
    gpu_count: IntArray
    milli: IntArray
    supply: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class NodeShapes:
    """``S`` shapes of nodes.

    Attributes
    ----------
    cpu, memory
        ``[S]`` what a node has, in the units of the pods.
    gpu_count
        ``[S]`` GPUs, all idle.
    count
        ``[S]`` how many nodes there are.
    allowed
        ``[S, K]`` whether pods of the class may run on the shape.
    """

    cpu: IntArray
    memory: IntArray
    gpu_count: IntArray
    count: IntArray
    allowed: BoolArray


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The bound, and what is known of how tight it is.

    Attributes
    ----------
    bound_milli
        No placement allocates more thousandths of a GPU.
    reached_milli
        Optimum of the linear program over the configurations generated: the bound cannot be
        improved by more than the difference.
    configurations
        Those the linear program uses; each fits a node of its shape.
    rounds
        Times the linear program was solved.
    """

    bound_milli: int
    reached_milli: float
    configurations: Sequence[Configuration]
    rounds: int


def allocation_ceiling(
    shapes: NodeShapes,
    classes: PodClasses,
    *,
    time_limit_s: float = 60.0,
    relative_gap: float = 1e-7,
) -> Ceiling:
    """Bound the thousandths of a GPU that any placement of the pods can allocate.

    Parameters
    ----------
    shapes
        The nodes.
    classes
        The pods. Those without GPUs play no part.
    time_limit_s
        Seconds after which no new round begins; the bound is valid however few there were.
    relative_gap
        Stop when bound and linear program differ by less than this share of the capacity.

    Raises
    ------
    ValueError
        A class takes parts of several GPUs.
    """
    whole = classes.milli == GPU_MILLI
    share = (classes.gpu_count == 1) & (classes.milli > 0) & (classes.milli < GPU_MILLI)
    if not (whole | share | (classes.gpu_count == 0)).all():
        raise ValueError("a pod takes whole GPUs or a part of one")
    deadline = time.monotonic() + time_limit_s
    capacity = GPU_MILLI * int(shapes.gpu_count @ shapes.count)
    nodes = SolverShapes(
        free=np.stack([shapes.cpu, shapes.memory], axis=1),
        idle=shapes.gpu_count,
        shared=((),) * len(shapes.count),
        gpu_kind=np.zeros(len(shapes.count), dtype=np.int64),
        gpu_capacity=np.array([GPU_MILLI], dtype=np.int64),
        count=shapes.count,
        allowed=shapes.allowed,
    )
    tasks = TaskClasses(
        value=classes.gpu_count * np.where(classes.gpu_count > 0, classes.milli, 0),
        demand=np.stack([classes.cpu, classes.memory], axis=1),
        gpus=np.where(share, 0, classes.gpu_count),
        share=np.where(share, classes.milli, 0)[:, None],
        supply=classes.supply,
    )
    result = ColumnGeneration(nodes, tasks).run(
        stopped=lambda: time.monotonic() >= deadline, gap=relative_gap * capacity
    )
    return Ceiling(min(result.bound, capacity), result.reached, result.used, result.rounds)
