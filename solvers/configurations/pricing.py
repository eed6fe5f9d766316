"""For each shape of node the configuration that earns most at given prices, and a bound on it.

Exact in the first countable resource and in GPUs (:mod:`solvers.configurations.fill`). The second
one, which seldom binds, is priced as well where the best configuration exceeds it (a Lagrangian
multiplier per shape): the worth stays an upper bound. All others are left out of the worth, which
is an upper bound then too. Configurations that are returned do fit in everything.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from solvers.configurations.classes import (
    EXACT,
    PRICED,
    BoolArray,
    IntArray,
    NodeShapes,
    TaskClasses,
    total,
)
from solvers.configurations.fill import FillTasks, NodeFill
from solvers.configurations.units import GpuUnits, small_units

_MAX_PRICED = 2**27
"""Amounts of the priced resource are brought below this, so that prices are fine enough."""

_PRICE_SCALE = 2**10
"""Prices of the priced resource are this much finer: they are multiplied by large numbers."""

_MOST_PRICES = 50


@dataclass(frozen=True, slots=True)
class Best:
    """Upper bound on what a configuration earns, and one that fits the node."""

    worth: int
    tasks: Mapping[int, int]


class Pricing:
    """Finds the best configurations of all shapes; prepared once, asked at many prices.

    Raises
    ------
    UnboundableError
        See there.
    """

    def __init__(self, shapes: NodeShapes, classes: TaskClasses) -> None:
        self._shapes, self._classes = shapes, classes
        largest = max(
            shapes.free[:, PRICED].max(initial=0), classes.demand[:, PRICED].max(initial=0)
        )
        # Both rounded down: whole amounts that fit, still fit.
        unit = -(-int(largest) // _MAX_PRICED) or 1
        common = int(np.gcd.reduce(classes.demand[:, PRICED], initial=0))
        unit = max(unit, common) if common >= unit else unit
        self._priced = classes.demand[:, PRICED] // unit
        self._priced_free = shapes.free[:, PRICED] // unit
        self._fill_tasks: list[FillTasks] = []
        self._fill_of = np.zeros(shapes.size, dtype=np.int64)
        self._left: list[tuple[int, ...]] = []
        self._units: dict[int, GpuUnits] = {}
        self._prepare_fills()

    @property
    def programs(self) -> int:
        """Dynamic programs that one round takes at most."""
        shapes = range(self._shapes.size)
        return len({self._group(shape, self._shapes.allowed[shape]) for shape in shapes})

    def _group(self, shape: int, able: BoolArray) -> tuple[bytes, int, tuple[int, ...]]:
        """Shapes of one group differ in resources and idle GPUs only."""
        return able.tobytes(), int(self._fill_of[shape]), self._left[shape]

    def _prepare_fills(self) -> None:
        """GPU kinds on which all shares are the same in proportion are one."""
        shapes, classes = self._shapes, self._classes
        numbers: dict[bytes, int] = {}
        for shape in range(shapes.size):
            kind = int(shapes.gpu_kind[shape])
            if kind not in self._units:
                self._units[kind] = self._units_on(kind)
            units = self._units[kind]
            key = units.share.tobytes() + units.capacity.to_bytes(8, "little")
            if key not in numbers:
                numbers[key] = len(self._fill_tasks)
                on_one = np.where(classes.gpus == 1, units.capacity, units.share)
                self._fill_tasks.append(
                    FillTasks(classes.demand[:, EXACT], classes.gpus, on_one, units.capacity)
                )
            self._fill_of[shape] = numbers[key]
            left = (units.left(amount) for amount in shapes.shared[shape])
            self._left.append(tuple(sorted(amount for amount in left if amount)))

    def _units_on(self, kind: int) -> GpuUnits:
        if kind < 0:
            return GpuUnits(1, np.zeros(self._classes.size, dtype=np.int64))
        shapes = np.flatnonzero(self._shapes.gpu_kind == kind).tolist()
        shared = [left for shape in shapes for left in self._shapes.shared[shape]]
        capacity = int(self._shapes.gpu_capacity[kind])
        return small_units(capacity, self._classes.share[:, kind], shared)

    def best(self, earns: IntArray) -> list[Best]:
        """For each shape: the configuration that earns most.

        Parameters
        ----------
        earns
            ``[K]`` what a task of the class earns; negative: not worth its price.
        """
        shapes = self._shapes
        groups: dict[tuple[bytes, int, tuple[int, ...]], list[int]] = {}
        for shape in range(shapes.size):
            group = self._group(shape, shapes.allowed[shape] & (earns > 0))
            groups.setdefault(group, []).append(shape)
        best: dict[int, Best] = {}
        for members in groups.values():
            # One dynamic program answers for all nodes up to the largest.
            fill = self._fill(members[0], np.where(shapes.allowed[members[0]], earns, 0), members)
            for shape in members:
                worth, tasks = fill.best(int(shapes.free[shape, EXACT]), int(shapes.idle[shape]))
                if total(tasks, self._priced) <= self._priced_free[shape]:
                    found = Best(worth, self._reduced(tasks, earns, shape))
                else:
                    found = self._within_priced(earns, shape, worth, tasks)
                best[shape] = self._with_free_tasks(found, earns, shape)
        return [best[shape] for shape in range(shapes.size)]

    def _fill(self, shape: int, earns: IntArray, members: list[int]) -> NodeFill:
        return NodeFill(
            self._fill_tasks[self._fill_of[shape]],
            earns,
            shared=self._left[shape],
            limit=int(self._shapes.free[members, EXACT].max()),
            idle=int(self._shapes.idle[members].max()),
        )

    def _within_priced(
        self, earns: IntArray, shape: int, worth: int, too_large: Mapping[int, int]
    ) -> Best:
        """Price the second resource of one shape so that configurations come to fit.

        For a price ``q >= 0``, the most that ``earns - q * amount`` can yield, plus ``q`` times
        the amount of the node, bounds what a configuration that fits can earn. As a function of
        ``q`` the bound is convex, one line per configuration: the crossing of a falling line (too
        large) and a rising one (fits) is where to look next, until no configuration lies above
        the crossing. Any price gives a valid bound, so rounding it does no harm.
        """
        earns = earns * _PRICE_SCALE
        worth *= _PRICE_SCALE
        amounts, limit = self._priced, int(self._priced_free[shape])
        highest_price = 2**60 // max(int(amounts.max()), limit, 1)
        exact, idle = int(self._shapes.free[shape, EXACT]), int(self._shapes.idle[shape])
        falling, rising = too_large, Counter[int]()
        for _ in range(_MOST_PRICES):
            surplus = total(falling, earns) - total(rising, earns)
            more = total(falling, amounts) - total(rising, amounts)
            price = min(max(surplus // more, 1), highest_price)
            net = np.where(self._shapes.allowed[shape], earns - price * amounts, 0)
            most, tasks = self._fill(shape, net, [shape]).best(exact, idle)
            top = most + price * limit
            worth = min(worth, top)
            fits = total(tasks, amounts) <= limit
            known = rising if fits else falling
            if known == tasks or total(known, net) + price * limit >= top:
                break
            if fits:
                rising = tasks
            else:
                falling = tasks
        able = (self._reduced(tasks, earns, shape) for tasks in (rising, falling))
        return Best(-(-worth // _PRICE_SCALE), max(able, key=lambda tasks: total(tasks, earns)))

    def _reduced(self, tasks: Mapping[int, int], earns: IntArray, shape: int) -> Counter[int]:
        """Leave out tasks, those that earn least for what is short first, until the rest fits."""
        left = Counter(tasks)
        for resource in range(self._classes.demand.shape[1]):
            demand = self._classes.demand[:, resource]
            excess = total(left, demand) - int(self._shapes.free[shape, resource])
            for task in sorted(left, key=lambda k: int(earns[k]) / max(int(demand[k]), 1)):
                if excess <= 0:
                    break
                if demand[task]:
                    dropped = min(left[task], -(-excess // int(demand[task])))
                    left[task] -= dropped
                    excess -= dropped * int(demand[task])
        return self._within_gpus(+left, shape)

    def _within_gpus(self, tasks: Counter[int], shape: int) -> Counter[int]:
        """Where units were rounded, shares may not fit in truth: leave those out."""
        kind = int(self._shapes.gpu_kind[shape])
        if not self._units[kind].is_rounded:
            return tasks
        classes = self._classes
        held = sum(int(classes.gpus[k]) * number for k, number in tasks.items())
        idle = int(self._shapes.idle[shape]) - held
        room = [*self._shapes.shared[shape], *[int(self._shapes.gpu_capacity[kind])] * idle]
        for task in sorted(tasks, key=lambda k: -int(classes.share[k, kind])):
            units = int(classes.share[task, kind])
            for done in range(tasks[task] if units else 0):
                able = [index for index, left in enumerate(room) if left >= units]
                if not able:
                    tasks[task] = done
                    break
                room[min(able, key=room.__getitem__)] -= units
        return +tasks

    def _with_free_tasks(self, found: Best, earns: IntArray, shape: int) -> Best:
        """Tasks that take neither GPUs nor the exact resource: as many as fit by themselves."""
        classes, shapes = self._classes, self._shapes
        takes_none = (classes.demand[:, EXACT] == 0) & (classes.gpus == 0)
        takes_none &= ~classes.share.any(axis=1) & (earns > 0) & shapes.allowed[shape]
        able = np.flatnonzero(takes_none)
        if not len(able):
            return found
        worth, tasks = found.worth, Counter(found.tasks)
        for task in able.tolist():
            demand = classes.demand[task]
            used = np.flatnonzero(demand)
            room = int((shapes.free[shape, used] // demand[used]).min()) if len(used) else 0
            number = min(room, int(classes.supply[task]))
            worth += number * int(earns[task])
            tasks[task] = number
        return Best(worth, self._reduced(tasks, earns, shape))
