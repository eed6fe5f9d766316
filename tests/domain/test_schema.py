"""The JSON Schema accepts what is read, and marks what editors should mark."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from placement.problem import ProblemDocument
from placement.resolve import problem_from_document
from placement.schema import problem_schema
from placement.workload import TASK_FIELDS
from placement.yaml_text import parse_yaml
from tests.domain.documents import document

REPOSITORY = Path(__file__).parents[2]
RIGHT = [
    {},
    {"now": "'2026-11-30T12:00:00.5+01:00'"},
    {"jobs": "[{name: j, tasks: [{count: {min: 1, max: 2}, cpu: 500m, memory: 1.5Ti}]}]"},
    {"jobs": "[{name: j, gpus: 0.5, gpu: {model: A}, topology: unconstrained, duration: 1h30m}]"},
    {"jobs": "[{name: 7, gpus: 1, gpu: {model: [A, B], memory: '>=80Gi'}, submitted: '-2h'}]"},
    {"jobs": "[{name: j, network: 400Gbps, count: 3, intensity: 0.5, topology: {required: node}}]"},
    {"jobs": "[{name: j, cpu: 1, selector: [{key: a, op: Gt, value: 12.1}]}]"},
    {"queues": "[{name: q, guarantee: {gpus: 1.5, memory: 1Ti}, limit: {gpus/H100: 3}}]"},
    {"policy": "{time_limit: 500ms, fragmentation: {target: auto}}"},
    {"policy": "{reservations: {entitled: {gpus: '>=3'}}, fragmentation: {target: [{gpus: 1}]}}"},
    {"running": "[{job: r, count: 2, topology: unconstrained, tasks: [{node: n01, gpus: 0.5}]}]"},
]
WRONG = [
    {"clustr": "{}"},
    {"now": "'2026-11-30'"},
    {"jobs": "[{name: j, cpuz: 1}]"},
    {"jobs": "[{name: j}]"},
    {"jobs": "[{cpu: 1}]"},
    {"jobs": "[{name: j, cpu: 1, tasks: [{cpu: 1}]}]"},
    {"jobs": "[{name: j, tasks: []}]"},
    {"jobs": "[{name: j, cpu: -1}]"},
    {"jobs": "[{name: j, memory: 1Gib}]"},
    {"jobs": "[{name: j, memory: 1e400Gi}]"},
    {"jobs": "[{name: j, gpus: 1.5}]"},
    {"jobs": "[{name: j, cpu: 1, count: 0}]"},
    {"jobs": "[{name: j, cpu: 1, count: '3'}]"},
    {"jobs": "[{name: j, cpu: 1, duration: 1 hour}]"},
    {"jobs": "[{name: j, cpu: 1, duration: ''}]"},
    {"jobs": "[{name: j, cpu: 1, preemptible: 'yes'}]"},
    {"jobs": "[{name: j, network: 400GBps}]"},
    {"jobs": "[{name: j, cpu: 1, topology: none}]"},
    {"jobs": "[{name: j, cpu: 1, spread: {level: rack, mst: 1}}]"},
    {"nodes": "[{name: n, shape: hgx, state: dwn}]"},
    {"policy": "{time_limit: soon}"},
]


def documents(shared: Path | None) -> Iterator[tuple[str, Any]]:
    """Right documents on disk: our examples and cases, and the shared ones."""
    for path in sorted((REPOSITORY / "examples").glob("*.yaml")):
        yield path.name, parse_yaml(path.read_text(encoding="utf-8"))[0]
    for folder in (REPOSITORY / "tests" / "cases", *([shared / "cases"] if shared else [])):
        for path in sorted(folder.glob("*.yaml")):
            case = parse_yaml(path.read_text(encoding="utf-8"))[0]
            if "error" not in case["expect"]:
                yield path.name, case["problem"]


def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(problem_schema())
    return jsonschema.Draft202012Validator(problem_schema())


@pytest.mark.parametrize("sections", RIGHT)
def test_right_forms_are_accepted(sections: dict[str, str]) -> None:
    problem_from_document(document(**sections))
    validator().validate(document(**sections))


@pytest.mark.parametrize("sections", WRONG)
def test_wrong_forms_are_marked(sections: dict[str, str]) -> None:
    data = document()
    if "clustr" in sections:
        data["clustr"] = yaml.safe_load(sections["clustr"])
    else:
        data = document(**sections)
    with pytest.raises(ValueError, match=r"\S"):
        problem_from_document(data)
    assert not validator().is_valid(data)


def test_what_is_on_disk_is_accepted(shared: Path) -> None:
    check = validator()
    for name, data in documents(shared):
        assert [error.message for error in check.iter_errors(data)] == [], name


def test_names_are_those_of_files() -> None:
    """No unit of the models leaks: people write cpu, not cpu_millicores."""
    schema = problem_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema)) == schema
    assert schema["properties"].keys() == ProblemDocument.model_fields.keys()
    for name, definition in schema["$defs"].items():
        for key in definition.get("properties", {}):
            assert not key.endswith(("_bytes", "_millicores", "_bps", "_s", "_ms", "_milli")), name


def test_a_job_may_carry_a_task() -> None:
    job = problem_schema()["$defs"]["Job"]
    assert job["properties"].keys() >= TASK_FIELDS
    assert job["required"] == ["name"]
    assert job["additionalProperties"] is False


def test_defaults_are_in_the_units_of_files() -> None:
    definitions = problem_schema()["$defs"]
    assert definitions["Policy"]["properties"]["time_limit"]["default"] == 5
    assert definitions["Job"]["properties"]["intensity"]["default"] == 1
    assert definitions["Queue"]["properties"]["weight"]["default"] == 1
