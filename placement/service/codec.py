"""Protobuf to domain and back: the only module that knows both.

A problem from the wire is turned into the plain document that a file would hold and goes the way
of files from there, so that both are validated alike; its faults then name places in the message.
Nothing is lost on the way: quantities stay exact, and what the wire form says but this version
does not know is a fault.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet
from pydantic import ValidationError

from placement.answer import Answer
from placement.cluster import Cluster
from placement.faults import Fault, InvalidProblemError, format_path
from placement.objective import TierValue
from placement.policy import Policy
from placement.problem import Problem
from placement.resolve import problem_from_document
from placement.service.wire_tables import (
    Pair,
    Step,
    fault_sink,
    join,
    pair_of,
    quantity_shape,
)
from placement.v1 import answer_pb2, problem_pb2
from placement.workload import Job

_M = TypeVar("_M", bound=Message)

_CLUSTER = pair_of(Cluster, problem_pb2.Problem().cluster.DESCRIPTOR)
_JOB = pair_of(Job, problem_pb2.Problem().jobs.add().DESCRIPTOR)
_POLICY = pair_of(Policy, problem_pb2.Problem().policy.DESCRIPTOR)
_ANSWER = pair_of(Answer, answer_pb2.Answer.DESCRIPTOR)

_TOP: dict[str, tuple[str, Pair | None]] = {
    "now_time": ("now", None),
    "cluster": ("cluster", _CLUSTER),
    "jobs": ("jobs", _JOB),
    "policy": ("policy", _POLICY),
}
"""Fields of a problem on the wire: name in documents, and the pair beneath."""


_ROOT = "problem"
_STEP = re.compile(r'\.?([^.\[\]]+)|\[([0-9]+)\]|\[("(?:[^"\\]|\\.)*")\]')


class MalformedMessageError(ValueError):
    """The bytes are no message of the wanted type."""


def problem_from_wire(message: problem_pb2.Problem, *, now_unix_s: int | None = None) -> Problem:
    """Validate a problem as a file is validated.

    Parameters
    ----------
    message
        The problem; unchanged.
    now_unix_s
        The instant of a problem that names none, Unix seconds; None: the time of the call.

    Raises
    ------
    InvalidProblemError
        With every fault; each names its place in the message (``problem.jobs[3].priority``).
    """
    faults: list[Fault] = []
    report = fault_sink(faults)
    document: dict[str, object] = {}
    if message.HasField("now_time"):
        now = quantity_shape("google.protobuf.Timestamp").read(
            message.now_time, "problem.now_time", report
        )
        if isinstance(now, str):
            document["now"] = now
    if message.HasField("cluster"):
        document["cluster"] = _CLUSTER.read(message.cluster, "problem.cluster", report)
    document["jobs"] = [
        _JOB.read(job, f"problem.jobs[{index}]", report) for index, job in enumerate(message.jobs)
    ]
    if message.HasField("policy"):
        document["policy"] = _POLICY.read(message.policy, "problem.policy", report)
    faults.extend(unknown_fields(message, "problem"))
    known = {fault.path for fault in faults}
    try:
        problem = problem_from_document(document, now_unix_s=now_unix_s)
    except InvalidProblemError as error:
        # A value that could not be read is missing from the document: say so only once.
        faults += [fault for fault in wire_faults(error.faults) if fault.path not in known]
        raise type(error)(faults) from None
    if faults:
        raise InvalidProblemError(faults)
    return problem


def problem_from_bytes(data: bytes, *, now_unix_s: int | None = None) -> Problem:
    """As :func:`problem_from_wire`, from a serialised message.

    Raises
    ------
    MalformedMessageError
        The bytes are no problem.
    InvalidProblemError
        It says what is wrong with the problem.
    """
    return problem_from_wire(parse(problem_pb2.Problem, data), now_unix_s=now_unix_s)


def parse(kind: type[_M], data: bytes) -> _M:
    """Parse a message.

    Raises
    ------
    MalformedMessageError
        The bytes are no message of this type.
    """
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise MalformedMessageError(f"not a {kind.DESCRIPTOR.full_name}: {error}") from None
    return message


def problem_to_wire(problem: Problem) -> problem_pb2.Problem:
    """The problem as a message; :func:`problem_from_wire` gives an equal problem back."""
    message = problem_pb2.Problem()
    message.now_time.seconds = problem.now_unix_s
    message.now_time.SetInParent()
    _CLUSTER.write(message.cluster, problem.cluster)
    message.cluster.SetInParent()
    for job in problem.jobs:
        _JOB.write(message.jobs.add(), job)
    _POLICY.write(message.policy, problem.policy)
    return message


def problem_to_bytes(message: problem_pb2.Problem) -> bytes:
    """Serialise; the same problem gives the same bytes."""
    return message.SerializeToString(deterministic=True)


def unknown_fields(message: Message, place: str) -> list[Fault]:
    """Faults of everything in the message that this version does not know."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    if known.ByteSize() == message.ByteSize():
        return []
    return list(_find_unknown(message, place))


def answer_to_wire(answer: Answer, values: Sequence[TierValue] = ()) -> answer_pb2.Answer:
    """The answer as a message.

    Parameters
    ----------
    answer
        The answer.
    values
        The exact value of each of its tiers, in the same order; none: they are left out.
    """
    message = answer_pb2.Answer()
    _ANSWER.write(message, answer)
    for tier, value in zip(message.objective, values, strict=False):
        tier.value_units = value.value_units
        tier.units_per_one = value.unit
        tier.maximise = value.maximise
    return message


def answer_to_bytes(answer: Answer) -> bytes:
    """Serialise; the same answer gives the same bytes."""
    return answer_to_wire(answer).SerializeToString(deterministic=True)


def answer_from_wire(message: answer_pb2.Answer) -> Answer:
    """The answer of a message.

    Raises
    ------
    MalformedMessageError
        The message is no answer: a field is missing or has an unknown value.
    """
    faults: list[Fault] = []
    document = _ANSWER.read(message, "answer", fault_sink(faults))
    try:
        answer = Answer.model_validate(document)
    except ValidationError as error:
        raise MalformedMessageError(f"not an answer: {error.errors()[0]}") from None
    if faults:
        raise MalformedMessageError(f"not an answer: {faults[0]}")
    return answer


def answer_from_bytes(data: bytes) -> Answer:
    """As :func:`answer_from_wire`, from a serialised message."""
    return answer_from_wire(parse(answer_pb2.Answer, data))


def wire_faults(faults: Iterable[Fault]) -> list[Fault]:
    """Faults of a document with their places in the message."""
    return [replace(fault, path=wire_place(fault.path)) for fault in faults]


def wire_place(place: str) -> str:
    """Translate a place in a document: ``jobs[3].tasks[0].cpu``.

    Returns
    -------
    str
        The place in the message: ``problem.jobs[3].tasks[0].cpu_millicores``.
    """
    steps = _steps(place)
    if steps[:1] == [_ROOT]:
        return place
    for wire, (document, pair) in _TOP.items():
        if steps[:1] == [document]:
            steps = [wire, *_below(steps[1:], pair, to_wire=True)]
            break
    return format_path([_ROOT, *steps])


def document_place(place: str) -> str:
    """Translate a place in a message back to that in a document; see :func:`wire_place`."""
    steps = _steps(place)
    if steps[:1] != [_ROOT]:
        return place
    steps = steps[1:]
    document, pair = _TOP.get(str(steps[0]) if steps else "", ("", None))
    if document:
        steps = [document, *_below(steps[1:], pair, to_wire=False)]
    return format_path(steps)


def _below(steps: list[Step], pair: Pair | None, *, to_wire: bool) -> list[Step]:
    if pair is None:
        return steps
    index = [step for step in steps[:1] if isinstance(step, int)]
    rest = steps[len(index) :]
    return [*index, *(pair.wire_path(rest) if to_wire else pair.document_path(rest))]


def _steps(place: str) -> list[Step]:
    return [
        int(index) if index else name or json.loads(key)
        for name, index, key in _STEP.findall(place)
    ]


def _find_unknown(message: Message, place: str) -> Iterator[Fault]:
    unknown = UnknownFieldSet(message)
    for index in range(len(unknown)):
        yield Fault(place, f"unknown field, number {unknown[index].field_number}")
    for descriptor, value in message.ListFields():
        here = f"{place}.{descriptor.name}" if place else descriptor.name
        if descriptor.message_type is None:
            continue
        if descriptor.message_type.GetOptions().map_entry:
            for key in value:
                if isinstance(value[key], Message):
                    yield from _find_unknown(value[key], join(here, str(key)))
        elif descriptor.is_repeated:
            for index, item in enumerate(value):
                yield from _find_unknown(item, f"{here}[{index}]")
        else:
            yield from _find_unknown(value, here)
