"""Ceilings for a trace: all its pods at once, or those that have arrived at a given load."""

import numpy as np

from benchmarks.openb.ceiling import (
    Ceiling,
    NodeShapes,
    PodClasses,
    allocation_ceiling,
)
from benchmarks.openb.metrics import bin_members
from benchmarks.openb.pods import PodKinds
from benchmarks.openb.trace import Arrivals, IntArray, Trace

_DIGITS = 10**4


def trace_ceiling(trace: Trace, kinds: PodKinds, *, time_limit_s: float = 60.0) -> float:
    """Percent of all GPUs that no placement of the trace's pods, each once, can exceed.

    Parameters
    ----------
    trace
        The trace.
    kinds
        `pod_kinds` of it.
    time_limit_s
        See `allocation_ceiling`.
    """
    supply = np.bincount(kinds.of_pod, minlength=kinds.size)
    return _percent(ceiling_of(trace, kinds, supply, time_limit_s=time_limit_s), trace, 1)


def load_ceiling(
    trace: Trace, kinds: PodKinds, arrivals: Arrivals, load: int, *, time_limit_s: float = 60.0
) -> float | None:
    """Percent that `allocation_at` this load cannot exceed, whatever the policy.

    The measure is a mean over the moments in the bin of the load. At each moment the pods placed
    are among those arrived, so the linear program bounds it. One program covers all: as many copies
    of the cluster as there are moments, and the pods of all moments together; each moment's
    placements are one way to fill one copy.

    Parameters
    ----------
    trace, kinds, arrivals
        What is replayed.
    load
        The bin, in percent of the GPUs.
    time_limit_s
        See `allocation_ceiling`.

    Returns
    -------
    float | None
        None: no arrival falls into the bin.
    """
    coming = kinds.of_pod[arrivals.pods]
    arrived_milli = np.cumsum(kinds.total_milli[coming])
    moments = bin_members(arrived_milli, trace.gpu_capacity_milli, load)
    if not moments.size:
        return None
    # An arrival counts in every moment that is not before it.
    times = moments.size - np.searchsorted(moments, np.arange(len(coming)))
    supply = np.zeros(kinds.size, dtype=np.int64)
    np.add.at(supply, coming, times)
    copies = int(moments.size)
    ceiling = ceiling_of(trace, kinds, supply, copies=copies, time_limit_s=time_limit_s)
    return _percent(ceiling, trace, copies)


def ceiling_of(
    trace: Trace,
    kinds: PodKinds,
    supply: IntArray,
    *,
    copies: int = 1,
    time_limit_s: float = 60.0,
) -> Ceiling:
    """Bound for any number of pods of each kind on any number of copies of the trace's nodes.

    Parameters
    ----------
    trace
        Nodes.
    kinds
        Kinds of pods.
    supply
        ``[K]`` pods of each kind.
    copies
        How often each node is there.
    time_limit_s
        See `allocation_ceiling`.
    """
    shapes = sorted({(n.cpu_millicores, n.memory_mib, n.gpu_count, n.model) for n in trace.nodes})
    index = {shape: position for position, shape in enumerate(shapes)}
    shape_of_node = [
        index[n.cpu_millicores, n.memory_mib, n.gpu_count, n.model] for n in trace.nodes
    ]
    used = np.flatnonzero((supply > 0) & (kinds.count > 0))
    models = [kinds.model_names.index(shape[3]) for shape in shapes]
    numbers = np.array([shape[:3] for shape in shapes], dtype=np.int64).reshape(len(shapes), 3)
    cpu, memory, gpu_count = np.ascontiguousarray(numbers.T)
    return allocation_ceiling(
        NodeShapes(
            cpu=cpu,
            memory=memory,
            gpu_count=gpu_count,
            count=copies * np.bincount(shape_of_node, minlength=len(shapes)),
            allowed=np.ascontiguousarray(kinds.allowed[used][:, models].T),
        ),
        PodClasses(
            cpu=kinds.cpu[used],
            memory=kinds.memory[used],
            gpu_count=kinds.count[used],
            milli=kinds.milli[used],
            supply=supply[used],
        ),
        time_limit_s=time_limit_s,
    )


def _percent(ceiling: Ceiling, trace: Trace, copies: int) -> float:
    """Rounded up, so that it stays a bound."""
    capacity = copies * trace.gpu_capacity_milli
    return -(-100 * _DIGITS * ceiling.bound_milli // capacity) / _DIGITS
