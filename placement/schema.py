"""The JSON Schema of problem files, for editors; made of the models, with their shorthands."""

from typing import Any

from placement.problem import ProblemDocument
from placement.workload import TASK_FIELDS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def problem_schema() -> dict[str, Any]:
    """Make the JSON Schema (2020-12) of a whole problem document.

    It accepts what has the right form; references between parts are looked up only on reading.
    """
    schema = ProblemDocument.model_json_schema(by_alias=True, mode="validation")
    definitions: dict[str, Any] = schema["$defs"]
    _accept_task_fields(definitions["Job"], definitions["TaskGroup"])
    for definition in definitions.values():
        _write_defaults_as_people_do(definition.get("properties", {}))
    return {
        "$schema": DIALECT,
        "title": "Placement problem",
        **{key: value for key, value in schema.items() if key != "title"},
    }


def _accept_task_fields(job: dict[str, Any], group: dict[str, Any]) -> None:
    """Let a job carry the fields of its only task instead of ``tasks``."""
    of_task = {key: group["properties"][key] for key in sorted(TASK_FIELDS)}
    job["properties"] = {**job["properties"], **of_task}
    job["required"] = [key for key in job["required"] if key != "tasks"]
    any_task_field = {"anyOf": [{"required": [key]} for key in of_task]}
    job["oneOf"] = [{"required": ["tasks"]}, any_task_field]


def _write_defaults_as_people_do(properties: dict[str, Any]) -> None:
    """Give defaults in the unit in which they are written.

    Of the quantities that are read in one unit and kept in another only weights and the time limit
    have a default other than 0; both are kept in thousandths.
    """
    for name in ("weight", "intensity", "time_limit"):
        default = properties.get(name, {}).get("default")
        if isinstance(default, int):
            properties[name]["default"] = default // 1000
