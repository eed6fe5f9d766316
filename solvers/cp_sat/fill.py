"""How much of a resource tasks of given sizes can use: the bounds behind capacity rows."""

from collections.abc import Sequence

import numpy as np

from placement.compiled.problem import IntArray

TABLE_LIMIT = 4096
"""Largest table of reachable sums, in units of the sizes' gcd."""


def fillable(free: IntArray, sizes: Sequence[int]) -> IntArray:
    """Most that any multiset of the sizes can use of each free amount.

    Unbounded subset sums by dynamic programming in units of the sizes' gcd; for sizes that divide
    each other this is ``free // smallest * smallest``. Amounts beyond the table are rounded down
    to the gcd only.
    """
    divisor = int(np.gcd.reduce(np.asarray(sizes, dtype=np.int64)))
    units = free // divisor
    limit = int(min(units.max(initial=0), TABLE_LIMIT))
    reachable = np.zeros(limit + 1, dtype=np.bool_)
    reachable[0] = True
    steps = sorted({size // divisor for size in sizes})
    if len(steps) * limit > 200_000:
        return units * divisor
    for total in range(1, limit + 1):
        for step in steps:
            if step > total:
                break
            if reachable[total - step]:
                reachable[total] = True
                break
    best = np.maximum.accumulate(np.where(reachable, np.arange(limit + 1), 0))
    return np.where(units <= limit, best[np.minimum(units, limit)], units) * divisor
