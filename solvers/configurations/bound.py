"""A proven upper bound on what any placement of independent tasks is worth.

Think of every way to fill one node, a *configuration*: tasks that fit its countable resources
together, and its GPUs one by one. A placement gives each node one configuration. Let nodes of a
shape be split over configurations in any proportion, not only whole nodes, and no task be used more
often than there are tasks of its class: the linear program that maximises the value of what is
placed is a relaxation, so its optimum bounds every placement.

There are too many configurations to list. Column generation (Gilmore and Gomory, "A Linear
Programming Approach to the Cutting-Stock Problem", Operations Research 9, 1961) solves the program
over a few of them, asks for each shape which configuration is worth most at the dual prices of the
tasks, and adds it, until none is worth more than what it replaces.

The bound does not rest on the linear program or its floats. Take any prices of the tasks, rounded
to integers. If ``worth[s]`` is at least what the best configuration of shape ``s`` earns beyond its
prices, then by weak duality no placement is worth more than::

    sum(price[k] * supply[k] for k in classes) + sum(count[s] * worth[s] for s in shapes)

which is evaluated in integers; so each round yields a bound, as in Farley, "A Note on Bounding a
Class of Linear Programming Problems", Operations Research 38, 1990. The best of all rounds counts.

Not used, so that the bound could be lower: that nodes are whole, and that one configuration cannot
use a class more often than it has tasks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from ortools.math_opt.python import mathopt  # type: ignore[import-untyped]

from solvers.configurations.classes import (
    Configuration,
    IntArray,
    NodeShapes,
    TaskClasses,
    total,
)
from solvers.configurations.pricing import Pricing

_LARGEST_VALUE = 2**34
"""Values times the scale of the prices stay below this, so that sums fit 63 bits."""


@dataclass(frozen=True, slots=True)
class Fractional:
    """The bound, and the fractional placement behind it.

    Attributes
    ----------
    bound
        No placement is worth more.
    reached
        Optimum of the linear program over the configurations generated; in general out of reach
        with whole nodes. The optimum over all configurations is not less, and rounded down it is
        at most ``bound``; so the bound cannot be improved by more than the difference.
    used
        Configurations that the linear program uses; each fits a node of its shape.
    rounds
        Times the linear program was solved.
    loss
        What a way to fill a node falls short of the best one, by ``loss(shape, tasks)``, at the
        prices that prove the bound: the bound exceeds the value of a placement by the losses of
        all nodes and the prices of all tasks left over.
    """

    bound: int
    reached: float
    used: Sequence[Configuration]
    rounds: int
    loss: Callable[[int, Mapping[int, int]], float]


class ColumnGeneration:
    """The linear program over configurations of these shapes and classes.

    Parameters
    ----------
    shapes, classes
        The nodes and the tasks.
    columns
        Configurations to begin with, as (shape, tasks); each must fit.

    Raises
    ------
    UnboundableError
        See :func:`solvers.configurations.units.small_units`.
    """

    def __init__(
        self,
        shapes: NodeShapes,
        classes: TaskClasses,
        columns: Iterable[tuple[int, Mapping[int, int]]] = (),
    ) -> None:
        self._shapes, self._classes = shapes, classes
        self._pricing = Pricing(shapes, classes)
        self._scale = max(1, _LARGEST_VALUE // max(1, int(classes.value.max(initial=1))))
        self._scale = 1 << min(20, self._scale.bit_length() - 1)
        self._master = _Master(shapes, classes)
        # Prices 0 are known to be bad once there are better ones to begin with.
        self._begun = any([self._master.add(shape, tasks) for shape, tasks in columns])

    @property
    def programs(self) -> int:
        """Dynamic programs per round: nodes that differ in more than resources need their own."""
        return self._pricing.programs

    def columns(self) -> list[tuple[int, Mapping[int, int]]]:
        """All configurations generated so far."""
        return self._master.columns()

    def run(
        self,
        *,
        stopped: Callable[[], bool],
        gap: float = 0.0,
        rounds: int | None = None,
    ) -> Fractional:
        """Generate configurations until none is missing.

        Parameters
        ----------
        stopped
            True: no new round begins; the bound is valid however few there were.
        gap
            Stop when bound and linear program differ by less than this.
        rounds
            Most rounds; None: as many as it takes.
        """
        classes, shapes = self._classes, self._shapes
        bound = int(classes.value @ classes.supply)
        prices = np.zeros(classes.size, dtype=np.int64)
        worths = [int(classes.value.sum()) * self._scale] * shapes.size
        proof = (prices, worths)
        reached, done = 0.0, 0
        if self._begun and not stopped():
            reached, duals = self._master.solve()
            prices = np.maximum(np.rint(duals * self._scale), 0).astype(np.int64)
        while not stopped() and (rounds is None or done < rounds):
            found = self._pricing.best(classes.value * self._scale - prices)
            scaled = sum(int(p) * int(s) for p, s in zip(prices, classes.supply, strict=True))
            scaled += sum(
                int(count) * best.worth for count, best in zip(shapes.count, found, strict=True)
            )
            # What is placed is worth an integer, so the fraction can go.
            if scaled // self._scale < bound:
                bound = scaled // self._scale
                proof = (prices, [best.worth for best in found])
            added = [self._master.add(shape, best.tasks) for shape, best in enumerate(found)]
            if not any(added):
                break
            reached, duals = self._master.solve()
            done += 1
            if bound - reached <= gap:
                break
            prices = np.maximum(np.rint(duals * self._scale), 0).astype(np.int64)
        self._begun = True
        return Fractional(bound, reached, self._master.used(), done, self._loss(*proof))

    def _loss(
        self, prices: IntArray, worths: Sequence[int]
    ) -> Callable[[int, Mapping[int, int]], float]:
        earns = self._classes.value * self._scale - prices

        def loss(shape: int, tasks: Mapping[int, int]) -> float:
            return (worths[shape] - total(tasks, earns)) / self._scale

        return loss


class _Master:
    """The linear program over the configurations generated so far."""

    def __init__(self, shapes: NodeShapes, classes: TaskClasses) -> None:
        self._value = classes.value
        self._model = mathopt.Model()
        self._nodes = [self._model.add_linear_constraint(ub=float(count)) for count in shapes.count]
        self._tasks = [
            self._model.add_linear_constraint(ub=float(supply)) for supply in classes.supply
        ]
        self._model.objective.is_maximize = True
        self._columns: dict[tuple[int, tuple[tuple[int, int], ...]], mathopt.Variable] = {}
        self._solver = mathopt.IncrementalSolver(self._model, mathopt.SolverType.GLOP)
        self._weights: Mapping[mathopt.Variable, float] = {}

    def add(self, shape: int, tasks: Mapping[int, int]) -> bool:
        """Add a configuration; False if it is empty or there already."""
        key = (shape, tuple(sorted(tasks.items())))
        if not tasks or key in self._columns:
            return False
        column = self._model.add_variable(lb=0.0)
        self._columns[key] = column
        self._nodes[shape].set_coefficient(column, 1.0)
        for task, number in tasks.items():
            self._tasks[task].set_coefficient(column, float(number))
        earned = sum(int(self._value[task]) * number for task, number in tasks.items())
        self._model.objective.set_linear_coefficient(column, float(earned))
        return True

    def solve(self) -> tuple[float, npt.NDArray[np.float64]]:
        """Optimum, and ``[K]`` dual prices of the tasks."""
        result = self._solver.solve()
        if not result.has_dual_feasible_solution():
            raise RuntimeError(f"linear program not solved: {result.termination}")
        duals = result.dual_values()
        self._weights = result.variable_values()
        return result.objective_value(), np.array([duals[row] for row in self._tasks])

    def columns(self) -> list[tuple[int, Mapping[int, int]]]:
        """All configurations."""
        return [(shape, dict(tasks)) for shape, tasks in self._columns]

    def used(self) -> tuple[Configuration, ...]:
        """Configurations with positive weight."""
        return tuple(
            Configuration(shape, dict(tasks), self._weights[column])
            for (shape, tasks), column in self._columns.items()
            if self._weights.get(column, 0.0) > 1e-9
        )
