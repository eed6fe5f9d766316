"""Quantities: what people write (``256Gi``, ``500m``, ``36h``) as exact integers.

Each ``parse_*`` function takes a plain value as it comes out of a YAML or JSON document and returns
an integer in the unit of its name, or raises :class:`ValueError` with a message that says what
would be right. Nothing passes through binary floating point: a float counts as it was written.
Each annotated type (``Bytes``, ``Millicores``, ...) is its parse function as a pydantic field,
with its JSON Schema.
"""

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, Inexact
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema

MOST = 2**60
"""Largest quantity in any unit: sums of a few stay within 64 bits."""

MOST_SECONDS = 1000 * 365 * 86_400
"""Longest duration: a thousand years; anything above is a slip of the unit."""

MOST_WEIGHT = 10**6
"""Largest weight."""

MOST_TASKS = 10**6
"""Most tasks of one group."""

MOST_GPUS_PER_NODE = 1024
"""Most GPUs of one node."""

MOST_NAME_LENGTH = 253
"""Longest name, in characters; as in DNS."""

EARLIEST_UNIX_S = 946_684_800
"""2000-01-01: a smaller number is not a time in Unix seconds but a slip."""

LATEST_UNIX_S = 253_402_300_799
"""The last second of the year 9999."""

_MOST_TEXT = 64
_EXACT = Context(prec=200, traps=[Inexact])

_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
_PLAIN_NUMBER = re.compile(rf"({_NUMBER})(?:[eE]([+-]?[0-9]{{1,3}}))?")
_QUANTITY = re.compile(
    rf"({_NUMBER})(?:([eE][+-]?[0-9]{{1,3}})|(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E))?"
)
_BANDWIDTH = re.compile(rf"({_NUMBER})(bps|kbps|Mbps|Gbps|Tbps)?")
_DURATION = re.compile(
    rf"(?:({_NUMBER})d)?(?:({_NUMBER})h)?(?:({_NUMBER})m)?(?:({_NUMBER})s)?(?:({_NUMBER})ms)?"
)
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")

_SUFFIX = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_BANDWIDTH_UNIT = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
_DURATION_UNIT_MS = (86_400_000, 3_600_000, 60_000, 1000, 1)


class WrittenFloat(float):
    """A float that remembers its text, so that the label ``12.10`` does not become ``12.1``."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Make it of a text that :class:`float` understands."""
        value = super().__new__(cls, text)
        value.text = text
        return value


class WrittenInt(int):
    """An integer that remembers its text (``007``, ``0x1f``)."""

    text: str

    def __new__(cls, value: int, text: str) -> Self:
        """Make it of the value and how it was written."""
        number = super().__new__(cls, value)
        number.text = text
        return number


def shown(value: object) -> str:
    """Show a written value in a message: short, on one line, as JSON would write it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, WrittenFloat | WrittenInt):
        return _short(value.text)
    if isinstance(value, int):
        return _short(str(value)) if abs(value) < 10**60 else "a number of over 60 digits"
    if isinstance(value, float | Decimal):
        return _short(str(value))
    if isinstance(value, str):
        return '"' + _short(printable(value)) + '"'
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, datetime):
        return value.isoformat()
    return f"a {type(value).__name__}"


def printable(text: str) -> str:
    """Text as it may be shown: what a terminal could obey is replaced."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _negative_or_odd(value: object) -> str | None:
    """What is wrong with a number whatever the unit; None: nothing, or it is no number."""
    if isinstance(value, bool) or value is None:
        return "is not a number"
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        return "is not a finite number"
    if isinstance(value, int | float | Decimal) and value < 0:
        return "is negative"
    if isinstance(value, str) and re.match(r"-\.?[0-9]", value):
        return "is negative"
    return None


def _text(value: object, right: str) -> str:
    """Text of a scalar that may be a quantity; checked for what is wrong in any unit."""
    odd = _negative_or_odd(value)
    if odd is not None:
        raise ValueError(f"{shown(value)} {odd}; {right}")
    if isinstance(value, WrittenFloat):
        text = value.text.removeprefix("+").replace("_", "?")
    elif isinstance(value, float):
        text = repr(value)
    elif isinstance(value, int):
        if value > MOST:
            raise ValueError(f"{shown(value)} is out of range; {right}")
        text = str(int(value))
    elif isinstance(value, Decimal):
        text = str(value)
    elif isinstance(value, str):
        text = value
    else:
        raise ValueError(f"{shown(value)} is not a quantity; {right}")
    if len(text) > _MOST_TEXT:
        raise ValueError(f"{shown(value)} is too long for a quantity; {right}")
    return text


def _whole(number: Decimal, value: object, right: str, *, unit: str, round_up: bool = False) -> int:
    if number.adjusted() > 19 or number > MOST:
        raise ValueError(f"{shown(value)} is out of range; {right}")
    whole = int(number)
    if whole == number:
        return whole
    if round_up:
        return whole + 1
    raise ValueError(f"{shown(value)} is not a whole number of {unit}; {right}")


def _scaled(number: str, scale: Decimal | int) -> Decimal:
    return _EXACT.multiply(Decimal(number), Decimal(scale))


def parse_millicores(value: object) -> int:
    """CPU: cores (``32``, ``0.5``, ``"1.5"``) or thousandths of a core (``"500m"``)."""
    right = 'write cores (32, 0.5) or millicores ("500m")'
    match = _QUANTITY.fullmatch(_text(value, right))
    if match is None or (match[3] or "").endswith("i"):
        raise ValueError(f"{shown(value)} is not an amount of CPU; {right}")
    scale = _SUFFIX[match[3] or ""] * 1000
    return _whole(_scaled(match[1] + (match[2] or ""), scale), value, right, unit="millicores")


def parse_bytes(value: object) -> int:
    """Memory or storage: a Kubernetes quantity (``256Gi``, ``1.5Ti``, ``500M``) or bytes.

    A fraction of a byte that comes of a large unit (``1.1Ti``) is rounded up, as Kubernetes does.
    """
    right = "write bytes, or a quantity such as 256Gi, 1.5Ti or 500M"
    match = _QUANTITY.fullmatch(_text(value, right))
    if match is None:
        raise ValueError(f"{shown(value)} is not an amount of bytes; {right}")
    suffix = match[3] or ""
    number = _scaled(match[1] + (match[2] or ""), _SUFFIX[suffix])
    large = _SUFFIX[suffix] > 1
    return _whole(number, value, right, unit="bytes", round_up=large and number > 1)


def parse_minimum_bytes(value: object) -> int:
    """A least amount of bytes: ``">=80Gi"``, or the amount alone."""
    if isinstance(value, str) and value.startswith(">="):
        return parse_bytes(value[2:].lstrip(" "))
    if isinstance(value, str) and value[:1] in ("<", "=", ">"):
        raise ValueError(f'{shown(value)} is not a least amount; write it as ">=80Gi"')
    return parse_bytes(value)


def parse_bits_per_second(value: object) -> int:
    """Bandwidth: ``400Gbps`` (Tbps, Gbps, Mbps, kbps, bps) or bits per second."""
    right = "write it as 400Gbps (Tbps, Gbps, Mbps, kbps, bps), or in bits per second"
    text = _text(value, right)
    match = _BANDWIDTH.fullmatch(text)
    if match is not None:
        number = _scaled(match[1], _BANDWIDTH_UNIT[match[2] or "bps"])
    else:
        plain = _PLAIN_NUMBER.fullmatch(text)
        if plain is None:
            raise ValueError(f"{shown(value)} is not a bandwidth; {right}")
        number = Decimal(text)
    return _whole(number, value, right, unit="bits per second")


def _duration_ms(value: object, right: str) -> Decimal:
    text = _text(value, right)
    if _PLAIN_NUMBER.fullmatch(text):
        return _scaled(text, 1000)
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"{shown(value)} is not a duration; {right}")
    parts = zip(match.groups(), _DURATION_UNIT_MS, strict=True)
    total = Decimal(0)
    for number, unit in parts:
        if number is not None:
            total = _EXACT.add(total, _scaled(number, unit))
    return total


def parse_seconds(value: object) -> int:
    """Parse a duration in whole seconds: ``36h``, ``1h30m``, ``7d``, ``45s``, or seconds."""
    right = "write it as 36h, 90m, 1h30m, 7d or 45s, or in seconds"
    total = _EXACT.divide(_duration_ms(value, right), Decimal(1000))
    seconds = _whole(total, value, right, unit="seconds")
    if seconds > MOST_SECONDS:
        raise ValueError(f"{shown(value)} is over a thousand years; {right}")
    return seconds


def parse_milliseconds(value: object) -> int:
    """Parse a duration in whole milliseconds: ``500ms``, ``2.5s``, ``1m``, or seconds."""
    right = "write it as 500ms, 5s or 1m30s, or in seconds"
    millis = _whole(_duration_ms(value, right), value, right, unit="milliseconds")
    if millis > MOST_SECONDS * 1000:
        raise ValueError(f"{shown(value)} is over a thousand years; {right}")
    return millis


def parse_time(value: object, now_unix_s: int | None = None) -> int:
    """Parse a time as Unix seconds; fractions of a second are dropped.

    Parameters
    ----------
    value
        RFC 3339 text with zone, a ``datetime`` with zone, Unix seconds, or, if ``now_unix_s`` is
        given, a duration after (``"+90m"``) or before (``"-2h"``) it.
    now_unix_s
        What relative times count from.
    """
    right = "write it as 2026-11-30T12:00:00Z" + (
        "" if now_unix_s is None else " or relative to now: +90m, -2h"
    )
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError(f"{shown(value)} has no time zone; {right}")
        seconds = (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    elif isinstance(value, int) and not isinstance(value, bool):
        seconds = int(value)
        if seconds < EARLIEST_UNIX_S:
            raise ValueError(f"{shown(value)} is not a time; {right}")
    elif not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a time; {right}")
    elif value[:1] in ("+", "-") and now_unix_s is not None:
        try:
            distance = parse_seconds(value[1:])
        except ValueError:
            raise ValueError(f"{shown(value)} is not a time; {right}") from None
        seconds = now_unix_s + distance if value[0] == "+" else now_unix_s - distance
    else:
        seconds = _rfc3339(value, right)
    if not 0 <= seconds <= LATEST_UNIX_S:
        raise ValueError(f"{shown(value)} is not between the years 1970 and 9999; {right}")
    return seconds


def _rfc3339(text: str, right: str) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{shown(text)} is not a time; {right}")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    zone = match[7]
    if zone is None:
        raise ValueError(f"{shown(text)} has no time zone; {right}")
    offset_s = 0
    if zone not in "Zz":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 23 or minutes > 59:
            raise ValueError(f"{shown(text)} has an impossible time zone; {right}")
        offset_s = (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
    leap = second == 60
    try:
        moment = datetime(year, month, day, hour, minute, 59 if leap else second, tzinfo=UTC)
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not a time ({error}); {right}") from None
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(seconds=1) + leap - offset_s


def format_time(unix_s: int) -> str:
    """Unix seconds as RFC 3339 in UTC: ``2026-11-30T12:00:00Z``."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def parse_gpus_milli(value: object) -> int:
    """GPUs of a task in thousandths: whole GPUs (``8``), or a share of one below 1 (``0.5``)."""
    right = "write whole GPUs (8), or a share below 1 with at most 3 decimals (0.5)"
    match = _PLAIN_NUMBER.fullmatch(_text(value, right))
    if match is None:
        raise ValueError(f"{shown(value)} is not a number of GPUs; {right}")
    milli = _whole(_scaled(match[0], 1000), value, right, unit="thousandths of a GPU")
    if milli > 1000 and milli % 1000:
        raise ValueError(f"{shown(value)} is neither; {right}")
    return milli


def parse_amount_milli(value: object) -> int:
    """GPUs in thousandths of any size: ``64``, ``1.5``; of queues, not of tasks."""
    right = "write a number of GPUs with at most 3 decimals"
    match = _PLAIN_NUMBER.fullmatch(_text(value, right))
    if match is None:
        raise ValueError(f"{shown(value)} is not a number of GPUs; {right}")
    return _whole(_scaled(match[0], 1000), value, right, unit="thousandths of a GPU")


def parse_weight_milli(value: object) -> int:
    """Parse a weight in thousandths: ``1``, ``0.25``; at most a million."""
    right = f"write a number from 0 to {MOST_WEIGHT} with at most 3 decimals"
    match = _PLAIN_NUMBER.fullmatch(_text(value, right))
    if match is None:
        raise ValueError(f"{shown(value)} is not a weight; {right}")
    milli = _whole(_scaled(match[0], 1000), value, right, unit="thousandths")
    if milli > MOST_WEIGHT * 1000:
        raise ValueError(f"{shown(value)} is out of range; {right}")
    return milli


def parse_count(value: object) -> int:
    """Parse a whole number, 0 or more; text, floats and booleans are no counts."""
    return _count(value, least=0)


def parse_positive(value: object) -> int:
    """Parse a whole number, 1 or more."""
    return _count(value, least=1)


def _count(value: object, *, least: int) -> int:
    right = f"write a whole number, {least} or more"
    if isinstance(value, bool) or not isinstance(value, int):
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
            right += f": {int(value)}, without quotes"
        raise ValueError(f"{shown(value)} is not a whole number; {right}")
    if value < least:
        raise ValueError(f"{shown(value)} is {'negative' if value < 0 else 'too small'}; {right}")
    if value > MOST:
        raise ValueError(f"{shown(value)} is out of range; {right}")
    return int(value)


def parse_priority(value: object) -> int:
    """Parse a priority: a whole number of 32 bits, higher is more important."""
    right = "write a whole number between -2147483648 and 2147483647"
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{shown(value)} is not a priority; {right}")
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"{shown(value)} is out of range; {right}")
    return int(value)


def parse_flag(value: object) -> bool:
    """Parse true or false; nothing else."""
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value)} is neither true nor false; write true or false")
    return value


def _name(value: object, *, most: int) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = scalar_text(value)
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a name; write text, in quotes if need be")
    if not value:
        raise ValueError("the name is empty")
    if len(value) > most:
        raise ValueError(f"{shown(value)} is too long for a name; at most {most} characters")
    if not value.isprintable() and _CONTROL.search(value):
        raise ValueError(f"{shown(value)} has control characters in it")
    if value[0].isspace() or value[-1].isspace():
        raise ValueError(f"{shown(value)} begins or ends with a space")
    return str(value)


def parse_identifier(value: object) -> str:
    """Parse a name: text on one line without space around it; a whole number counts as its text."""
    return _name(value, most=MOST_NAME_LENGTH)


def parse_host_expression(value: object) -> str:
    """Parse a node name or hostlist expression (``n[001-128]``), unexpanded."""
    return _name(value, most=1_000_000)


def scalar_text(value: object) -> str:
    """Text of a scalar as it was written; raises :class:`ValueError` for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, WrittenFloat | WrittenInt):
        return value.text
    if isinstance(value, int) and abs(value) < 10**60:
        return str(value)
    if isinstance(value, float | Decimal) and math.isfinite(value):
        return str(value)
    raise ValueError(f"{shown(value)} is not text; write it in quotes")


def parse_label_value(value: object) -> str:
    """Parse the value of a label or taint: text, or a number or boolean as it was written."""
    text = scalar_text(value)
    if len(text) > MOST_NAME_LENGTH:
        raise ValueError(f"{shown(text)} is too long; at most {MOST_NAME_LENGTH} characters")
    if _CONTROL.search(text):
        raise ValueError(f"{shown(text)} has control characters in it")
    return text


def _parse_time_field(value: object, info: ValidationInfo) -> int:
    context: Any = info.context
    return parse_time(value, None if context is None else context.get("now_unix_s"))


def _schema(description: str, *forms: dict[str, Any]) -> WithJsonSchema:
    shape: dict[str, Any] = dict(forms[0]) if len(forms) == 1 else {"anyOf": list(forms)}
    return WithJsonSchema({**shape, "description": description})


_ANY_NUMBER: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": MOST}
_ANY_WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": MOST}


def _pattern(expression: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^(?:{expression})$"}


_QUANTITY_FORM = _pattern(rf"(?:{_NUMBER})(?:[eE][+-]?[0-9]{{1,3}}|[KMGTPE]i|[numkMGTPE])?")
_DURATION_FORM = _pattern(
    rf"(?=.)(?:(?:{_NUMBER})d)?(?:(?:{_NUMBER})h)?(?:(?:{_NUMBER})m)?(?:(?:{_NUMBER})s)?"
    rf"(?:(?:{_NUMBER})ms)?|{_NUMBER}"
)
_NAME_FORM: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": MOST_NAME_LENGTH}

Millicores = Annotated[
    int,
    BeforeValidator(parse_millicores),
    _schema('CPU in cores (32, 0.5) or millicores ("500m")', _ANY_NUMBER, _QUANTITY_FORM),
]
"""CPU, thousandths of a core."""

Bytes = Annotated[
    int,
    BeforeValidator(parse_bytes),
    _schema("bytes, or a quantity such as 256Gi, 1.5Ti, 500M", _ANY_NUMBER, _QUANTITY_FORM),
]
"""Memory or storage, bytes."""

MinimumBytes = Annotated[
    int,
    BeforeValidator(parse_minimum_bytes),
    _schema(
        'a least amount of bytes, such as ">=80Gi"',
        _ANY_NUMBER,
        _pattern(rf"(?:>= *)?(?:{_NUMBER})(?:[eE][+-]?[0-9]{{1,3}}|[KMGTPE]i|[numkMGTPE])?"),
    ),
]
"""A least amount of memory, bytes."""

BitsPerSecond = Annotated[
    int,
    BeforeValidator(parse_bits_per_second),
    _schema(
        "bandwidth such as 400Gbps, or bits per second",
        _ANY_NUMBER,
        _pattern(rf"(?:{_NUMBER})(?:[kMGT]?bps)?"),
    ),
]
"""Bandwidth, bits per second."""

DurationSeconds = Annotated[
    int,
    BeforeValidator(parse_seconds),
    _schema("duration such as 36h, 1h30m, 7d, 45s, or seconds", _ANY_NUMBER, _DURATION_FORM),
]
"""A duration, seconds."""

DurationMillis = Annotated[
    int,
    BeforeValidator(parse_milliseconds),
    _schema("duration such as 500ms, 5s, 1m30s, or seconds", _ANY_NUMBER, _DURATION_FORM),
]
"""A duration, milliseconds."""

TimeUnixSeconds = Annotated[
    int,
    BeforeValidator(_parse_time_field),
    _schema(
        "RFC 3339 time with zone, or relative to now (+90m, -2h)",
        _pattern(
            r"[+-].+|[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
            r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
        ),
        {"type": "integer", "minimum": EARLIEST_UNIX_S, "maximum": LATEST_UNIX_S},
    ),
]
"""An instant, Unix seconds; relative times count from ``now_unix_s`` of the context."""

GpuMilli = Annotated[
    int,
    BeforeValidator(parse_gpus_milli),
    _schema(
        "whole GPUs, or a share of one below 1",
        _ANY_WHOLE,
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        _pattern(r"[0-9]+|0?\.[0-9]{1,3}"),
    ),
]
"""GPUs of a task, thousandths."""

WeightMilli = Annotated[
    int,
    BeforeValidator(parse_weight_milli),
    _schema(
        "a weight, at most 3 decimals",
        {"type": "number", "minimum": 0, "maximum": MOST_WEIGHT},
        _pattern(r"[0-9]+(?:\.[0-9]{0,3})?"),
    ),
]
"""A weight, thousandths."""

NonNegative = Annotated[
    int, BeforeValidator(parse_count), WithJsonSchema({"type": "integer", "minimum": 0})
]
"""A whole number, 0 or more."""

Positive = Annotated[
    int, BeforeValidator(parse_positive), WithJsonSchema({"type": "integer", "minimum": 1})
]
"""A whole number, 1 or more."""

Priority = Annotated[
    int,
    BeforeValidator(parse_priority),
    WithJsonSchema({"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}),
]
"""A priority; higher is more important."""

Flag = Annotated[bool, BeforeValidator(parse_flag), WithJsonSchema({"type": "boolean"})]
"""True or false, never a word for it."""

Identifier = Annotated[
    str,
    BeforeValidator(parse_identifier),
    WithJsonSchema({"anyOf": [_NAME_FORM, {"type": "integer"}]}),
]
"""A name."""

HostExpression = Annotated[
    str,
    BeforeValidator(parse_host_expression),
    _schema(
        "a node name, or a hostlist expression such as n[001-128]",
        {"type": "string", "minLength": 1},
        {"type": "integer"},
    ),
]
"""A node name, or a hostlist expression for many."""

LabelValue = Annotated[
    str,
    BeforeValidator(parse_label_value),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
"""The value of a label or taint; a number or boolean counts as its text."""
