"""Problem files: one document in one file or several, with every fault at its file and line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placement.document_file import DocumentFile, display_name, read_document
from placement.faults import (
    Fault,
    InvalidProblemError,
    Location,
    UnsupportedProblemError,
    format_path,
)
from placement.problem import Problem
from placement.quantities import shown
from placement.resolve import MOST_FAULTS, examine, problem_from_document
from placement.schema_faults import Finding
from placement.support import unsupported_findings
from placement.text_faults import TextError

__all__ = ["MOST_BYTES", "load_problem", "problem_from_document"]

MOST_BYTES = 64 * 2**20
"""Largest file that is read, bytes."""


def load_problem(
    paths: Sequence[Path | str] = (),
    *,
    cluster: Path | str | None = None,
    jobs: Path | str | None = None,
    policy: Path | str | None = None,
    now_unix_s: int | None = None,
    most_bytes: int = MOST_BYTES,
    supported_only: bool = False,
) -> Problem:
    """Read a problem from YAML or JSON files.

    Parameters
    ----------
    paths
        Files that hold the document or parts of it; ``-`` is standard input. The parts are put
        together: lists of the same section one after the other.
    cluster, jobs, policy
        Files that may also hold such a section by itself.
    now_unix_s
        The instant of the snapshot if no file has ``now``; None: this moment.
    most_bytes
        Largest file that is read.
    supported_only
        Whether what the solvers do not honour yet is refused here, where its line is known.

    Raises
    ------
    InvalidProblemError
        With everything that is wrong, file by file.
    UnsupportedProblemError
        With everything that is refused, if ``supported_only``.
    """
    wanted: list[tuple[Path | str, str | None]] = [(path, None) for path in paths]
    sections = (("cluster", cluster), ("jobs", jobs), ("policy", policy))
    wanted += [(path, section) for section, path in sections if path is not None]
    parts: list[_Part] = []
    faults: list[Fault] = []
    for path, section in wanted:
        try:
            parts.append(_part(read_document(path, most_bytes=most_bytes), section))
        except TextError as error:
            faults += [
                Fault(format_path(fault.location), fault.message, display_name(path), fault.line)
                for fault in error.faults
            ]
    if not wanted:
        faults.append(Fault("", "there is no problem file"))
    if faults:
        raise InvalidProblemError(faults)
    whole = _Whole()
    for part in parts:
        whole.add(part)
    if whole.data is None:
        raise InvalidProblemError(whole.placed([]))
    problem, findings = examine(whole.data, now_unix_s=now_unix_s)
    if problem is None or whole.clashes:
        raise InvalidProblemError(whole.placed(findings))
    refused = list(unsupported_findings(problem)) if supported_only else []
    if refused:
        raise UnsupportedProblemError(whole.placed(refused))
    return problem


@dataclass(frozen=True, slots=True)
class _Part:
    """A file as a document; ``section``: the file holds this section by itself."""

    file: DocumentFile
    data: Any
    section: str | None

    def outside(self, location: Location) -> Location:
        """Location in the document of one in the file."""
        return location if self.section is None else (self.section, *location)

    def inside(self, location: Location) -> Location:
        """Location in the file."""
        if self.section is None or location[:1] != (self.section,):
            return location
        return location[1:]


def _part(file: DocumentFile, section: str | None) -> _Part:
    data = file.data
    if section is None or (isinstance(data, Mapping) and section in data):
        return _Part(file, data, None)
    if section == "cluster" and isinstance(data, Mapping):
        now = {"now": data["now"]} if "now" in data else {}
        rest = {key: value for key, value in data.items() if key != "now"}
        return _Part(file, {**now, section: rest}, section)
    return _Part(file, {section: data}, section)


@dataclass(frozen=True, slots=True)
class _Origin:
    """Entries of the whole document from ``first`` on come from ``part``, from its entry 0 on."""

    part: _Part
    first: int = 0


@dataclass(frozen=True, slots=True)
class _Placed:
    """A finding and the file it is in; ``line`` if it is known already."""

    part: _Part | None
    location: Location
    message: str
    line: int | None = None


class _Whole:
    """The document that several files make, and where each of its parts comes from."""

    def __init__(self) -> None:
        self.data: Any = None
        self.clashes: list[_Placed] = []
        self._parts: list[_Part] = []
        self._origins: dict[Location, list[_Origin]] = {}

    def add(self, part: _Part) -> None:
        """Put a file's document together with those before."""
        self._parts.append(part)
        self.clashes += [
            _Placed(part, part.outside(fault.location), fault.message, fault.line)
            for fault in part.file.repeated
        ]
        if not isinstance(part.data, Mapping):
            message = f"{shown(part.data)} where a mapping with cluster and jobs is expected"
            self.clashes.append(_Placed(part, (), message))
        elif self.data is None:
            self.data = self._merged({}, part.data, (), part)
        else:
            self.data = self._merged(self.data, part.data, (), part)

    def _merged(self, whole: Any, more: Any, location: Location, part: _Part) -> Any:
        """``more`` put into a copy of ``whole``: mappings by key, lists one after the other."""
        merged = dict(whole)
        for key, value in more.items():
            inner = (*location, key)
            known = merged.get(key)
            mergeable = inner in _MERGED
            if known is None:
                self._origins.setdefault(inner, []).append(_Origin(part))
                if mergeable and isinstance(value, Mapping):
                    value = self._merged({}, value, inner, part)
                merged[key] = value
            elif mergeable and isinstance(known, Mapping) and isinstance(value, Mapping):
                self._origins[inner].append(_Origin(part))
                merged[key] = self._merged(known, value, inner, part)
            elif inner in _APPENDED and isinstance(known, list) and isinstance(value, list):
                self._origins[inner].append(_Origin(part, len(known)))
                merged[key] = [*known, *value]
            elif value is not None and value != known:
                other = self._origins[inner][0].part.file.name
                self.clashes.append(_Placed(part, inner, f"is given otherwise in {other}"))
        return merged

    def _origin(self, location: Location) -> tuple[_Part | None, Location]:
        """Which file a location of the whole document comes from, and its location there."""
        for end in range(len(location), 0, -1):
            origins = self._origins.get(location[:end])
            if origins is None:
                continue
            if location[:end] in _APPENDED and end < len(location):
                index = location[end]
                if isinstance(index, int):
                    origin = max(
                        (origin for origin in origins if origin.first <= index),
                        key=lambda origin: origin.first,
                    )
                    inside = (*location[:end], index - origin.first, *location[end + 1 :])
                    return origin.part, inside
            return origins[0].part, location
        return (self._parts[0] if len(self._parts) == 1 else None), location

    def placed(self, findings: Sequence[Finding]) -> list[Fault]:
        """Faults with file and line, file by file; at most :data:`MOST_FAULTS`."""
        places = [*self.clashes]
        places += [_Placed(*self._origin(place), message) for place, message in findings]
        kept, left = places[:MOST_FAULTS], len(places) - MOST_FAULTS
        faults: list[tuple[int, int, Fault]] = []
        for order, part in enumerate([*self._parts, None]):
            mine = [place for place in kept if place.part is part]
            lines: Mapping[Location, int] = {}
            if part is not None and mine:
                lines = part.file.lines({part.inside(place.location) for place in mine})
            for place in mine:
                line, name = place.line, None
                if part is not None:
                    line = line or lines.get(part.inside(place.location))
                    name = part.file.name
                fault = Fault(format_path(place.location), place.message, name, line)
                faults.append((order, line or 0, fault))
        ordered = [fault for *_, fault in sorted(faults, key=lambda entry: entry[:2])]
        return ordered + ([Fault("", f"and {left} more")] if left > 0 else [])


_MERGED: frozenset[Location] = frozenset({("cluster",), ("cluster", "shapes")})
_APPENDED: frozenset[Location] = frozenset(
    {
        ("jobs",),
        *(("cluster", name) for name in ("domains", "nodes", "running", "queues", "reservations")),
    }
)
"""Lists that may be spread over several files."""
