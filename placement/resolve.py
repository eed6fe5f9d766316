"""Plain data to a resolved problem: validated, hostlists expanded, every name looked up."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from placement.cluster import (
    DEFAULT_QUEUE,
    NODE_LEVEL,
    ROOT_QUEUE,
    Cluster,
    Node,
    Shape,
)
from placement.faults import Fault, InvalidProblemError, Location, format_path
from placement.hostlists import MOST_HOSTS, expand_hosts
from placement.problem import Problem, ProblemDocument
from placement.quantities import parse_identifier, parse_time, shown
from placement.references import Names, Subject, reference_findings
from placement.schema_faults import Finding, schema_findings

MOST_FAULTS = 100
"""Most faults reported at once; the rest is counted."""

_LISTS = ("domains", "nodes", "running", "queues", "reservations")


def problem_from_document(data: Mapping[str, object], *, now_unix_s: int | None = None) -> Problem:
    """Make a problem of a document in the people's form.

    Parameters
    ----------
    data
        Mappings, lists and scalars as they come out of YAML or JSON.
    now_unix_s
        The instant of the snapshot if the document has no ``now``; None: this moment.

    Raises
    ------
    InvalidProblemError
        With everything that is wrong, in document order.
    """
    problem, findings = examine(data, now_unix_s=now_unix_s)
    if problem is None:
        raise InvalidProblemError(
            capped([Fault(format_path(location), message) for location, message in findings])
        )
    return problem


def capped(faults: Sequence[Fault]) -> list[Fault]:
    """Keep the first :data:`MOST_FAULTS`, and the number of the rest."""
    kept = list(faults[:MOST_FAULTS])
    if len(faults) > MOST_FAULTS:
        kept.append(Fault("", f"and {len(faults) - MOST_FAULTS} more"))
    return kept


def examine(data: object, *, now_unix_s: int | None = None) -> tuple[Problem | None, list[Finding]]:
    """Make a problem, or find everything that is wrong, in document order."""
    if not isinstance(data, Mapping):
        return None, [((), f"{shown(data)} where a mapping with cluster and jobs is expected")]
    written = _without_empty_sections(data)
    findings: list[Finding] = []
    now = _now(written, now_unix_s, findings)
    document, written_index = _readable(written, now, findings)
    if document is not None:
        subject = _subject(document, written, written_index, now, findings)
        findings += reference_findings(subject)
        if not findings:
            return (
                Problem(
                    now_unix_s=now,
                    cluster=document.cluster,
                    nodes=tuple(subject.nodes),
                    jobs=document.jobs,
                    policy=document.policy,
                ),
                [],
            )
    return None, in_document_order(findings, data)


def in_document_order(findings: Iterable[Finding], data: object) -> list[Finding]:
    """Sort by where the values stand in the document; what is missing first in its place."""
    positions: dict[int, dict[object, int]] = {}

    def order(finding: Finding) -> list[int]:
        place: list[int] = []
        value = data
        for part in finding[0]:
            if isinstance(value, Mapping):
                known = positions.get(id(value))
                if known is None:
                    known = {key: position for position, key in enumerate(value)}
                    positions[id(value)] = known
                place.append(known.get(part, -1))
                value = value.get(part)
            elif isinstance(value, list | tuple) and isinstance(part, int) and part < len(value):
                place.append(part)
                value = value[part]
            else:
                break
        return place

    return sorted(dict.fromkeys(findings), key=order)


def _without_empty_sections(data: Mapping[str, object]) -> dict[str, object]:
    """Leave out ``policy:`` and ``running:`` with nothing after them."""
    written = {key: value for key, value in data.items() if value is not None}
    cluster = written.get("cluster")
    if isinstance(cluster, Mapping):
        written["cluster"] = {key: value for key, value in cluster.items() if value is not None}
    return written


def _now(written: Mapping[str, object], now_unix_s: int | None, findings: list[Finding]) -> int:
    if "now" in written:
        try:
            return parse_time(written["now"])
        except ValueError as error:
            findings.append((("now",), str(error)))
    return int(time.time()) if now_unix_s is None else now_unix_s


def _readable(
    written: Mapping[str, object], now_unix_s: int, findings: list[Finding]
) -> tuple[ProblemDocument | None, dict[str, list[int]]]:
    """Validate; what is faulty is noted and left out, so that the rest can be checked too.

    Returns the readable part and, for each list section, where its entries were written.
    """
    rest: dict[str, Any] = {key: value for key, value in written.items() if key != "now"}
    if "cluster" not in rest:
        findings.append((("cluster",), "is missing"))
        rest["cluster"] = {}
    elif isinstance(rest["cluster"], Mapping) and not rest["cluster"].get("nodes"):
        findings.append((("cluster", "nodes"), "the cluster has no nodes"))
    if "jobs" not in rest or rest["jobs"] in ([], ()):
        findings.append((("jobs",), "there are no pending jobs"))
        rest["jobs"] = []
    kept: dict[str, list[int]] = {}
    # At first only faulty fields are left out; entries that are not readable without them follow.
    for attempt in range(3):
        try:
            context = {"now_unix_s": now_unix_s}
            return ProblemDocument.model_validate(rest, context=context), kept
        except ValidationError as error:
            found = schema_findings(error, rest)
            if attempt == 0:
                findings += found
            drop = {_left_out(location, entry=attempt > 0) for location, _ in found}
            for section in (*_LISTS, "jobs"):
                place = _section(section)
                gone = {location[-1] for location in drop if location[:-1] == place}
                if gone:
                    positions = kept.get(section) or range(len(_value_at(rest, place)))
                    kept[section] = [p for i, p in enumerate(positions) if i not in gone]
            rest = {"cluster": {}, "jobs": [], **_without(rest, _tree(drop))}
            if attempt == 0:
                written_at = kept.get("jobs") or range(len(rest["jobs"]))
                touched = {
                    location[1] for location in drop if location[0] == "jobs" and location[1:]
                }
                rest["jobs"] = [
                    _still_asking(job) if position in touched else job
                    for position, job in zip(written_at, rest["jobs"], strict=True)
                ]
    return None, {}


def _still_asking(job: Any) -> Any:
    """Give a job whose faulty requests were left out one that is right, to check all else."""
    if not isinstance(job, Mapping):
        return job
    tasks = job.get("tasks")
    if isinstance(tasks, list | tuple):
        return {**job, "tasks": [_asking(task) for task in tasks]}
    return _asking(job)


def _asking(task: Any) -> Any:
    if not isinstance(task, Mapping):
        return task
    kept = {key: value for key, value in task.items() if key not in ("gpu", "nic")}
    return {"cpu": 1, **kept}


def _section(name: str) -> Location:
    return ("jobs",) if name == "jobs" else ("cluster", name)


def _value_at(value: Any, location: Location) -> Any:
    for part in location:
        value = value[part]
    return value


def _left_out(location: Location, *, entry: bool) -> Location:
    """Location that is left out for a fault: its field, or the whole entry of its section."""
    least = {"jobs": 2, "cluster": 3}.get(str(location[0]) if location else "", 1)
    if entry or len(location) <= least:
        return location[:least]
    length = max((n for n, part in enumerate(location, 1) if isinstance(part, str)), default=0)
    return location[: max(least, length)]


_Tree = dict[str | int, "_Tree | None"]
"""Locations by their parts; None: everything there."""


def _tree(locations: Iterable[Location]) -> _Tree:
    root: _Tree = {}
    for location in sorted(locations, key=len, reverse=True):
        branch = root
        for part in location[:-1]:
            following = branch.setdefault(part, {})
            if following is None:
                break
            branch = following
        if location:
            branch[location[-1]] = None
    return root


def _without(value: Any, tree: _Tree) -> Any:
    """Copy of ``value`` without the locations of the tree; untouched parts are shared."""
    if not isinstance(value, Mapping | list | tuple):
        return value
    kept = {}
    for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
        if key not in tree:
            kept[key] = inner
        else:
            branch = tree[key]
            if branch is not None:
                kept[key] = _without(inner, branch)
    return kept if isinstance(value, Mapping) else list(kept.values())


def _subject(
    document: ProblemDocument,
    written: Mapping[str, object],
    written_index: Mapping[str, Sequence[int]],
    now_unix_s: int,
    findings: list[Finding],
) -> Subject:
    """Expand the nodes and gather all names; what could not be read makes its kind open."""
    raw_cluster = written.get("cluster", {})
    cluster: Mapping[str, object] = raw_cluster if isinstance(raw_cluster, Mapping) else {}
    unread = not isinstance(raw_cluster, Mapping)
    faulty = {location[:2] for location, _ in findings if location[:1] == ("cluster",)}
    levels_open = unread or ("cluster", "levels") in faulty
    levels = () if levels_open else document.cluster.levels
    nodes_open = unread or "nodes" in written_index
    nodes, node_entry, node_names, unexpanded = _nodes(document.cluster, levels)
    position_of = written_index.get("nodes")
    for position, message in unexpanded:
        at = position if position_of is None else position_of[position]
        findings.append((("cluster", "nodes", at, "name"), message))
        nodes_open = True
    running = _names(cluster.get("running"), "job")
    pending = _names(written.get("jobs"), "name")
    queues = _names(cluster.get("queues"), "name")
    implied = {DEFAULT_QUEUE: None, ROOT_QUEUE: None}
    shapes = cluster.get("shapes", {})
    return Subject(
        document=document,
        now_unix_s=now_unix_s,
        nodes=nodes,
        node_entry=node_entry,
        levels=Names(dict.fromkeys((*levels, NODE_LEVEL)), levels_open),
        shapes=Names(
            dict.fromkeys(str(name) for name in shapes) if isinstance(shapes, Mapping) else {},
            unread or not isinstance(shapes, Mapping),
        ),
        queues=Names({**implied, **queues.known}, unread or queues.open or not queues.known),
        node_names=Names(node_names, nodes_open),
        job_names=Names({**running.known, **pending.known}, running.open or pending.open or unread),
        domains_known=not (levels_open or nodes_open or ("cluster", "nodes") in faulty),
        written_index=written_index,
    )


def _names(section: object, key: str) -> Names:
    """Names of the entries of a section as written."""
    if section is None:
        return Names({})
    if not isinstance(section, list | tuple):
        return Names({}, open=True)
    known: dict[str, object] = {}
    some_unread = False
    for entry in section:
        try:
            known[parse_identifier(entry[key])] = None
        except (ValueError, KeyError, TypeError, IndexError):
            some_unread = True
    return Names(known, some_unread)


def _nodes(
    cluster: Cluster, levels: Sequence[str]
) -> tuple[list[Node], list[int], dict[str, object], list[tuple[int, str]]]:
    """Make every node; entries whose hostlist does not expand are returned with the reason."""
    nodes: list[Node] = []
    node_entry: list[int] = []
    faults: list[tuple[int, str]] = []
    domains_of: dict[str | None, tuple[str | None, ...]] = {None: (None,) * len(levels)}
    healthy_of: dict[int, tuple[int, ...]] = {}
    for position, entry in enumerate(cluster.nodes):
        try:
            names = expand_hosts(entry.name, room=MOST_HOSTS - len(nodes))
            if len(nodes) + len(names) > MOST_HOSTS:
                raise ValueError(f"the cluster has over {MOST_HOSTS} nodes")
        except ValueError as error:
            faults.append((position, str(error)))
            continue
        # The shape of an unknown name is empty; that it is unknown is found elsewhere.
        shape = cluster.shapes.get(entry.shape) or Shape()
        if entry.domain not in domains_of:
            parts = str(entry.domain).split("/")
            domains_of[entry.domain] = tuple(
                "/".join(parts[: depth + 1]) if depth < len(parts) else None
                for depth in range(len(levels))
            )
        labels, taints, maintenance = shape.labels, shape.taints, shape.maintenance
        if entry.labels:
            labels = {**labels, **entry.labels}
        count = 0 if shape.gpus is None else shape.gpus.count
        healthy = healthy_of.setdefault(count, tuple(range(count)))
        if entry.unhealthy_gpus:
            healthy = tuple(gpu for gpu in healthy if gpu not in entry.unhealthy_gpus)
        for name in names:
            nodes.append(
                Node(
                    name=name,
                    shape_name=entry.shape,
                    shape=shape,
                    domains=domains_of[entry.domain],
                    state=entry.state,
                    healthy_gpus=healthy,
                    labels=labels,
                    taints=taints + entry.taints,
                    maintenance=maintenance + entry.maintenance,
                )
            )
        node_entry += [position] * len(names)
    return nodes, node_entry, dict.fromkeys(node.name for node in nodes), faults
