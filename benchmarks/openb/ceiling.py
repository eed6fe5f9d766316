"""A proven upper bound on the GPU that any placement can allocate.

Think of every way to fill one node, a *configuration*: pods that fit its CPU and memory together,
and its GPUs one by one. A placement gives each node one configuration. Let nodes of a shape be
split over configurations in any proportion, not only whole nodes, and no pod be used more often
than there are pods of its class: the linear program that maximises the GPU allocated is a
relaxation, so its optimum bounds every placement, online or not.

There are too many configurations to list. Column generation (Gilmore and Gomory, "A Linear
Programming Approach to the Cutting-Stock Problem", Operations Research 9, 1961) solves the program
over a few of them, asks for each shape which configuration is worth most at the dual prices of the
pods, and adds it, until none is worth more than what it replaces.

The bound does not rest on the linear program or its floats. Take any prices of the pods, rounded to
integers. If ``worth[s]`` is at least what the best configuration of shape ``s`` earns beyond its
prices, then by weak duality no placement allocates more than::

    sum(price[k] * supply[k] for k in classes) + sum(count[s] * worth[s] for s in shapes)

which is evaluated in integers; so each round yields a bound, as in Farley, "A Note on Bounding a
Class of Linear Programming Problems", Operations Research 38, 1990. The best of all rounds counts.

``worth`` comes from a dynamic program over the GPUs of a node that is exact in CPU and in GPU.
Memory, which seldom binds, is priced as well where the best configuration exceeds it (a Lagrangian
multiplier per shape): ``worth`` stays an upper bound, and only configurations that do fit enter the
linear program.

Not used, so that the bound could be lower: that nodes are whole, and that one configuration cannot
use a class more often than it has pods.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from ortools.math_opt.python import mathopt  # type: ignore[import-untyped]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

GPU_MILLI = 1000
"""Thousandths of one GPU."""

_SCALE = 2**20
"""Prices are integers in this fraction of a thousandth of a GPU."""

_MAX_MEMORY = 2**27
"""Largest memory, in whatever unit: prices per unit stay fine enough to matter."""

_MEMORY_SCALE = 2**10
"""Prices of memory are this much finer than those of pods: they are multiplied by large numbers."""

_IDLE = -1


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
class Configuration:
    """A way to fill one node, as often as the linear program uses it.

    Attributes
    ----------
    shape
        Index of the shape.
    pods
        Number of pods by index of the class.
    weight
        Number of nodes; not whole in general.
    """

    shape: int
    pods: Mapping[int, int]
    weight: float


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The bound, and what is known of how tight it is.

    Attributes
    ----------
    bound_milli
        No placement allocates more thousandths of a GPU.
    reached_milli
        Optimum of the linear program over the configurations generated; in general out of reach
        with whole nodes. The optimum over all configurations is not less, and rounded down it is
        at most ``bound_milli``; so the bound cannot be improved by more than the difference.
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
        A class takes parts of several GPUs, or a memory is too large for exact arithmetic.
    """
    _check(shapes, classes)
    deadline = time.monotonic() + time_limit_s
    value = classes.gpu_count * classes.milli
    capacity = GPU_MILLI * int(shapes.gpu_count @ shapes.count)
    # Prices 0 and prices equal to the values, without asking for the best configuration.
    bound = min(capacity, int(value @ classes.supply))
    master = _Master(shapes, classes)
    prices = np.zeros(len(value), dtype=np.int64)
    reached, rounds = 0.0, 0
    while time.monotonic() < deadline:
        found = _best_configurations(shapes, classes, value * _SCALE - prices)
        scaled = int(prices @ classes.supply)
        scaled += sum(
            int(count) * best.worth for count, best in zip(shapes.count, found, strict=True)
        )
        # What is allocated is an integer, so the fraction can go.
        bound = min(bound, scaled // _SCALE)
        added = [master.add(shape, best.pods) for shape, best in enumerate(found)]
        if not any(added):
            break
        reached, duals = master.solve()
        rounds += 1
        if bound - reached <= relative_gap * capacity:
            break
        prices = np.maximum(np.rint(duals * _SCALE), 0).astype(np.int64)
    return Ceiling(bound, reached, master.used(), rounds)


def _check(shapes: NodeShapes, classes: PodClasses) -> None:
    whole = classes.milli == GPU_MILLI
    share = (classes.gpu_count == 1) & (classes.milli > 0) & (classes.milli < GPU_MILLI)
    if not (whole | share | (classes.gpu_count == 0)).all():
        raise ValueError("a pod takes whole GPUs or a part of one")
    if max(shapes.memory.max(initial=0), classes.memory.max(initial=0)) > _MAX_MEMORY:
        raise ValueError(f"memory above {_MAX_MEMORY}: use a larger unit")


class _Master:
    """The linear program over the configurations generated so far."""

    def __init__(self, shapes: NodeShapes, classes: PodClasses) -> None:
        self._value = classes.gpu_count * classes.milli
        self._model = mathopt.Model()
        self._nodes = [self._model.add_linear_constraint(ub=float(count)) for count in shapes.count]
        self._pods = [
            self._model.add_linear_constraint(ub=float(supply)) for supply in classes.supply
        ]
        self._model.objective.is_maximize = True
        self._columns: dict[tuple[int, tuple[tuple[int, int], ...]], mathopt.Variable] = {}
        self._solver = mathopt.IncrementalSolver(self._model, mathopt.SolverType.GLOP)
        self._weights: Mapping[mathopt.Variable, float] = {}

    def add(self, shape: int, pods: Mapping[int, int]) -> bool:
        """Add a configuration; False if it is empty or there already."""
        key = (shape, tuple(sorted(pods.items())))
        if not pods or key in self._columns:
            return False
        column = self._model.add_variable(lb=0.0)
        self._columns[key] = column
        self._nodes[shape].set_coefficient(column, 1.0)
        for pod, number in pods.items():
            self._pods[pod].set_coefficient(column, float(number))
        earned = sum(int(self._value[pod]) * number for pod, number in pods.items())
        self._model.objective.set_linear_coefficient(column, float(earned))
        return True

    def solve(self) -> tuple[float, npt.NDArray[np.float64]]:
        """Optimum, and ``[K]`` dual prices of the pods."""
        result = self._solver.solve()
        if not result.has_dual_feasible_solution():
            raise RuntimeError(f"linear program not solved: {result.termination}")
        duals = result.dual_values()
        self._weights = result.variable_values()
        return result.objective_value(), np.array([duals[row] for row in self._pods])

    def used(self) -> tuple[Configuration, ...]:
        """Configurations with positive weight."""
        return tuple(
            Configuration(shape, dict(pods), self._weights[column])
            for (shape, pods), column in self._columns.items()
            if self._weights.get(column, 0.0) > 1e-9
        )


@dataclass(frozen=True, slots=True)
class _Best:
    """Upper bound on what a configuration earns, and one that fits the node."""

    worth: int
    pods: Mapping[int, int]


def _best_configurations(shapes: NodeShapes, classes: PodClasses, earns: IntArray) -> list[_Best]:
    """For each shape: the configuration that earns most.

    Parameters
    ----------
    shapes, classes
        The problem.
    earns
        ``[K]`` what a pod of the class earns, scaled; negative: not worth its price.
    """
    groups: dict[bytes, list[int]] = {}
    for shape, allowed in enumerate(shapes.allowed):
        groups.setdefault((allowed & (earns > 0)).tobytes(), []).append(shape)
    best: dict[int, _Best] = {}
    for members in groups.values():
        # One dynamic program answers for all nodes up to the largest.
        fill = _NodeFill(
            classes,
            np.where(shapes.allowed[members[0]], earns, 0),
            cpu=int(shapes.cpu[members].max()),
            gpu_count=int(shapes.gpu_count[members].max()),
        )
        for shape in members:
            pods = fill.best(int(shapes.cpu[shape]), int(shapes.gpu_count[shape]))
            if _total(pods, classes.memory) <= shapes.memory[shape]:
                best[shape] = _Best(_total(pods, earns), pods)
            else:
                best[shape] = _best_within_memory(shapes, classes, earns, shape, pods)
    return [best[shape] for shape in range(len(shapes.count))]


def _best_within_memory(
    shapes: NodeShapes,
    classes: PodClasses,
    earns: IntArray,
    shape: int,
    too_large: Mapping[int, int],
) -> _Best:
    """Price the memory of one shape so that configurations come to fit.

    For a price ``q >= 0``, the most that ``earns - q * memory`` can yield, plus ``q`` times the
    memory of the node, bounds what a configuration that fits can earn. As a function of ``q`` the
    bound is convex, one line per configuration: the crossing of a falling line (too large) and a
    rising one (fits) is where to look next, until no configuration lies above the crossing.
    Any price gives a valid bound, so rounding it does no harm.
    """
    earns = earns * _MEMORY_SCALE
    highest_price = 2**60 // max(int(classes.memory.max()), 1)
    cpu, memory = int(shapes.cpu[shape]), int(shapes.memory[shape])
    gpu_count = int(shapes.gpu_count[shape])
    allowed = shapes.allowed[shape]
    falling, rising = too_large, Counter[int]()
    worth = _total(too_large, earns)
    while True:
        surplus = _total(falling, earns) - _total(rising, earns)
        more_memory = _total(falling, classes.memory) - _total(rising, classes.memory)
        price = min(max(surplus // more_memory, 1), highest_price)
        net = np.where(allowed, earns - price * classes.memory, 0)
        pods = _NodeFill(classes, net, cpu=cpu, gpu_count=gpu_count).best(cpu, gpu_count)
        top = _total(pods, net) + price * memory
        worth = min(worth, top)
        fits = _total(pods, classes.memory) <= memory
        known = rising if fits else falling
        if _total(known, net) + price * memory >= top:
            reduced = _reduced(falling, earns, classes.memory, memory)
            best = max(rising, reduced, key=lambda pods: _total(pods, earns))
            return _Best(-(-worth // _MEMORY_SCALE), best)
        if fits:
            rising = pods
        else:
            falling = pods


def _reduced(
    pods: Mapping[int, int], earns: IntArray, memory: IntArray, memory_limit: int
) -> Counter[int]:
    """Leave out pods, those that earn least per memory first, until the rest fits."""
    left = Counter(pods)
    excess = _total(pods, memory) - memory_limit
    for pod in sorted(pods, key=lambda pod: int(earns[pod]) / max(int(memory[pod]), 1)):
        if excess <= 0:
            break
        if memory[pod]:
            dropped = min(left[pod], -(-excess // int(memory[pod])))
            left[pod] -= dropped
            excess -= dropped * int(memory[pod])
    return +left


def _total(pods: Mapping[int, int], per_pod: IntArray) -> int:
    return sum(int(per_pod[pod]) * number for pod, number in pods.items())


@dataclass(frozen=True, slots=True, eq=False)
class _Front:
    """Ways to use some GPUs of which none earns less with more CPU than another.

    ``cpu`` and ``earned`` ``[F]`` both ascend. ``before`` ``[F]`` is an index into an earlier
    front, ``step`` ``[F]`` says what was added to that.
    """

    cpu: IntArray
    earned: IntArray
    before: IntArray
    step: IntArray


_NOTHING = _Front(*(np.zeros(1, dtype=np.int64) for _ in range(4)))


class _Ways:
    """Collects extensions of fronts and keeps the ones worth keeping."""

    def __init__(self) -> None:
        self._fronts: list[_Front] = []
        self._added: list[tuple[int, int, int]] = []

    def extend(self, front: _Front, cpu: int, earned: int, step: int) -> None:
        """Add one step to each way of a front."""
        self._fronts.append(front)
        self._added.append((cpu, earned, step))

    def front(self, cpu_limit: int) -> _Front:
        """The ways within the limit that earn more than all with no more CPU."""
        sizes = [len(front.cpu) for front in self._fronts]
        added_cpu, added_earned, added_step = np.array(self._added, dtype=np.int64).T
        cpu = np.concatenate([front.cpu for front in self._fronts]) + np.repeat(added_cpu, sizes)
        earned = np.concatenate([front.earned for front in self._fronts])
        earned += np.repeat(added_earned, sizes)
        order = np.lexsort((-earned, cpu))
        order = order[cpu[order] <= cpu_limit]
        sorted_earned = earned[order]
        rises = np.ones(len(order), dtype=bool)
        rises[1:] = sorted_earned[1:] > np.maximum.accumulate(sorted_earned)[:-1]
        kept = order[rises]
        starts = np.cumsum(sizes) - sizes
        source = np.searchsorted(starts, kept, side="right") - 1
        return _Front(cpu[kept], earned[kept], kept - starts[source], added_step[source])


class _NodeFill:
    """What the GPUs of a node can earn with any amount of CPU up to a limit.

    First one GPU, up to each sum of shares that it can hold; then GPU by GPU, each filled in one of
    those ways or taken together with others by one pod.

    Parameters
    ----------
    classes
        The pods.
    earns
        ``[K]`` what one earns; 0 or less: never used.
    cpu, gpu_count
        Limits.
    """

    def __init__(self, classes: PodClasses, earns: IntArray, *, cpu: int, gpu_count: int) -> None:
        self._classes = classes
        useful = (earns > 0) & (classes.cpu <= cpu)
        on_one = np.flatnonzero(useful & (classes.gpu_count == 1))
        on_several = np.flatnonzero(useful & (classes.gpu_count > 1)).tolist()
        on_one = _undominated(on_one, classes.milli, classes.cpu, earns)
        self._one = {0: _NOTHING}
        self._below: dict[int, int] = {}
        below = 0
        for level in _sums(classes.milli[on_one].tolist()):
            ways = _Ways()
            ways.extend(self._one[below], 0, 0, _IDLE)
            for pod in on_one.tolist():
                # Where the rest is no sum of shares, a lower level with this pod says the same.
                beside = self._one.get(level - int(classes.milli[pod]))
                if beside is not None:
                    ways.extend(beside, int(classes.cpu[pod]), int(earns[pod]), pod)
            self._one[level] = ways.front(cpu)
            self._below[level] = below
            below = level
        self._full = below
        one = self._one[self._full]
        ways_of_one = list(zip(one.cpu.tolist(), one.earned.tolist(), strict=True))
        self._several = [_NOTHING]
        for gpus in range(1, gpu_count + 1):
            ways = _Ways()
            for step, (way_cpu, way_earned) in enumerate(ways_of_one):
                ways.extend(self._several[-1], way_cpu, way_earned, step)
            for pod in on_several:
                rest = gpus - int(classes.gpu_count[pod])
                if rest >= 0:
                    # Steps below 0 are pods on several GPUs.
                    ways.extend(
                        self._several[rest], int(classes.cpu[pod]), int(earns[pod]), -1 - pod
                    )
            self._several.append(ways.front(cpu))

    def best(self, cpu: int, gpu_count: int) -> Counter[int]:
        """Pods, by class, that earn most on a node with this CPU and this many GPUs."""
        pods: Counter[int] = Counter()
        gpus = gpu_count
        way = int(np.searchsorted(self._several[gpus].cpu, cpu, side="right")) - 1
        while gpus:
            front = self._several[gpus]
            step, way = int(front.step[way]), int(front.before[way])
            if step < 0:
                pods[-1 - step] += 1
                gpus -= int(self._classes.gpu_count[-1 - step])
            else:
                self._add_one(pods, step)
                gpus -= 1
        return pods

    def _add_one(self, pods: Counter[int], way: int) -> None:
        level = self._full
        while level:
            front = self._one[level]
            step, way = int(front.step[way]), int(front.before[way])
            if step == _IDLE:
                level = self._below[level]
            else:
                pods[step] += 1
                level -= int(self._classes.milli[step])


def _sums(shares: Sequence[int]) -> list[int]:
    """Sums of any number of the shares, each any number of times, from 1 to one GPU; ascending."""
    reached = 1  # bit n: n is a sum
    for share in set(shares):
        multiple = share
        while multiple <= GPU_MILLI:
            reached |= reached << multiple
            multiple *= 2
    return [total for total in range(1, GPU_MILLI + 1) if reached >> total & 1]


def _undominated(pods: IntArray, milli: IntArray, cpu: IntArray, earns: IntArray) -> IntArray:
    """Classes of which no other takes at most as much of GPU and CPU and earns at least as much."""
    order = pods[np.lexsort((-earns[pods], cpu[pods], milli[pods]))]
    kept: list[int] = []
    for pod in order.tolist():
        if not any(cpu[other] <= cpu[pod] and earns[other] >= earns[pod] for other in kept):
            kept.append(pod)
    return np.array(kept, dtype=np.int64)
