"""A mixed-integer program over whole numbers, solved by HiGHS through MathOpt.

The only module that knows MathOpt. HiGHS computes in doubles with absolute tolerances, which large
coefficients defeat in both directions (wrong infeasibility, wrong solutions). So no row and no
objective is handed over with a coefficient above :data:`BASE`: larger numbers are written in digits
of that base, with a carry variable from each digit to the next. That is exact, whatever their size.
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

BASE = 2**15
"""Largest coefficient that is handed over; times the tolerance of HiGHS (1e-6) far below one."""


class MipStatus(Enum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    STOPPED = "stopped"
    FAILED = "failed"


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


def merged(terms: Iterable[tuple[int, int]]) -> Terms:
    """Add up the coefficients of each variable; zeros vanish."""
    total: dict[int, int] = {}
    for coefficient, variable in terms:
        total[variable] = total.get(variable, 0) + coefficient
    return [(coefficient, variable) for variable, coefficient in total.items() if coefficient]


def digits_of(value: int, count: int) -> list[int]:
    """The ``count`` digits of a value as :meth:`Mip.digits` has them, most significant first."""
    result: list[int] = []
    for _ in range(count - 1):
        value, digit = divmod(value, BASE)
        result.append(digit)
    return [value, *reversed(result)]


def value_of(digits: Sequence[int]) -> int:
    """The value with these digits; undoes :func:`digits_of`."""
    value = 0
    for digit in digits:
        value = value * BASE + digit
    return value


class Mip:
    """A growing program of integer variables and linear rows.

    Attributes
    ----------
    upper
        Upper bound of each variable, by its number.
    """

    def __init__(self) -> None:
        self.upper: list[int] = []
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

    def at_most(self, terms: Terms, limit: int) -> None:
        """Add ``terms <= limit``."""
        self._row(terms, -math.inf, float(limit))

    def equal(self, terms: Terms, value: int) -> None:
        """Add ``terms == value``."""
        self._row(terms, float(value), float(value))

    def _row(self, terms: Terms, lower: float, upper: float) -> None:
        row = self._model.add_linear_constraint(lb=lower, ub=upper)
        for coefficient, variable in merged(terms):
            row.set_coefficient(self._variables[variable], float(coefficient))

    def capacity(self, terms: Terms, capacity: int) -> None:
        """Add ``terms <= capacity`` for demands of any size, none negative.

        Nothing is added if the row can never bind. Demands above ``BASE`` are split: with b
        the base, Q and R the sums of quotients and remainders, b Q + R <= b q + r if and only if
        there is a whole number c >= 0 with R <= b c + r and Q + c <= q.
        """
        terms = merged(terms)
        if sum(a * self.upper[v] for a, v in terms) <= capacity:
            return
        divisor = math.gcd(*(a for a, _ in terms))
        terms = [(a // divisor, v) for a, v in terms]
        capacity //= divisor
        while max(a for a, _ in terms) > BASE:
            capacity, room = divmod(capacity, BASE)
            low = [(a % BASE, v) for a, v in terms]
            carry = self.integer(self._largest(low) // BASE + 1)
            self.at_most([*low, (-BASE, carry)], room)
            terms = [*merged((a // BASE, v) for a, v in terms), (1, carry)]
        self.at_most(terms, capacity)

    def digits(self, terms: Terms) -> list[Terms]:
        """Write an expression in digits of ``BASE``, the most significant first.

        Each digit is an expression with small coefficients; all but the first are between 0 and
        ``BASE - 1``. So the expression is largest when the digits are, in lexicographic order,
        and :func:`digits_of` tells them for a value.
        """
        terms = merged(terms)
        result: list[Terms] = []
        while max((abs(a) for a, _ in terms), default=0) > BASE:
            low = [(a % BASE, v) for a, v in terms]
            carry = self.integer(self._largest(low) // BASE)
            digit = [*low, (-BASE, carry)]
            self.at_most(digit, BASE - 1)
            self.at_most([(-a, v) for a, v in digit], 0)
            result.append(digit)
            terms = [*merged((a // BASE, v) for a, v in terms), (1, carry)]
        result.append(terms)
        return result[::-1]

    def _largest(self, terms: Terms) -> int:
        return sum(a * self.upper[v] for a, v in terms)

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
        # HiGHS sizes its thread pool once per process and fails when asked for another size.
        parameters.highs.string_options["parallel"] = "off"
        try:
            with silenced_stdout():
                result = mathopt.solve(self._model, mathopt.SolverType.HIGHS, params=parameters)
        except (AttributeError, RuntimeError, ValueError):
            # An error inside HiGHS; MathOpt 9.15 stumbles over its own report of it.
            return MipResult(MipStatus.FAILED, None, math.inf)
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
