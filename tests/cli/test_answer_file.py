"""Tests of answers as documents."""

import json
from typing import Any

import pytest
import yaml

from placement.answer_file import (
    InvalidAnswerError,
    answer_from_document,
    answer_to_document,
    answer_to_json,
    answer_to_yaml,
)
from tests.render import sample


def test_an_answer_survives_every_form() -> None:
    """Tests that plain data, JSON and YAML give back the answer they were made of."""
    answer = sample.answer()
    assert answer_from_document(answer_to_document(answer)) == answer
    assert answer_from_document(json.loads(answer_to_json(answer))) == answer
    assert answer_from_document(yaml.safe_load(answer_to_yaml(answer))) == answer


def test_what_says_nothing_is_left_out() -> None:
    """Tests the shape of the documented answer: no empty keys, values that are 0 stay."""
    document = answer_to_document(sample.answer())
    leader, second, _ = document["decisions"][0]["tasks"]
    assert leader == {"group": "leader", "rank": 0, "node": "n01"}
    assert second["local_rank"] == 1
    assert "tasks" not in document["decisions"][3]
    assert document["decisions"][3]["why"] == {"summary": "2 of 4 tasks would fit on what is free"}
    assert document["objective"][0] == {
        "tier": "work",
        "priority": 10,
        "value": 0.4,
        "bound": 0.4,
        "gap": 0.0,
        "status": "optimal",
    }
    assert list(document) == [
        "status",
        "objective",
        "decisions",
        "fragmentation",
        "warnings",
        "solver",
    ]


def test_names_that_yaml_would_misread_stay_names() -> None:
    """Tests nodes called ``on``, ``1e3`` and ``0x1f``, and text beyond ASCII."""
    document = answer_to_document(sample.answer())
    for name, task in zip(("on", "1e3", "0x1f"), document["decisions"][0]["tasks"], strict=True):
        task["node"] = name
    document["warnings"] = ["Grüße: #1"]
    answer = answer_from_document(document)
    assert answer_to_document(answer_from_document(yaml.safe_load(answer_to_yaml(answer)))) == (
        document
    )


def test_an_answer_from_elsewhere_needs_decisions_only() -> None:
    """Tests the least that ``verify`` can judge, and a tier without its status."""
    answer = answer_from_document(
        {"decisions": [], "objective": [{"tier": "work", "value": 1, "bound": 2, "gap": 0.5}]}
    )
    assert (answer.status, answer.solver.name) == ("feasible", "unknown")
    assert answer.objective[0].status == "feasible"


@pytest.mark.parametrize(
    ("document", "faults"),
    [
        ({}, ["decisions: is missing"]),
        ([], ["a list where a mapping with decisions is expected"]),
        ({"decisions": 5}, ["decisions: is not a list"]),
        ({"decisions": [5]}, ["decisions[0]: is not a mapping"]),
        (
            {"decisions": [{"job": "a", "action": "wait", "x": 1}], "y": 1},
            ["decisions[0].x: unknown key", "y: unknown key"],
        ),
        (
            {"decisions": [], "objective": [{"tier": "work", "value": float("nan"), "bound": 1}]},
            ["objective[0].value: Input should be a finite number"],
        ),
        ({"decisions": [], "fragmentation": {"before": {}}}, ["fragmentation.after: is missing"]),
    ],
)
def test_faults_name_their_places(document: Any, faults: list[str]) -> None:
    """Tests what is said of documents that are no answers: all of it, with places."""
    with pytest.raises(InvalidAnswerError) as caught:
        answer_from_document(document)
    assert [str(fault) for fault in caught.value.faults] == faults
