"""What pydantic found, as faults: places as the user wrote them, messages in plain words."""

import difflib
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from placement.faults import FieldFaultsError, Location
from placement.problem import ProblemDocument
from placement.quantities import shown
from placement.workload import TASK_FIELDS, Job

Finding = tuple[Location, str]
"""Where in the document, and what is wrong there."""


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Of some words the one most like ``word``, if one is near."""
    return _nearest(word, frozenset(words))


@lru_cache(maxsize=1000)
def _nearest(word: str, words: frozenset[str]) -> str | None:
    by_lower = {known.lower(): known for known in sorted(words)}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """``; did you mean "x"?``, or the choices if they are few, or nothing."""
    known = sorted(set(words))
    close = nearest(word, known)
    if close is not None:
        return f"; did you mean {shown(close)}?"
    if known and len(known) <= 12:
        return "; there is " + ", ".join(shown(name) for name in known)
    return ""


_UNKNOWN_KEY = "unknown key"
NOTHING_ASKED = "the job asks for nothing; give tasks, or cpu, memory, gpus or another"


def schema_findings(error: ValidationError, written: object) -> list[Finding]:
    """Convert what pydantic found in the document ``written``."""
    findings: list[Finding] = []
    for detail in error.errors(include_url=False):
        location = tuple(part for part in detail["loc"] if not _is_internal(part))
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, FieldFaultsError):
            inside = cause.faults
        elif isinstance(cause, ValueError):
            inside = (((), str(cause)),)
        else:
            inside = (((), _message(detail, location, written)),)
        findings += [(as_written((*location, *at), written), message) for at, message in inside]
    # A job whose only task field is misspelt does ask for something.
    misspelt = {place[:2] for place, message in findings if message.startswith(_UNKNOWN_KEY)}
    return [
        (place[:2] if message == NOTHING_ASKED else place, message)
        for place, message in findings
        if message != NOTHING_ASKED or place[:2] not in misspelt
    ]


def _is_tasks_of_job(location: Location) -> bool:
    return len(location) == 3 and location[0] == "jobs" and location[2] == "tasks"


def _is_internal(part: object) -> bool:
    return part in ("[key]", "<text>", "<mapping>", "<list>")


def as_written(location: Location, written: object) -> Location:
    """Location without ``tasks[0]`` where the job carries its task's fields itself."""
    if len(location) > 3 and location[0] == "jobs" and location[2:4] == ("tasks", 0):
        try:
            job = written["jobs"][location[1]]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return location
        if isinstance(job, Mapping) and "tasks" not in job:
            return location[:2] + location[4:]
    return location


def _message(detail: Any, location: Location, written: object) -> str:
    kind: str = detail["type"]
    value = detail.get("input")
    if kind == "missing":
        return NOTHING_ASKED if _is_tasks_of_job(location) else "is missing"
    if kind == "extra_forbidden":
        return _unknown_key(location, written)
    if kind in ("enum", "literal_error"):
        choices = re.findall(r"'([^']*)'", str(detail.get("ctx", {}).get("expected", "")))
        wanted = " or ".join(choices)
        if isinstance(value, str):
            close = nearest(value, choices)
            if close is not None and len(choices) > 1:
                return f"{shown(value)} is not one of {wanted}; did you mean {close}?"
        return f"{shown(value)} is not {'one of ' if len(choices) > 1 else ''}{wanted}"
    if kind in ("model_type", "model_attributes_type", "mapping_type", "dict_type"):
        return f"{shown(value)} where a mapping is expected"
    if kind in ("tuple_type", "list_type", "iterable_type"):
        return f"{shown(value)} where a list is expected"
    if kind == "too_short":
        least = detail.get("ctx", {}).get("min_length", 1)
        return "the list is empty" if least == 1 else f"the list has fewer than {least} entries"
    if kind == "invalid_key":
        return "a key is not text"
    if kind in ("string_type", "string_unicode", "string_sub_type"):
        return f"{shown(value)} is not text"
    return str(detail["msg"]).removeprefix("Value error, ")


def _unknown_key(location: Location, written: object) -> str:
    key = str(location[-1])
    if key == "<<":
        return "merge keys are not part of YAML 1.2; write the fields out"
    keys = keys_at(location[:-1])
    if len(location) == 3 and location[0] == "jobs" and isinstance(written, Mapping):
        job: Any = written["jobs"][location[1]]
        if "tasks" not in job:
            keys |= TASK_FIELDS
        elif key in TASK_FIELDS:
            return "is a field of a task, and the job has tasks"
    close = nearest(key, keys)
    if close is not None:
        return f"{_UNKNOWN_KEY}; did you mean {close}?"
    return f"{_UNKNOWN_KEY}; known are {', '.join(sorted(keys))}" if keys else _UNKNOWN_KEY


def keys_at(location: Sequence[str | int]) -> frozenset[str]:
    """Keys that a mapping at this place of a document may have; empty if any."""
    # All entries of a list are alike.
    return _keys_at(tuple(0 if isinstance(part, int) else part for part in location))


@lru_cache(maxsize=1000)
def _keys_at(location: Location) -> frozenset[str]:
    annotations: list[Any] = [ProblemDocument]
    for part in location:
        annotations = [found for annotation in annotations for found in _inside(annotation, part)]
    keys: set[str] = set()
    for annotation in annotations:
        for kind in _alternatives(annotation):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                keys |= {field.alias or name for name, field in kind.model_fields.items()}
    return frozenset(keys)


def _alternatives(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _alternatives(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [found for choice in get_args(annotation) for found in _alternatives(choice)]
    return [annotation]


def _inside(annotation: Any, part: str | int) -> list[Any]:
    found: list[Any] = []
    for kind in _alternatives(annotation):
        if isinstance(part, int):
            if get_origin(kind) is tuple:
                found.append(get_args(kind)[0])
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            for name, field in kind.model_fields.items():
                if (field.alias or name) == part:
                    found.append(field.annotation)
            if kind is Job and part in TASK_FIELDS:
                found += _inside(_inside(Job.model_fields["tasks"].annotation, 0)[0], part)
        elif get_origin(kind) is not None and issubclass(get_origin(kind), Mapping):
            found.append(get_args(kind)[1])
    return found
