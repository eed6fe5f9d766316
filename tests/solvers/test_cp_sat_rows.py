"""Rows with coefficients beyond 32 bits stay exact, and no sum of coefficients reaches 2^31."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from solvers.cp_sat.rows import SUM_LIMIT, add_at_least, add_at_most


def solutions(coefficients: list[int], limit: int, *, least: bool) -> set[tuple[int, ...]]:
    model = cp_model.CpModel()
    variables = [model.new_int_var(0, 2, f"x{i}") for i in range(len(coefficients))]
    terms = [(c, v, 2) for c, v in zip(coefficients, variables, strict=True)]
    (add_at_least if least else add_at_most)(model, terms, limit)
    for constraint in model.proto.constraints:
        if constraint.linear.vars:
            assert sum(abs(c) for c in constraint.linear.coeffs) < SUM_LIMIT
    found: set[tuple[int, ...]] = set()

    class Collect(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            found.add(tuple(self.value(v) for v in variables))

    solver = cp_model.CpSolver()
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    solver.solve(model, Collect())
    return found


@settings(max_examples=40)
@given(
    coefficients=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=3),
    at=st.integers(0, 26),
    off=st.integers(-1, 1),
    least=st.booleans(),
)
def test_a_split_row_has_the_same_solutions(
    coefficients: list[int], at: int, off: int, *, least: bool
) -> None:
    points = list(itertools.product(range(3), repeat=len(coefficients)))
    value = {p: sum(c * x for c, x in zip(coefficients, p, strict=True)) for p in points}
    limit = sorted(value.values())[at % len(points)] + off
    expected = {p for p in points if (value[p] >= limit if least else value[p] <= limit)}
    assert solutions(coefficients, limit, least=least) == expected


@pytest.mark.parametrize("limit", [-1, 0])
def test_a_row_without_terms_is_decided_by_its_limit(limit: int) -> None:
    model = cp_model.CpModel()
    add_at_most(model, [], limit)
    status = cp_model.CpSolver().solve(model)
    assert status == (cp_model.OPTIMAL if limit >= 0 else cp_model.INFEASIBLE)
