"""Packing of GPU shares onto the GPUs of one node: exact, and with the fewest idle GPUs opened.

A share is a number of units; an idle GPU holds ``capacity`` units, a GPU that is already shared
what is left of it. Bin packing of a handful of items: best-fit decreasing settles nearly all
cases at once, and a branch and bound with dominance (Martello and Toth, 1990, ch. 8: equal bins
are tried once) the rest.
"""

from collections.abc import Sequence

SEARCH_LIMIT = 20_000
"""Most branches before best-fit decreasing is taken as the answer."""


def pack_shares(
    shared_free: Sequence[int], idle: int, capacity: int, items: Sequence[int]
) -> list[int] | None:
    """Assign shares to GPUs so that as few idle GPUs as possible are opened.

    Parameters
    ----------
    shared_free
        Units left on each GPU that is shared already.
    idle
        Number of idle GPUs that may be opened.
    capacity
        Units of an idle GPU.
    items
        Units of each share, positive.

    Returns
    -------
    list of int or None
        Per item the bin: ``0 .. len(shared_free) - 1`` are the shared GPUs, those after it the
        opened ones in order of opening. None if they do not fit.
    """
    if not items:
        return []
    order = sorted(range(len(items)), key=lambda index: (-items[index], index))
    sizes = [items[index] for index in order]
    first = _best_fit_decreasing(list(shared_free), idle, capacity, sizes)
    opened = _opened(first, len(shared_free)) if first is not None else idle + 1
    least = _least_opened(shared_free, capacity, sizes)
    if opened > least:
        better = _search(list(shared_free), capacity, sizes, least, min(opened - 1, idle))
        first = better if better is not None else first
    if first is None:
        return None
    result = [0] * len(items)
    for position, index in enumerate(order):
        result[index] = first[position]
    return result


def opened_gpus(
    shared_free: Sequence[int], idle: int, capacity: int, items: Sequence[int]
) -> int | None:
    """Fewest idle GPUs that the shares need beyond the shared ones; None if they do not fit."""
    packed = pack_shares(shared_free, idle, capacity, items)
    return None if packed is None else _opened(packed, len(shared_free))


def _opened(assignment: Sequence[int], shared: int) -> int:
    return max(0, max(assignment, default=-1) - shared + 1)


def _least_opened(shared_free: Sequence[int], capacity: int, sizes: Sequence[int]) -> int:
    beyond = sum(sizes) - sum(shared_free)
    return max(0, -(-beyond // capacity)) if capacity else 0


def _best_fit_decreasing(
    free: list[int], idle: int, capacity: int, sizes: Sequence[int]
) -> list[int] | None:
    shared = len(free)
    result: list[int] = []
    for size in sizes:
        best = -1
        for bin_index, left in enumerate(free):
            if left >= size and (best < 0 or left < free[best]):
                best = bin_index
        if best < 0:
            if len(free) - shared >= idle or size > capacity:
                return None
            free.append(capacity)
            best = len(free) - 1
        free[best] -= size
        result.append(best)
    return result


def _search(
    shared_free: list[int], capacity: int, sizes: Sequence[int], least: int, most: int
) -> list[int] | None:
    budget = [SEARCH_LIMIT]
    for opened in range(least, most + 1):
        free = shared_free + [capacity] * opened
        result = [0] * len(sizes)
        if _place(free, sizes, 0, result, budget):
            return _renumbered(result, len(shared_free))
        if budget[0] <= 0:
            return None
    return None


def _place(
    free: list[int], sizes: Sequence[int], index: int, result: list[int], budget: list[int]
) -> bool:
    if index == len(sizes):
        return True
    size = sizes[index]
    tried: set[int] = set()
    # An item equal to the one before it never needs an earlier bin: symmetric otherwise.
    start = result[index - 1] if index and sizes[index - 1] == size else 0
    for bin_index in range(start, len(free)):
        left = free[bin_index]
        if left < size or left in tried:
            continue
        tried.add(left)
        budget[0] -= 1
        if budget[0] <= 0:
            return False
        free[bin_index] = left - size
        result[index] = bin_index
        if _place(free, sizes, index + 1, result, budget):
            return True
        free[bin_index] = left
    return False


def _renumbered(assignment: list[int], shared: int) -> list[int]:
    """Number opened bins in order of first use, so that unused ones do not count."""
    names: dict[int, int] = {}
    renamed = []
    for bin_index in assignment:
        if bin_index < shared:
            renamed.append(bin_index)
        else:
            renamed.append(names.setdefault(bin_index, shared + len(names)))
    return renamed
