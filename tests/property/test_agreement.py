"""On random small problems: solvers, judge and brute force agree; what must not matter does not.

``slow`` runs thousands of problems, the default run few, always the same ones.
"""

import copy
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from placement.answer import Answer, Status
from placement.check import Rule, check_answer
from placement.engine import SolveOptions, solve
from placement.objective import tier_values
from placement.problem import Problem
from placement.problem_file import problem_from_document
from solvers.registry import solver_names
from tests.check.answers import Seat, answer_of
from tests.oracle.brute_force import TooLargeError, best_plan
from tests.property.problems import Document, documents, share_documents

EXACT = ("cp-sat", "highs")
"""Solvers that must prove the optimum of every tier of a small problem."""

MOST_COMBINATIONS = 4000
"""Larger problems are left to other tests; the oracle would take seconds."""

TIME_LIMIT_MS = 60_000
"""Far more than a small problem needs: a limit that is met is a failure."""

EXAMPLES = int(os.environ.get("PLACEMENT_PROPERTY_EXAMPLES", "1000"))
"""Problems per property in the slow run."""


def few(count: int) -> settings:
    """Settings of the default run: the same few problems every time."""
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )


def many() -> settings:
    """Settings of the slow run: thousands of new problems."""
    return settings(
        max_examples=EXAMPLES,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


def _problem(document: Document) -> Problem:
    return problem_from_document(document)


def _solved(problem: Problem, solver: str) -> Answer:
    # One worker: small models gain nothing from more, and the tests run side by side.
    options = SolveOptions(solver=solver, time_limit_ms=TIME_LIMIT_MS, workers=1)
    return solve(problem, options)


def _values(problem: Problem, answer: Answer) -> list[int]:
    return [value.value_units for value in tier_values(problem, answer)]


def _signed(problem: Problem, answer: Answer) -> list[int]:
    """Tier values such that more is better in each."""
    return [
        value.value_units if value.maximise else -value.value_units
        for value in tier_values(problem, answer)
    ]


def _named(problem: Problem, answer: Answer) -> dict[str, int]:
    return {
        f"{value.tier} {value.priority} {value.level}": value.value_units
        for value in tier_values(problem, answer)
    }


def agree_with_brute_force(document: Document) -> None:
    problem = _problem(document)
    try:
        best = best_plan(problem, most=MOST_COMBINATIONS)
    except TooLargeError:
        assume(False)
    for solver in EXACT:
        answer = _solved(problem, solver)
        assert check_answer(problem, answer) == ()
        assert answer.status is Status.OPTIMAL, (solver, answer.objective, answer.solver)
        found = _named(problem, answer)
        assert found == dict(zip(found, best.values, strict=True)), (solver, best.plan)


def agree_with_each_other(document: Document) -> None:
    """On problems too large for brute force, as far as both prove the optimum."""
    problem = _problem(document)
    answers = [_solved(problem, solver) for solver in EXACT]
    for first, second in zip(*(answer.objective for answer in answers), strict=True):
        # A tier is only comparable if all before it are proven and equal.
        if Status.FEASIBLE in (first.status, second.status):
            break
        assert (first.tier, first.value) == (second.tier, second.value)


def every_answer_is_legal(document: Document) -> None:
    problem = _problem(document)
    for solver in solver_names():
        answer = _solved(problem, solver)
        assert check_answer(problem, answer) == ()
        # The engine replaces a plan that breaks a rule and says so: here no solver may make one.
        refused = [
            n for n in answer.solver.notes if "refused" in n or "failed" in n or "beats" in n
        ]
        assert refused == [], solver


def a_further_node_never_hurts(document: Document, node: int) -> None:
    """The old plan stays possible, so the new optimum is at least as good in every tier."""
    before = _problem(document)
    more = copy.deepcopy(document)
    nodes = more["cluster"]["nodes"]
    nodes.append(nodes[node % len(nodes)] | {"name": "further"})
    after = _problem(more)
    old, new = _solved(before, "cp-sat"), _solved(after, "cp-sat")
    kept = answer_of(after, _seats(old))
    # A further domain may make the counts of a bounded skew uneven: then the plan is not possible.
    broken = {violation.rule for violation in check_answer(after, kept)}
    assume(Rule.SPREAD_SKEW not in broken)
    assert broken == set()
    assert _signed(after, new) >= _signed(after, kept)


def _seats(answer: Answer) -> dict[str, list[Seat]]:
    return {
        decision.job: [(task.group, task.node, task.gpus) for task in decision.tasks]
        for decision in answer.decisions
        if decision.tasks
    }


def names_and_order_do_not_matter(document: Document, order: Any) -> None:
    other = copy.deepcopy(document)
    cluster = other["cluster"]
    names = {node["name"]: f"x{99 - index}" for index, node in enumerate(cluster["nodes"])}
    for node in cluster["nodes"]:
        node["name"] = names[node["name"]]
    for running in cluster["running"]:
        for task in running["tasks"]:
            task["node"] = names[task["node"]]
    for job in other["jobs"]:
        for group in job["tasks"]:
            for near in group.get("near", ()):
                near["domains"] = [names.get(name, name) for name in near["domains"]]
    order.shuffle(cluster["nodes"])
    order.shuffle(other["jobs"])
    problem, renamed = _problem(document), _problem(other)
    first, second = _solved(problem, "cp-sat"), _solved(renamed, "cp-sat")
    assert _values(problem, first) == _values(renamed, second)


def documents_are_valid(document: Document) -> None:
    _problem(document)


@given(documents())
@few(60)
def test_exact_solvers_agree_with_brute_force(document: Document) -> None:
    agree_with_brute_force(document)


@given(share_documents())
@few(25)
def test_exact_solvers_agree_with_brute_force_on_shares(document: Document) -> None:
    agree_with_brute_force(document)


@given(documents(most_nodes=8, most_jobs=8))
@few(10)
def test_exact_solvers_agree_with_each_other(document: Document) -> None:
    agree_with_each_other(document)


@given(documents())
@few(25)
def test_every_answer_of_every_solver_is_legal(document: Document) -> None:
    every_answer_is_legal(document)


@given(documents(), st.integers(0, 3))
@few(25)
def test_a_further_node_never_hurts(document: Document, node: int) -> None:
    a_further_node_never_hurts(document, node)


@given(documents(), st.randoms(use_true_random=False))
@few(25)
def test_names_and_order_do_not_matter(document: Document, order: Any) -> None:
    names_and_order_do_not_matter(document, order)


@pytest.mark.slow
@pytest.mark.timeout(0)
@given(documents())
@many()
def test_exact_solvers_agree_with_brute_force_on_thousands(document: Document) -> None:
    agree_with_brute_force(document)


@pytest.mark.slow
@pytest.mark.timeout(0)
@given(share_documents())
@many()
def test_exact_solvers_agree_with_brute_force_on_thousands_of_shares(document: Document) -> None:
    agree_with_brute_force(document)


@pytest.mark.slow
@pytest.mark.timeout(0)
@given(documents(most_nodes=8, most_jobs=8))
@many()
def test_exact_solvers_agree_with_each_other_on_thousands(document: Document) -> None:
    agree_with_each_other(document)


@pytest.mark.slow
@pytest.mark.timeout(0)
@given(documents())
@many()
def test_every_answer_of_every_solver_is_legal_on_thousands(document: Document) -> None:
    every_answer_is_legal(document)


@pytest.mark.slow
@pytest.mark.timeout(0)
@given(documents(), st.integers(0, 3))
@many()
def test_a_further_node_never_hurts_on_thousands(document: Document, node: int) -> None:
    a_further_node_never_hurts(document, node)


@pytest.mark.slow
@pytest.mark.timeout(0)
@given(documents(), st.randoms(use_true_random=False))
@many()
def test_names_and_order_do_not_matter_on_thousands(document: Document, order: Any) -> None:
    names_and_order_do_not_matter(document, order)
