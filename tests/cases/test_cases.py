"""Every conformance case, with every exact way of solving it."""

from pathlib import Path

import pytest

from placement import support
from tests.cases.runner import SOLVERS, failures, load_case, own_cases, shared_cases

NOT_YET = {
    "futile-eviction-two": "policy.preemption.enabled",
    "gpus-on-one-numa-domain": "jobs[0].gpu.same",
    "large-job-is-not-starved": "policy.reservations.mode",
    "mig-legal-starts": "jobs[0].mig",
    "model-limit-and-second-choice": "cluster.queues[0].limit",
    "nvlink-pair": "jobs[0].gpu.same",
    "nvlink-pair-free": "jobs[0].gpu.same",
    "segments-across-blocks": "jobs[0].tasks[0].slices",
    "two-moves-suffice": "policy.migration.enabled",
    "victims-in-every-dimension": "policy.preemption.enabled",
}
"""Shared cases of what is not honoured yet: refused, and the message names this field."""


def _named(path: Path) -> object:
    return pytest.param(path, id=path.stem)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("path", [_named(path) for path in own_cases()])
def test_case(path: Path, solver: str) -> None:
    assert failures(load_case(path), solver) == []


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "path", [_named(path) for path in shared_cases() if path.stem not in NOT_YET]
)
def test_shared_case(path: Path, solver: str) -> None:
    assert failures(load_case(path), solver) == []


@pytest.mark.parametrize("path", [_named(path) for path in shared_cases() if path.stem in NOT_YET])
def test_shared_case_is_refused_with_the_field_named(path: Path) -> None:
    case = load_case(path) | {"expect": {"error": NOT_YET[path.stem]}}
    assert failures(case, "auto") == []


def test_a_case_is_named_by_a_sentence_and_says_where_it_comes_from() -> None:
    for path in own_cases():
        case = load_case(path)
        assert case["name"] == path.stem
        assert "-" in path.stem
        assert case["source"] and case["about"]


def test_everything_that_is_refused_has_a_case() -> None:
    tables = (
        support._OF_TASKS,
        support._OF_JOBS,
        support._OF_RUNNING_TASKS,
        support._OF_RUNNING,
        support._OF_QUEUES,
        support._OF_POLICY,
    )
    named = [str(load_case(path)["expect"].get("error")) for path in own_cases()]
    for rule in (rule for table in tables for rule in table):
        field = ".".join(str(part) for part in rule.inside)
        assert any(error.endswith(f".{field}") for error in named), field
