"""Allocation at a given load, as the study tabulates it."""

import numpy as np
import numpy.typing as npt

from benchmarks.openb.trace import IntArray


def bin_members(arrived_milli: IntArray, capacity_milli: int, load: int) -> IntArray:
    """Arrivals that belong to one bin of the load.

    Parameters
    ----------
    arrived_milli
        ``[arrivals]`` thousandths of a GPU asked for so far, dropped pods included.
    capacity_milli
        Thousandths of a GPU over all nodes.
    load
        The bin: percent of the capacity, to the nearest whole percent, halves to the even one.

    Returns
    -------
    IntArray
        Indices of the arrivals, ascending.
    """
    percent = 100.0 * arrived_milli / capacity_milli
    members: IntArray = np.flatnonzero(np.rint(percent) == load)
    return members


def allocation_at(
    arrived_milli: IntArray, allocated_milli: IntArray, capacity_milli: int, load: int
) -> float | None:
    """Percent of all GPUs allocated: mean over the arrivals in the bin of ``load``.

    Parameters
    ----------
    arrived_milli, allocated_milli
        ``[arrivals]`` thousandths of a GPU asked for and allocated so far.
    capacity_milli
        Thousandths of a GPU over all nodes.
    load
        The bin, in percent of the capacity.

    Returns
    -------
    float | None
        None: no arrival falls into the bin.
    """
    members = bin_members(arrived_milli, capacity_milli, load)
    if not members.size:
        return None
    percent: npt.NDArray[np.float64] = 100.0 * allocated_milli[members] / capacity_milli
    return float(percent.mean())
