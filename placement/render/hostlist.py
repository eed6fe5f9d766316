"""Many node names in few characters: ``n01 n02 n04`` is ``n[01-02,04]``."""

import re
from collections.abc import Iterable

_NAME = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)


def compact_hostlist(names: Iterable[str]) -> str:
    """Fold names that differ in their last number only, keeping its leading zeros.

    Parameters
    ----------
    names
        Node names; doubles count once.

    Returns
    -------
    str
        Groups in the order of their first name, joined by commas.
    """
    by_length: dict[tuple[str, str, int], list[str]] = {}
    for name in dict.fromkeys(names):
        match = _NAME.fullmatch(name)
        prefix, digits, suffix = match.groups() if match else (name, "", "")
        by_length.setdefault((prefix, suffix, len(digits)), []).append(digits)
    groups: dict[tuple[str, str, int | None], list[int]] = {}
    for (prefix, suffix, length), numbers in by_length.items():
        # Numbers of one length with a leading zero among them are padded; the others fold together.
        padded = length > 1 and any(digits.startswith("0") for digits in numbers)
        width = None if length == 0 else length if padded else 0
        folded = groups.setdefault((prefix, suffix, width), [])
        folded.extend(int(digits) for digits in numbers if digits)
    return ",".join(
        prefix if width is None else _fold(prefix, suffix, width, numbers)
        for (prefix, suffix, width), numbers in groups.items()
    )


def _fold(prefix: str, suffix: str, width: int, numbers: list[int]) -> str:
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    parts = ",".join(
        f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}"
        for first, last in runs
    )
    return f"{prefix}{parts}{suffix}" if len(numbers) == 1 else f"{prefix}[{parts}]{suffix}"
