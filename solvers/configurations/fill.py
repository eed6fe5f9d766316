"""What one node can earn: a dynamic program over its GPUs, exact in GPUs and in one resource.

First one GPU, up to each sum of shares that it can hold; then GPU by GPU, each filled in one of
those ways or taken together with others by one task; last, tasks without GPUs, at the rate of the
one that earns most per unit of the resource (so the worth is an upper bound where there are any).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solvers.configurations.classes import IntArray

_IDLE = -1


@dataclass(frozen=True, slots=True, eq=False)
class FillTasks:
    """Tasks on GPUs of one kind, in small numbers.

    Attributes
    ----------
    amount
        ``[K]`` what a task takes of the exact resource.
    gpus
        ``[K]`` whole GPUs.
    units
        ``[K]`` units of one GPU; ``capacity`` for one whole GPU, 0 for tasks without GPUs or on
        several.
    capacity
        Units of an idle GPU.
    """

    amount: IntArray
    gpus: IntArray
    units: IntArray
    capacity: int


@dataclass(frozen=True, slots=True, eq=False)
class _Front:
    """Ways to use some GPUs of which none earns less with more of the resource than another.

    ``amount`` and ``earned`` ``[F]`` both ascend. ``before`` ``[F]`` is an index into an earlier
    front, ``step`` ``[F]`` says what was added to that.
    """

    amount: IntArray
    earned: IntArray
    before: IntArray
    step: IntArray


_ZERO: IntArray = np.zeros(1, dtype=np.int64)
_NOTHING = _Front(_ZERO, _ZERO, _ZERO, _ZERO)


class _Ways:
    """Collects extensions of fronts and keeps the ones worth keeping."""

    def __init__(self) -> None:
        self._fronts: list[_Front] = []
        self._added: list[tuple[int, int, int]] = []

    def extend(self, front: _Front, amount: int, earned: int, step: int) -> None:
        """Add one step to each way of a front."""
        self._fronts.append(front)
        self._added.append((amount, earned, step))

    def front(self, limit: int) -> _Front:
        """The ways within the limit that earn more than all that take no more."""
        sizes = np.array([len(front.amount) for front in self._fronts], dtype=np.int64)
        added_amount, added_earned, added_step = np.array(self._added, dtype=np.int64).T
        amount = np.concatenate([front.amount for front in self._fronts])
        amount += np.repeat(added_amount, sizes)
        earned = np.concatenate([front.earned for front in self._fronts])
        earned += np.repeat(added_earned, sizes)
        order = np.lexsort((-earned, amount))
        order = order[amount[order] <= limit]
        sorted_earned = earned[order]
        rises = np.ones(len(order), dtype=bool)
        rises[1:] = sorted_earned[1:] > np.maximum.accumulate(sorted_earned)[:-1]
        kept = order[rises]
        starts = np.cumsum(sizes) - sizes
        source = np.searchsorted(starts, kept, side="right") - 1
        return _Front(amount[kept], earned[kept], kept - starts[source], added_step[source])


class NodeFill:
    """What a node can earn with any amount of the resource, and any idle GPUs, up to limits.

    Parameters
    ----------
    tasks
        The tasks.
    earns
        ``[K]`` what one earns; 0 or less: never used.
    shared
        Units left on each GPU that is shared already.
    limit
        Most of the exact resource.
    idle
        Most idle GPUs.
    """

    def __init__(
        self, tasks: FillTasks, earns: IntArray, *, shared: Sequence[int], limit: int, idle: int
    ) -> None:
        self._tasks, self._limit = tasks, limit
        useful = (earns > 0) & (tasks.amount <= limit)
        self._fill_one(earns, np.flatnonzero(useful & (tasks.units > 0)))
        self._stages = [_NOTHING]
        self._levels: list[int] = []
        for left in shared:
            self._levels.append(self._level_within(left))
            self._stages.append(
                self._with_one_more(self._stages[-1], self._levels[-1]).front(limit)
            )
        several = np.flatnonzero(useful & (tasks.gpus > 1)).tolist()
        self._several = [self._stages[-1]]
        for number in range(1, idle + 1):
            ways = self._with_one_more(self._several[-1], self._full)
            for task in several:
                rest = number - int(tasks.gpus[task])
                if rest >= 0:
                    # Steps below 0 are tasks on several GPUs.
                    amount, earned = int(tasks.amount[task]), int(earns[task])
                    ways.extend(self._several[rest], amount, earned, -1 - task)
            self._several.append(ways.front(limit))
        self._find_filler(earns, useful & (tasks.units == 0) & (tasks.gpus == 0))

    def best(self, amount: int, idle: int) -> tuple[int, Counter[int]]:
        """Most that a node with these can earn (at least), and tasks, by class, that earn it.

        Tasks earn less than the first number only where there are tasks without GPUs.
        """
        tasks: Counter[int] = Counter()
        front = self._several[idle]
        way = int(np.searchsorted(front.amount, amount, side="right")) - 1
        worth = int(front.earned[way])
        if self._filler is not None:
            together = front.earned[: way + 1] + self._rate * (amount - front.amount[: way + 1])
            way = int(np.argmax(together))
            worth = int(together[way])
            number = (amount - int(front.amount[way])) // int(self._tasks.amount[self._filler])
            tasks[self._filler] += number
        while idle:
            front = self._several[idle]
            step, way = int(front.step[way]), int(front.before[way])
            if step < 0:
                tasks[-1 - step] += 1
                idle -= int(self._tasks.gpus[-1 - step])
            else:
                self._add_one(tasks, self._full, step)
                idle -= 1
        for front, level in zip(self._stages[:0:-1], self._levels[::-1], strict=True):
            step, way = int(front.step[way]), int(front.before[way])
            self._add_one(tasks, level, step)
        return worth, +tasks

    def _fill_one(self, earns: IntArray, on_one: IntArray) -> None:
        """Fronts of one GPU by the sum of its shares."""
        tasks = self._tasks
        on_one = _undominated(on_one, tasks.units, tasks.amount, earns)
        self._one = {0: _NOTHING}
        self._below: dict[int, int] = {}
        below = 0
        for level in _sums(tasks.units[on_one].tolist(), tasks.capacity):
            ways = _Ways()
            ways.extend(self._one[below], 0, 0, _IDLE)
            for task in on_one.tolist():
                # Where the rest is no sum of shares, a lower level with this task says the same.
                beside = self._one.get(level - int(tasks.units[task]))
                if beside is not None:
                    ways.extend(beside, int(tasks.amount[task]), int(earns[task]), task)
            self._one[level] = ways.front(self._limit)
            self._below[level] = below
            below = level
        self._full = below

    def _level_within(self, left: int) -> int:
        return max((level for level in self._one if level <= left), default=0)

    def _with_one_more(self, front: _Front, level: int) -> _Ways:
        one = self._one[level]
        ways = _Ways()
        pairs = zip(one.amount.tolist(), one.earned.tolist(), strict=True)
        for step, (amount, earned) in enumerate(pairs):
            ways.extend(front, amount, earned, step)
        return ways

    def _find_filler(self, earns: IntArray, without_gpus: np.ndarray) -> None:
        """The task without GPUs that earns most per unit of the resource, and that rate."""
        able = np.flatnonzero(without_gpus & (self._tasks.amount > 0))
        self._filler: int | None = None
        self._rate = 0
        for task in able.tolist():
            # Rounded up: the worth stays an upper bound.
            rate = -(-int(earns[task]) // int(self._tasks.amount[task]))
            if rate > self._rate:
                self._filler, self._rate = task, rate

    def _add_one(self, tasks: Counter[int], level: int, way: int) -> None:
        while level:
            front = self._one[level]
            step, way = int(front.step[way]), int(front.before[way])
            if step == _IDLE:
                level = self._below[level]
            else:
                tasks[step] += 1
                level -= int(self._tasks.units[step])


def _sums(shares: Sequence[int], capacity: int) -> list[int]:
    """Sums of any number of the shares, each any number of times, from 1 to one GPU; ascending."""
    reached = 1  # bit n: n is a sum
    for share in set(shares):
        multiple = share
        while multiple <= capacity:
            reached |= reached << multiple
            multiple *= 2
    return [total for total in range(1, capacity + 1) if reached >> total & 1]


def _undominated(tasks: IntArray, units: IntArray, amount: IntArray, earns: IntArray) -> IntArray:
    """Classes of which no other takes at most as much of both and earns at least as much."""
    order = tasks[np.lexsort((-earns[tasks], amount[tasks], units[tasks]))]
    kept: list[int] = []
    for task in order.tolist():
        if not any(amount[o] <= amount[task] and earns[o] >= earns[task] for o in kept):
            kept.append(task)
    return np.array(kept, dtype=np.int64)
