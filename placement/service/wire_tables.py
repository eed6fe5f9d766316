"""Which protobuf field holds which field of a domain model: derived, not written down twice.

A message is paired with a model where a field of one is paired with a field of the other; names
follow one rule (:func:`wire_name`). From the pairs come both directions of the codec and the
translation of places in messages. The few messages that are shaped unlike their model have a
:class:`WireShape` of their own.
"""

import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Any, Literal, Protocol

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from placement.faults import Fault, format_path
from placement.policy import TargetSet
from placement.quantities import LATEST_UNIX_S, format_time
from placement.workload import UNCONSTRAINED, Topology

Report = Callable[[str, str], None]
"""Told of a place in the message and what is wrong there."""

_NANOS = 10**9

_WIRE_NAMES = {"with_": "with_jobs", "seconds": "solve_duration"}
"""Names that do not follow the rule: a keyword of many languages, a bare unit."""

_WIRE_ONLY = {"placement.v1.TierResult": frozenset({"value_units", "units_per_one", "maximise"})}
"""What the service adds to an answer: computed anew from the problem, nothing to decode."""

_ABSENT: Any = object()


def wire_name(model_name: str) -> str:
    """Name on the wire of a model's field: the same, times and durations by their types.

    >>> wire_name("started_unix_s"), wire_name("restart_s"), wire_name("cpu_millicores")
    ('started_time', 'restart_duration', 'cpu_millicores')
    """
    if model_name in _WIRE_NAMES:
        return _WIRE_NAMES[model_name]
    if model_name.endswith("_unix_s"):
        return model_name.removesuffix("_unix_s") + "_time"
    for suffix in ("_s", "_ms"):
        if model_name.endswith(suffix):
            stem = model_name.removesuffix(suffix)
            return stem if stem.endswith("duration") else f"{stem}_duration"
    return model_name


class WireShape(Protocol):
    """How one kind of value is written to a message and read as a plain value of a document."""

    def read(self, value: Any, place: str, report: Report) -> object:
        """Plain value, or ``_ABSENT`` if a fault was reported or nothing is there."""
        ...

    def write(self, parent: Any, name: str, value: Any) -> None:
        """Set the field ``name`` of the message ``parent``."""
        ...

    def document_path(self, steps: list["Step"]) -> list["Step"]:
        """Translate the steps of a place below this value, wire to document."""
        ...

    def wire_path(self, steps: list["Step"]) -> list["Step"]:
        """Translate the steps of a place below this value, document to wire."""
        ...


Step = str | int
"""One step of a place: the name of a field, a key of a map, or an index."""


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A number, text or flag; ``quantity`` is what people write for it."""

    quantity: Callable[[int], object] | None

    def read(self, value: Any, place: str, report: Report) -> object:
        return value if self.quantity is None else self.quantity(value)

    def write(self, parent: Any, name: str, value: Any) -> None:
        setattr(parent, name, value)

    def document_path(self, steps: list[Step]) -> list[Step]:
        return steps

    def wire_path(self, steps: list[Step]) -> list[Step]:
        return steps


class _Time(_Scalar):
    """Unix seconds as a Timestamp."""

    def read(self, value: Any, place: str, report: Report) -> object:
        if not 0 <= value.seconds <= LATEST_UNIX_S:
            report(place, "not between the years 1970 and 9999")
            return _ABSENT
        if value.nanos:
            report(place, "not a whole second; round it down")
        # Text, since small numbers are refused as times: in files they are slips.
        return format_time(value.seconds)

    def write(self, parent: Any, name: str, value: Any) -> None:
        message = getattr(parent, name)
        message.seconds = value
        message.SetInParent()


@dataclass(frozen=True, slots=True)
class _Duration(_Scalar):
    """Seconds or milliseconds as a Duration; ``as_float`` for measured ones."""

    per_second: int = 1
    as_float: bool = False

    def read(self, value: Any, place: str, report: Report) -> object:
        nanos = value.seconds * _NANOS + value.nanos
        if abs(value.nanos) >= _NANOS or value.seconds * value.nanos < 0:
            report(place, "seconds and nanos contradict each other")
            return _ABSENT
        return nanos / _NANOS if self.as_float else Decimal(nanos).scaleb(-9)

    def write(self, parent: Any, name: str, value: Any) -> None:
        message = getattr(parent, name)
        nanos = round(value * _NANOS) if self.as_float else value * (_NANOS // self.per_second)
        message.seconds, message.nanos = divmod(nanos, _NANOS)
        message.SetInParent()


@dataclass(frozen=True, slots=True)
class _Enum(_Scalar):
    """One of some words."""

    word_of: Mapping[int, str]
    number_of: Mapping[str, int]

    def read(self, value: Any, place: str, report: Report) -> object:
        word = self.word_of.get(value, _ABSENT)
        if word is _ABSENT:
            report(place, f"unknown enum value {value}")
        return word

    def write(self, parent: Any, name: str, value: Any) -> None:
        setattr(parent, name, self.number_of[value])


@dataclass(frozen=True, slots=True)
class _Repeated(_Scalar):
    """A list of scalars."""

    def read(self, value: Any, place: str, report: Report) -> object:
        return list(value)

    def write(self, parent: Any, name: str, value: Any) -> None:
        getattr(parent, name).extend(value)


@dataclass(frozen=True, slots=True)
class _ScalarMap(_Scalar):
    """Names to scalars."""

    def read(self, value: Any, place: str, report: Report) -> object:
        return dict(sorted(value.items()))

    def write(self, parent: Any, name: str, value: Any) -> None:
        getattr(parent, name).update(value)


class _Indices(_Scalar):
    """A tuple of indices that is an element itself: a message that holds them."""

    def read(self, value: Any, place: str, report: Report) -> object:
        return list(value.indices)

    def write(self, parent: Any, name: str, value: Any) -> None:
        message = getattr(parent, name)
        message.indices.extend(value)
        message.SetInParent()

    def document_path(self, steps: list[Step]) -> list[Step]:
        return steps[1:] if steps[:1] == ["indices"] else steps

    def wire_path(self, steps: list[Step]) -> list[Step]:
        return ["indices", *steps] if steps else steps


@dataclass(frozen=True, slots=True)
class _Fields:
    """A model as a message, field by field."""

    pair: "Pair"

    def read(self, value: Any, place: str, report: Report) -> object:
        return self.pair.read(value, place, report)

    def write(self, parent: Any, name: str, value: Any) -> None:
        message = getattr(parent, name)
        self.pair.write(message, value)
        message.SetInParent()

    def document_path(self, steps: list[Step]) -> list[Step]:
        return self.pair.document_path(steps)

    def wire_path(self, steps: list[Step]) -> list[Step]:
        return self.pair.wire_path(steps)


@dataclass(frozen=True, slots=True)
class _Many:
    """A list of what has a shape."""

    item: WireShape

    def read(self, value: Any, place: str, report: Report) -> object:
        return [
            self.item.read(message, f"{place}[{index}]", report)
            for index, message in enumerate(value)
        ]

    def write(self, parent: Any, name: str, value: Any) -> None:
        messages = getattr(parent, name)
        for item in value:
            self.item.write(_Slot(messages.add()), "value", item)

    def document_path(self, steps: list[Step]) -> list[Step]:
        return [*steps[:1], *self.item.document_path(steps[1:])]

    def wire_path(self, steps: list[Step]) -> list[Step]:
        return [*steps[:1], *self.item.wire_path(steps[1:])]


@dataclass(frozen=True, slots=True)
class _Named(_Many):
    """Names to what has a shape."""

    def read(self, value: Any, place: str, report: Report) -> object:
        return {key: self.item.read(value[key], join(place, key), report) for key in sorted(value)}

    def write(self, parent: Any, name: str, value: Any) -> None:
        messages = getattr(parent, name)
        for key, item in value.items():
            self.item.write(_Slot(messages.get_or_create(key)), "value", item)


class _Slot:
    """Stands in for a parent whose field ``value`` is this message."""

    __slots__ = ("value",)

    def __init__(self, value: Message) -> None:
        self.value = value


@dataclass(frozen=True, slots=True)
class _JobTopology:
    """``topology`` of a job: levels, or the word ``unconstrained``."""

    levels: "Pair"

    def read(self, value: Any, place: str, report: Report) -> object:
        if value.WhichOneof("kind") == "unconstrained":
            if value.unconstrained:
                return UNCONSTRAINED
            report(f"{place}.unconstrained", "set to false; leave it unset")
            return _ABSENT
        return self.levels.read(value.levels, f"{place}.levels", report)

    def write(self, parent: Any, name: str, value: Any) -> None:
        message = getattr(parent, name)
        if value == UNCONSTRAINED:
            message.unconstrained = True
        else:
            self.levels.write(message.levels, value)
            message.levels.SetInParent()

    def document_path(self, steps: list[Step]) -> list[Step]:
        return self.levels.document_path(steps[1:])

    def wire_path(self, steps: list[Step]) -> list[Step]:
        return ["levels", *self.levels.wire_path(steps)] if steps else steps


@dataclass(frozen=True, slots=True)
class _FragmentationPolicy:
    """``fragmentation`` of the policy: the word ``auto``, or sets."""

    sets: _Many

    def read(self, value: Any, place: str, report: Report) -> object:
        which = value.WhichOneof("target")
        if which == "mix":
            return {"target": self.sets.read(value.mix.sets, f"{place}.mix.sets", report)}
        if which == "auto" and not value.auto:
            report(f"{place}.auto", "set to false; leave it unset, or give the sets")
        return {}

    def write(self, parent: Any, name: str, value: Any) -> None:
        message = getattr(parent, name)
        if value.target == "auto":
            message.auto = True
        else:
            self.sets.write(message.mix, "sets", value.target)
            message.mix.SetInParent()

    def document_path(self, steps: list[Step]) -> list[Step]:
        if steps[:2] == ["mix", "sets"]:
            return ["target", *self.sets.document_path(steps[2:])]
        return ["target"] if steps else steps

    def wire_path(self, steps: list[Step]) -> list[Step]:
        if steps[:1] == ["target"]:
            return ["mix", "sets", *self.sets.wire_path(steps[1:])]
        return steps


class _QueueAmounts:
    """Amounts of a queue by the names of resources in files."""

    def read(self, value: Any, place: str, report: Report) -> object:
        result: dict[str, object] = {}
        for name, field in _AMOUNT_FIELDS.items():
            if value.HasField(field):
                quantity = _QUANTITY.get(_unit(field), int)
                result[name] = quantity(getattr(value, field))
        for model, milli in sorted(value.gpus_milli_by_model.items()):
            result[f"{_GPUS_OF}{model}"] = _QUANTITY["milli"](milli)
        for name, amount in sorted(value.resources.items()):
            if name in result or name in _AMOUNT_FIELDS:
                report(join(f"{place}.resources", name), "has a field of its own")
            result[name] = amount
        return result

    def write(self, parent: Any, name: str, value: Any) -> None:
        message = getattr(parent, name)
        message.SetInParent()
        for resource, amount in value.items():
            if resource in _AMOUNT_FIELDS:
                setattr(message, _AMOUNT_FIELDS[resource], amount)
            elif resource.startswith(_GPUS_OF):
                message.gpus_milli_by_model[resource.removeprefix(_GPUS_OF)] = amount
            else:
                message.resources[resource] = amount

    def document_path(self, steps: list[Step]) -> list[Step]:
        names = {field: name for name, field in _AMOUNT_FIELDS.items()}
        if steps[:1] == ["gpus_milli_by_model"]:
            return [f"{_GPUS_OF}{step}" for step in steps[1:2]]
        if steps[:1] == ["resources"]:
            return steps[1:]
        return [names.get(str(step), step) for step in steps]

    def wire_path(self, steps: list[Step]) -> list[Step]:
        if not steps:
            return steps
        name = str(steps[0])
        if name in _AMOUNT_FIELDS:
            return [_AMOUNT_FIELDS[name]]
        if name.startswith(_GPUS_OF):
            return ["gpus_milli_by_model", name.removeprefix(_GPUS_OF)]
        return ["resources", name]


_GPUS_OF = "gpus/"
_AMOUNT_FIELDS = {
    "gpus": "gpus_milli",
    "cpu": "cpu_millicores",
    "memory": "memory_bytes",
    "nvme": "nvme_bytes",
    "network": "network_bps",
    "slots": "slots",
}


class _FragmentationRow:
    """One row of a fragmentation report: a target set by its non-zero fields, and a count."""

    _names = ("model", "cpu_millicores", "memory_bytes", "level")

    def read(self, value: Any, place: str, report: Report) -> object:
        target = value.set
        row: dict[str, object] = {"nodes": target.nodes, "gpus": target.gpus}
        row |= {name: found for name in self._names if (found := getattr(target, name))}
        return row | {"weight_milli": target.weight_milli, "count": value.count}

    def write(self, parent: Any, name: str, value: Any) -> None:
        message = getattr(parent, name)
        message.count = value["count"]
        for key in value.keys() - {"count"}:
            setattr(message.set, key, value[key])

    def document_path(self, steps: list[Step]) -> list[Step]:
        return steps

    def wire_path(self, steps: list[Step]) -> list[Step]:
        return steps


@dataclass(frozen=True, slots=True)
class PairedField:
    """One field of a model and its field of the message.

    Attributes
    ----------
    model_name, document_name, wire_name
        In Python, in files, on the wire.
    shape
        How its values are written and read.
    default
        Value of a model that does not name the field; ``_ABSENT`` if it must.
    descriptor
        The field of the message.
    """

    model_name: str
    document_name: str
    wire_name: str
    shape: WireShape
    default: object
    descriptor: FieldDescriptor

    @property
    def is_plain_and_required(self) -> bool:
        """Whether every value must be given, but zero cannot be told from unset on the wire."""
        return (
            self.default is _ABSENT
            and not self.descriptor.has_presence
            and self.descriptor.enum_type is None
        )


class Pair:
    """A model and its message."""

    def __init__(self, model: type[BaseModel], descriptor: Descriptor) -> None:
        self.model = model
        self.descriptor = descriptor
        self.fields: tuple[PairedField, ...] = tuple(_paired_fields(model, descriptor))
        self._by_wire = {field.wire_name: field for field in self.fields}
        self._by_document = {field.document_name: field for field in self.fields}
        self._must = tuple(field for field in self.fields if field.is_plain_and_required)
        wire_only = _WIRE_ONLY.get(descriptor.full_name, frozenset())
        unpaired = {field.name for field in descriptor.fields} - self._by_wire.keys() - wire_only
        if unpaired:
            raise TypeError(f"{descriptor.full_name}: no model field for {sorted(unpaired)}")

    def read(self, message: Any, place: str, report: Report) -> dict[str, object]:
        """Plain values as people write them; a field that is not set has no key."""
        result: dict[str, object] = {}
        for descriptor, value in message.ListFields():
            field = self._by_wire.get(descriptor.name)
            if field is not None:
                plain = field.shape.read(value, f"{place}.{field.wire_name}", report)
                if plain is not _ABSENT:
                    result[field.document_name] = plain
        for field in self._must:
            if field.document_name not in result:
                # What is zero is not sent: that a name is empty is for the model to say.
                value = getattr(message, field.wire_name)
                result[field.document_name] = field.shape.read(value, "", report)
        return result

    def write(self, message: Any, model: BaseModel) -> None:
        """Set every field that is not at its default."""
        for field in self.fields:
            value = getattr(model, field.model_name)
            if value is not None and value != field.default:
                field.shape.write(message, field.wire_name, value)

    def document_path(self, steps: list[Step]) -> list[Step]:
        """Translate a place below this message, wire to document."""
        field = self._by_wire.get(str(steps[0])) if steps else None
        if field is None:
            return steps
        return [field.document_name, *field.shape.document_path(steps[1:])]

    def wire_path(self, steps: list[Step]) -> list[Step]:
        """Translate a place below this message, document to wire."""
        field = self._by_document.get(str(steps[0])) if steps else None
        if field is None:
            return steps
        return [field.wire_name, *field.shape.wire_path(steps[1:])]


@cache
def pair_of(model: type[BaseModel], descriptor: Descriptor) -> Pair:
    """The pair of a model and a message.

    Raises
    ------
    TypeError
        They do not match: one has a field that the other lacks.
    """
    return Pair(model, descriptor)


def _paired_fields(model: type[BaseModel], descriptor: Descriptor) -> Iterator[PairedField]:
    for name, info in model.model_fields.items():
        wired = descriptor.fields_by_name.get(wire_name(name))
        if wired is None:
            raise TypeError(f"{descriptor.full_name} has no field {wire_name(name)}")
        yield PairedField(
            model_name=name,
            document_name=info.alias or name,
            wire_name=wired.name,
            shape=_shape(name, info, wired),
            default=(
                _ABSENT if info.is_required() else info.get_default(call_default_factory=True)
            ),
            descriptor=wired,
        )


def _shape(name: str, info: FieldInfo, wired: FieldDescriptor) -> WireShape:
    kind = wired.message_type
    if kind is not None and kind.GetOptions().map_entry:
        value = kind.fields_by_name["value"]
        if value.message_type is None:
            return _ScalarMap(None)
        return _Named(_message_shape(name, info.annotation, value.message_type))
    if kind is not None:
        item = _message_shape(name, info.annotation, kind)
        return _Many(item) if wired.is_repeated else item
    if wired.enum_type is not None:
        return _enum_shape(_words(info.annotation), wired.enum_type)
    if wired.is_repeated:
        return _Repeated(None)
    # Without an alias the field has one name everywhere and its plain integer is what is written.
    return _Scalar(_QUANTITY.get(_unit(name)) if info.alias else None)


def _message_shape(name: str, annotation: object, kind: Descriptor) -> WireShape:
    match kind.full_name:
        case "google.protobuf.Timestamp":
            return _Time(None)
        case "google.protobuf.Duration":
            return _Duration(None, 1000 if name.endswith("_ms") else 1, as_float=name == "seconds")
        case "placement.v1.GpuIndices":
            return _Indices(None)
        case "placement.v1.QueueAmounts":
            return _QueueAmounts()
        case "placement.v1.FragmentationSet":
            return _FragmentationRow()
        case "placement.v1.JobTopology":
            levels = kind.fields_by_name["levels"].message_type
            return _JobTopology(pair_of(Topology, _required(levels)))
        case "placement.v1.FragmentationPolicy":
            mix = _required(kind.fields_by_name["mix"].message_type)
            sets = _required(mix.fields_by_name["sets"].message_type)
            return _FragmentationPolicy(_Many(_Fields(pair_of(TargetSet, sets))))
    (model,) = _models(annotation)
    return _Fields(pair_of(model, kind))


def _required(kind: Descriptor | None) -> Descriptor:
    if kind is None:
        raise TypeError("not a message")
    return kind


def _models(annotation: object) -> set[type[BaseModel]]:
    """Models named anywhere in an annotation."""
    if isinstance(annotation, type):
        return {annotation} if issubclass(annotation, BaseModel) else set()
    return {model for part in typing.get_args(annotation) for model in _models(part)}


def _words(annotation: object) -> tuple[str, ...]:
    """Words that an enumeration, or literals, admit."""
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return tuple(annotation)
    parts = typing.get_args(annotation)
    if typing.get_origin(annotation) is Literal:
        return parts
    return tuple(word for part in parts for word in _words(part))


def _enum_shape(words: tuple[str, ...], descriptor: EnumDescriptor) -> _Enum:
    """Pair words with enum values: ``NODE_STATE_READY`` without prefix and case is ``ready``."""
    numbers = {value.name.replace("_", "").lower(): value.number for value in descriptor.values}
    prefix = descriptor.name.lower()
    number_of = {
        str(word): numbers[prefix + word.replace("-", "").replace("_", "").lower()]
        for word in words
    }
    if len(set(number_of.values())) != len(descriptor.values) - 1:
        raise TypeError(f"{descriptor.full_name} does not match {sorted(number_of)}")
    return _Enum(None, {number: word for word, number in number_of.items()}, number_of)


def _unit(name: str) -> str:
    return name.rpartition("_")[2]


_QUANTITY: dict[str, Callable[[int], object]] = {
    "millicores": lambda number: f"{number}m",
    "milli": lambda number: Decimal(number).scaleb(-3),
}
"""What people write for an integer in a unit, where it is not the integer itself."""


def quantity_shape(type_name: str) -> WireShape:
    """Shape of whole seconds: as ``google.protobuf.Timestamp`` or ``google.protobuf.Duration``."""
    return _Time(None) if type_name == "google.protobuf.Timestamp" else _Duration(None)


def join(place: str, key: str) -> str:
    """Place of a key of a map, as in the places of documents."""
    step = format_path((key,))
    return f"{place}{step}" if step.startswith("[") else f"{place}.{step}"


def fault_sink(faults: list[Fault]) -> Report:
    """Report into a list."""
    return lambda place, message: faults.append(Fault(place, message))
