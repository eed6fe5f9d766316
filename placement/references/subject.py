"""What reference checks look at: the readable parts of a document, and where they were written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from placement.cluster import Node
from placement.faults import Location
from placement.problem import ProblemDocument
from placement.quantities import shown
from placement.schema_faults import Finding, did_you_mean
from placement.workload import Slice, Topology


@dataclass(frozen=True, slots=True)
class Names:
    """Names of one kind that exist; ``open``: some could not be read, so that any may exist."""

    known: Mapping[str, object]
    open: bool = False

    def lack(self, name: str) -> bool:
        """Whether the name surely does not exist."""
        return not self.open and name not in self.known


@dataclass(frozen=True, slots=True)
class Subject:
    """See the module docstring.

    Attributes
    ----------
    document
        The readable parts.
    nodes
        Its nodes, expanded.
    node_entry
        For each node the position of its entry in ``document.cluster.nodes``.
    levels, shapes, queues, node_names, job_names
        What can be referred to; levels with ``node``, jobs pending and running.
    domains_known
        Whether every node's domains could be read.
    written_index
        For a section (``jobs``, ``nodes``, ...) where its i-th readable entry was written; a
        section that is not in it was readable throughout.
    """

    document: ProblemDocument
    now_unix_s: int
    nodes: Sequence[Node]
    node_entry: Sequence[int]
    levels: Names
    shapes: Names
    queues: Names
    node_names: Names
    job_names: Names
    domains_known: bool = True
    written_index: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def at(self, section: str, index: int, *inside: str | int) -> Location:
        """Location of the i-th readable entry of a section."""
        written = self.written_index.get(section)
        position = index if written is None else written[index]
        root: Location = ("jobs",) if section == "jobs" else ("cluster", section)
        return (*root, position, *inside)

    def at_task(self, job: int, group: int, *inside: str | int) -> Location:
        """Location of a task group, which may stand on its job itself."""
        short = self.document.jobs[job].is_shorthand
        return self.at("jobs", job, *(() if short else ("tasks", group)), *inside)


def repeated(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Position and name of each that stood before."""
    seen: set[str] = set()
    for position, name in enumerate(names):
        if name in seen:
            yield position, name
        seen.add(name)


def unknown(kind: str, names: Names, name: str, place: Location) -> Iterator[Finding]:
    """Find a name that does not exist."""
    if names.lack(name):
        yield place, f"unknown {kind} {shown(name)}{did_you_mean(name, names.known)}"


def unknown_levels(
    subject: Subject, topology: Topology | str | None, place: Location
) -> Iterator[Finding]:
    """Find levels of a topology that do not exist."""
    if isinstance(topology, Topology):
        for key in ("required", "preferred"):
            level: str | None = getattr(topology, key)
            if level is not None:
                yield from unknown("level", subject.levels, level, (*place, key))


def slice_findings(
    subject: Subject, slices: Sequence[Slice], count: int | None, place: Location
) -> Iterator[Finding]:
    """Find slices that do not divide the tasks, or do not nest.

    ``count`` is the number of tasks, None if it is not fixed.
    """
    order = {level: position for position, level in enumerate(subject.levels.known)}
    for position, piece in enumerate(slices):
        yield from unknown("level", subject.levels, piece.level, (*place, position, "level"))
        if position == 0:
            if count is not None and count % piece.size:
                yield (
                    (*place, position, "size"),
                    f"slices of {piece.size} do not divide {count} tasks",
                )
            continue
        outer = slices[position - 1]
        if outer.size % piece.size or outer.size == piece.size:
            yield (
                (*place, position, "size"),
                f"slices of {piece.size} do not divide the slices of {outer.size} around them",
            )
        known = piece.level in order and outer.level in order and not subject.levels.open
        if known and order[piece.level] <= order[outer.level]:
            yield (
                (*place, position, "level"),
                f"level {shown(piece.level)} is not finer than {shown(outer.level)} of the slices "
                "around these",
            )
