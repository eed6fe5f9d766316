"""Hostlist expressions (``n[001-128]``) as node names, in the order written."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator

MOST_HOSTS = 1_000_000
"""Most names of one expression, and most nodes of a cluster."""

_MOST_BRACKETS = 16
_MOST_NAME = 253
_PART = re.compile(r"([^\[\],]*)((?:\[[0-9,-]+\][^\[\],]*)*)")
_RANGES = re.compile(r"\[([0-9,-]+)\]")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


def expand_hosts(expression: str, *, room: int = MOST_HOSTS) -> list[str]:
    """Expand a node name or hostlist expression; zero padding and order are kept.

    Raises
    ------
    ValueError
        If it is no hostlist, names a node twice, or names more than :data:`MOST_HOSTS` or than
        there is ``room`` for.
    """
    if expression in ("(null)", "None assigned"):
        raise ValueError(f'"{expression}" stands for no node')
    if not re.search(r"[\[\],]", expression):
        if len(expression) > _MOST_NAME:
            raise ValueError(f"the name has over {_MOST_NAME} characters")
        return [expression]
    count = _count(expression)
    if count > MOST_HOSTS:
        raise ValueError(f"the hostlist names {count} nodes; at most {MOST_HOSTS}")
    if count > room:  # before it is expanded: many such entries would take minutes
        raise ValueError(f"the cluster has over {MOST_HOSTS} nodes")
    names = [name for part in _PART.finditer(expression) for name in _names(part[0])]
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise ValueError(f'the hostlist names "{twice}" twice')
    return names


def _names(part: str) -> Iterator[str]:
    """Expand one name with brackets; the last bracket runs fastest."""
    pieces = re.split(r"\[([^\]]*)\]", part)
    choices = [
        list(_choices(piece)) if position % 2 else [piece] for position, piece in enumerate(pieces)
    ]
    return map("".join, itertools.product(*choices)) if part else iter(())


def _choices(ranges: str) -> Iterator[str]:
    for choice in ranges.split(","):
        low, _, high = choice.partition("-")
        for number in range(int(low), int(high or low) + 1):
            yield str(number).zfill(len(low))


def _count(expression: str) -> int:
    """Count the names without making them; raise what the library would not explain."""
    count = 0
    position = 0
    while position <= len(expression):
        part = _PART.match(expression, position)
        if part is None or not part[0] or expression[part.end() : part.end() + 1] not in ("", ","):
            raise ValueError("is not a hostlist; write it as n[001-128]")
        ranges = _RANGES.findall(part[2])
        if len(ranges) > _MOST_BRACKETS:
            raise ValueError(f"the hostlist has over {_MOST_BRACKETS} brackets in one name")
        names, length = 1, len(part[0])
        for choices in ranges:
            names *= sum(_range_size(choice) for choice in choices.split(","))
            length += max(len(choice) for choice in choices.split(",")) - len(choices) - 2
        if length > _MOST_NAME:
            raise ValueError(f"the hostlist makes names of over {_MOST_NAME} characters")
        count += names
        position = part.end() + 1
    return count


def _range_size(choice: str) -> int:
    match = _RANGE.fullmatch(choice)
    if match is None:
        raise ValueError(f'the hostlist has a bad range "{choice[:40]}"; write it as [001-128]')
    low, high = int(match[1]), int(match[2] or match[1])
    if high < low:
        raise ValueError(f'the hostlist has a range that runs backwards: "{choice}"')
    return high - low + 1
