"""A mixed-integer program over whole numbers, solved by HiGHS through MathOpt.

The only module that knows MathOpt. Coefficients stay Python integers until they are handed over;
:func:`scaled` brings a row into numbers that doubles hold exactly.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from ortools.math_opt.python import mathopt  # type: ignore[import-untyped]

from solvers.highs.quiet import silenced_stdout

Terms = list[tuple[int, int]]
"""Linear expression: (coefficient, variable) pairs; a variable may occur more than once."""

LARGEST_ACTIVITY = 2**40
"""Largest sum of a row that is handed over unrounded; far below the 2^53 of doubles."""

TOLERANCE = 1e-9
"""How far HiGHS may be from whole numbers and over a row; its own default is 1e-6."""


class MipStatus(Enum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class MipResult:
    """Outcome of a solve.

    Attributes
    ----------
    status
        Optimal and infeasible are claims of HiGHS, in floating point.
    values
        Per variable, rounded to whole numbers; None without a solution.
    dual_bound
        As HiGHS states it; infinite if it states none.
    """

    status: MipStatus
    values: tuple[int, ...] | None
    dual_bound: float


@dataclass(frozen=True, slots=True)
class Scaled:
    """A row ``terms <= capacity`` after :func:`scaled`; ``rounded`` if not equivalent."""

    terms: Terms
    capacity: int
    rounded: bool


def scaled(terms: Terms, capacity: int, upper: Sequence[int]) -> Scaled | None:
    """Make the coefficients of a capacity row small; None if the row can never bind.

    Division by the greatest common divisor is exact. Where the row could still sum to more than
    ``LARGEST_ACTIVITY``, demands are rounded up and the capacity down, so that whatever the row
    allows is allowed.

    Parameters
    ----------
    terms
        Demands, not negative.
    capacity
        What they may sum to.
    upper
        Upper bound of each variable.
    """
    terms = merged(terms)
    if sum(a * upper[v] for a, v in terms) <= capacity:
        return None
    divisor = math.gcd(*(a for a, _ in terms))
    terms = [(a // divisor, v) for a, v in terms]
    capacity //= divisor
    largest = sum(a * upper[v] for a, v in terms)
    if largest <= LARGEST_ACTIVITY:
        return Scaled(terms, capacity, rounded=False)
    unit = -(-largest // LARGEST_ACTIVITY)
    return Scaled([(-(-a // unit), v) for a, v in terms], capacity // unit, rounded=True)


def merged(terms: Iterable[tuple[int, int]]) -> Terms:
    """Add up the coefficients of each variable; zeros vanish."""
    total: dict[int, int] = {}
    for coefficient, variable in terms:
        total[variable] = total.get(variable, 0) + coefficient
    return [(coefficient, variable) for variable, coefficient in total.items() if coefficient]


class Mip:
    """A growing program of integer variables and linear rows.

    Attributes
    ----------
    upper
        Upper bound of each variable, by its number.
    rounded
        Whether a capacity row had to be rounded: bounds then hold for the rounded program only.
    """

    def __init__(self) -> None:
        self.upper: list[int] = []
        self.rounded = False
        self._model: Any = mathopt.Model()
        self._variables: list[Any] = []

    @property
    def variable_count(self) -> int:
        """Number of variables."""
        return len(self._variables)

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return int(self._model.get_num_linear_constraints())

    def integer(self, upper: int) -> int:
        """Add a variable in ``0 .. upper``; returns its number."""
        self._variables.append(self._model.add_integer_variable(lb=0, ub=upper))
        self.upper.append(upper)
        return len(self._variables) - 1

    def at_most(self, terms: Terms, limit: float) -> Any:
        """Add ``terms <= limit``; returns the row, for :meth:`remove`."""
        row = self._model.add_linear_constraint(ub=float(limit))
        for coefficient, variable in merged(terms):
            row.set_coefficient(self._variables[variable], float(coefficient))
        return row

    def equal(self, terms: Terms, value: int) -> None:
        """Add ``terms == value``."""
        row = self._model.add_linear_constraint(lb=float(value), ub=float(value))
        for coefficient, variable in merged(terms):
            row.set_coefficient(self._variables[variable], float(coefficient))

    def capacity(self, terms: Terms, capacity: int) -> None:
        """Add a capacity row, scaled (see :func:`scaled`); nothing if it can never bind."""
        row = scaled(terms, capacity, self.upper)
        if row is None:
            return
        self.rounded |= row.rounded
        self.at_most(row.terms, row.capacity)

    def remove(self, row: Any) -> None:
        """Take a row out again."""
        self._model.delete_linear_constraint(row)

    def maximise(self, terms: Terms, *, time_limit_s: float, seed: int) -> MipResult:
        """Solve for the largest value of ``terms``."""
        self._model.objective.clear()
        self._model.objective.is_maximize = True
        for coefficient, variable in merged(terms):
            self._model.objective.set_linear_coefficient(
                self._variables[variable], float(coefficient)
            )
        parameters = mathopt.SolveParameters(
            time_limit=timedelta(seconds=max(0.001, time_limit_s)),
            relative_gap_tolerance=0.0,
            absolute_gap_tolerance=0.0,
            random_seed=seed,
        )
        parameters.highs.double_options["mip_feasibility_tolerance"] = TOLERANCE
        parameters.highs.double_options["primal_feasibility_tolerance"] = TOLERANCE
        # HiGHS sizes its thread pool once per process and fails when asked for another size.
        parameters.highs.string_options["parallel"] = "off"
        with silenced_stdout():
            result = mathopt.solve(self._model, mathopt.SolverType.HIGHS, params=parameters)
        reason = result.termination.reason
        values: tuple[int, ...] | None = None
        if result.has_primal_feasible_solution():
            values = tuple(round(value) for value in result.variable_values(self._variables))
        status = MipStatus.STOPPED
        if reason == mathopt.TerminationReason.OPTIMAL and values is not None:
            status = MipStatus.OPTIMAL
        elif reason == mathopt.TerminationReason.INFEASIBLE:
            status = MipStatus.INFEASIBLE
        return MipResult(status, values, float(result.termination.objective_bounds.dual_bound))
