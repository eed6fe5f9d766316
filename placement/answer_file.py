"""Answers as documents: what people and programs read and write of them (JSON, YAML).

The shape is that of ``docs/problem-format.md``. Keys that say nothing are left out: fields that
are absent, lists without entries, ``local_rank`` 0. Reading is the inverse; of an answer from
elsewhere only ``decisions`` must be there, so that ``placement verify`` can judge it.
"""

import json
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from placement.answer import Answer, TaskPlacement
from placement.document_file import display_name, read_document
from placement.faults import Fault, InvalidProblemError, Location, format_path
from placement.quantities import shown
from placement.text_faults import TextError

MOST_BYTES = 2**28
"""Largest file that is read, bytes."""


class InvalidAnswerError(InvalidProblemError):
    """The document is not an answer; ``faults`` name every place."""


def answer_to_document(answer: Answer) -> dict[str, Any]:
    """Return the answer as plain data: dicts, lists, text and numbers.

    The order of keys is fixed, so that equal answers give equal documents.
    """
    document: dict[str, Any] = _plain(answer)
    return document


def answer_to_json(answer: Answer) -> str:
    """Write the answer as JSON: one line per decision, ending in a newline."""
    document = answer_to_document(answer)
    parts = []
    for key, value in document.items():
        if key in ("objective", "decisions"):
            entries = ",\n  ".join(json.dumps(entry) for entry in value)
            parts.append(
                f"{json.dumps(key)}: [\n  {entries}]" if value else f"{json.dumps(key)}: []"
            )
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{" + ",\n ".join(parts) + "}\n"


def answer_to_yaml(answer: Answer) -> str:
    """Write the answer as YAML: the same document, one line per task."""
    document = answer_to_document(answer)
    for decision in document["decisions"]:
        if "tasks" in decision:
            decision["tasks"] = [_OneLine(task) for task in decision["tasks"]]
    document["objective"] = [_OneLine(tier) for tier in document["objective"]]
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=2**20, allow_unicode=True)


class _OneLine(dict[str, Any]):
    """A mapping written on one line."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data: object) -> bool:
        return True


def _represent_one_line(dumper: yaml.SafeDumper, data: _OneLine) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", data.items(), flow_style=True)


_Dumper.add_representer(_OneLine, _represent_one_line)


def _plain(value: Any) -> Any:
    """Turn a model into plain data without what says nothing."""
    if not isinstance(value, BaseModel):
        if isinstance(value, Mapping):
            return {str(key): _plain(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [_plain(entry) for entry in value]
        return value.value if isinstance(value, Enum) else value
    document: dict[str, Any] = {}
    for name, field in type(value).model_fields.items():
        entry = getattr(value, name)
        empty = entry is None or (isinstance(entry, tuple | dict) and not entry)
        implied = isinstance(value, TaskPlacement) and entry == field.default
        if field.is_required() or not (empty or implied):
            document[name] = _plain(entry)
    return document


_ABSENT: dict[str, Any] = {
    "status": "feasible",
    "objective": [],
    "fragmentation": {"before": {}, "after": {}},
    "solver": {"name": "unknown"},
}
"""What an answer from elsewhere means by leaving these out."""


def load_answer(path: Path | str) -> Answer:
    """Read an answer from a JSON or YAML file; ``-`` is standard input.

    Raises
    ------
    InvalidAnswerError
        With every fault, each with file, line and place.
    """
    name = display_name(path)
    try:
        file = read_document(path, most_bytes=MOST_BYTES)
    except TextError as error:
        raise InvalidAnswerError(
            Fault(format_path(fault.location), fault.message, name, fault.line)
            for fault in error.faults
        ) from None
    answer, findings = _examined(file.data)
    if answer is None:
        lines = file.lines([location for location, _ in findings])
        raise InvalidAnswerError(
            Fault(format_path(location), message, name, lines.get(location))
            for location, message in findings
        )
    return answer


def answer_from_document(data: Mapping[str, object]) -> Answer:
    """Read an answer from plain data.

    Parameters
    ----------
    data
        As :func:`answer_to_document` writes it; of a tier without ``status`` or ``gap`` the gap
        says whether it is optimal.

    Raises
    ------
    InvalidAnswerError
        With every fault, each with its place.
    """
    answer, findings = _examined(data)
    if answer is None:
        raise InvalidAnswerError(
            Fault(format_path(location), message) for location, message in findings
        )
    return answer


def _examined(data: object) -> tuple[Answer | None, list[tuple[Location, str]]]:
    if not isinstance(data, Mapping):
        return None, [((), f"{shown(data)} where a mapping with decisions is expected")]
    document = {**_ABSENT, **data}
    tiers = document["objective"]
    if isinstance(tiers, list):
        document["objective"] = [_with_status(tier) for tier in tiers]
    try:
        return Answer.model_validate(document), []
    except ValidationError as error:
        return None, [
            (entry["loc"], _MESSAGES.get(entry["type"], entry["msg"]))
            for entry in error.errors(include_url=False, include_context=False)
        ]


def _with_status(tier: object) -> object:
    if not isinstance(tier, dict):
        return tier
    optimal = tier.get("gap", 0) == 0
    return {"gap": 0.0, "status": "optimal" if optimal else "feasible", **tier}


_MESSAGES = {
    "dict_type": "is not a mapping",
    "extra_forbidden": "unknown key",
    "missing": "is missing",
    "model_type": "is not a mapping",
    "tuple_type": "is not a list",
}
