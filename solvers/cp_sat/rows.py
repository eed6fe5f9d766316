"""Linear rows that keep CP-SAT 9.15 exact: small coefficients, never rounded.

A presolve rule of 9.15 adds Boolean coefficients in 32 bits (or-tools issue 5293). Rows are
divided by their gcd; where the sum of coefficients times bounds would still reach 2^31, the row
is split by digits, ``sum a x = q sum (a // q) x + sum (a % q) x``, each part an own variable: the
same row, exactly, and no sum of coefficients beyond the limit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

SUM_LIMIT = 2**31
DIGIT = 2**15

Term = tuple[int, cp_model.IntVar, int]
"""(coefficient, variable, largest absolute value of the variable)."""


@dataclass(frozen=True, slots=True)
class Part:
    """A variable that equals a part of a split row."""

    variable: cp_model.IntVar
    terms: tuple[Term, ...]


def add_at_most(model: cp_model.CpModel, terms: Sequence[Term], limit: int) -> list[Part]:
    """Add ``sum(coefficient * variable) <= limit``; returns the variables made for it."""
    kept = [term for term in terms if term[0]]
    if not kept:
        if limit < 0:
            model.add_bool_or([])
        return []
    divisor = math.gcd(*(abs(term[0]) for term in kept))
    kept = [(c // divisor, v, b) for c, v, b in kept]
    limit //= divisor
    if sum(abs(c) for c, _, _ in kept) < SUM_LIMIT:
        model.add(
            cp_model.LinearExpr.weighted_sum([v for _, v, _ in kept], [c for c, _, _ in kept])
            <= limit
        )
        return []
    digit = DIGIT
    while sum(abs(c) // digit for c, _, _ in kept) >= SUM_LIMIT:
        digit *= 2
    high = [(_sign(c) * (abs(c) // digit), v, b) for c, v, b in kept]
    low = [(_sign(c) * (abs(c) % digit), v, b) for c, v, b in kept]
    parts = [_part(model, high), _part(model, low)]
    variables = [part.variable for part in parts]
    model.add(cp_model.LinearExpr.weighted_sum(variables, [digit, 1]) <= limit)
    return parts


def add_at_least(model: cp_model.CpModel, terms: Sequence[Term], limit: int) -> list[Part]:
    """Add ``sum(coefficient * variable) >= limit``; returns the variables made for it."""
    return add_at_most(model, [(-c, v, b) for c, v, b in terms], -limit)


def _sign(value: int) -> int:
    return -1 if value < 0 else 1


def _part(model: cp_model.CpModel, terms: Sequence[Term]) -> Part:
    """A variable equal to the sum; variables are non-negative, so signs bound it."""
    kept = [term for term in terms if term[0]]
    low = sum(c * b for c, _, b in kept if c < 0)
    high = sum(c * b for c, _, b in kept if c > 0)
    part = model.new_int_var(low, high, "")
    model.add(
        cp_model.LinearExpr.weighted_sum([v for _, v, _ in kept], [c for c, _, _ in kept]) == part
    )
    return Part(part, tuple(kept))
