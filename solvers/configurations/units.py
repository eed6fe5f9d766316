"""Units of GPU shares brought to small numbers, so that one GPU has few different fillings."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from solvers.configurations.classes import IntArray

_MAX_UNITS = 1000
"""More units than this per GPU are rounded to as many, if no share gets lost by that."""

_MOST_UNITS = 20_000


class UnboundableError(ValueError):
    """GPU shares are too small for the bound to be worked out."""


@dataclass(frozen=True, slots=True, eq=False)
class GpuUnits:
    """Units on GPUs of one kind, in small numbers; whatever fits, still fits.

    Attributes
    ----------
    capacity
        Units of an idle GPU. A GPU that is shared already has less left, whatever is left.
    share
        ``[K]`` units of a task's share; 0 for tasks without one.
    numerator, divisor, step
        Units are ``units * numerator // divisor * step`` of those before.
    is_rounded
        Whether shares that fit in these units may not fit in truth.
    """

    capacity: int
    share: IntArray
    numerator: int = 1
    divisor: int = 1
    step: int = 1
    is_rounded: bool = False

    def left(self, units: int) -> int:
        """What is left on a shared GPU."""
        return units * self.numerator // self.divisor * self.step


def small_units(capacity: int, share: IntArray, shared: Iterable[int]) -> GpuUnits:
    """Divide by what all shares have in common, and round if that does not suffice.

    Parameters
    ----------
    capacity
        Units of an idle GPU.
    share
        ``[K]`` units of a task's share; 0 for tasks without one.
    shared
        Units left on each GPU that is shared already.

    Raises
    ------
    UnboundableError
        Shares are too small.
    """
    wanted = share[share > 0]
    divisor = int(np.gcd.reduce(wanted)) if len(wanted) else max(1, capacity)
    numerator, is_rounded = 1, False
    if capacity // divisor > _MAX_UNITS:
        most = max(_MAX_UNITS, -(-capacity // int(wanted.min())))
        if most > _MOST_UNITS:
            raise UnboundableError(f"a GPU holds {most} shares")
        numerator, divisor, is_rounded = most, capacity, True
    units = np.array([int(s) * numerator // divisor for s in share], dtype=np.int64)
    reduced = capacity * numerator // divisor
    if all(left * numerator // divisor < reduced for left in shared):
        return GpuUnits(reduced, units, numerator, divisor, 1, is_rounded)
    # A task on a whole GPU must not seem to fit beside a share: an odd unit keeps it away.
    return GpuUnits(2 * reduced + 1, 2 * units, numerator, divisor, 2, is_rounded)
