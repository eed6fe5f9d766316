"""Conformance cases: a problem, and what any right answer to it shows.

The keys of ``expect``:

``start``, ``wait``
    these jobs start, these wait (a reserved job does not count as started)
``reserve``
    job: its start time
``on``, ``group_on``
    job, or ``job/group``: exactly this set of nodes holds its tasks
``gpus``, ``gpus_in``
    job: node: exactly these GPU indices; chosen among these
``tasks``
    job: number of tasks started
``split``
    job: level: tasks per domain, sorted
``one_domain``, ``in_domain``
    job: level in one domain of which all its tasks are; the domains that hold its tasks
``slices``
    job: [[size, level], ...]: each run of ``size`` ranks lies in one domain of the level
``at_most_domains``
    job or ``job/group``: level: it uses no more domains of that level
``error``
    the problem is refused, and the message names this place
``crossings``
    job: level: how often consecutive ranks change domain
``evictions``, ``migrations``
    exactly these jobs; how many moves
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from placement.answer import Action, Answer, TaskPlacement
from placement.check import check_answer
from placement.cluster import NODE_LEVEL
from placement.engine import SolveOptions, solve
from placement.faults import InvalidProblemError
from placement.problem import Problem
from placement.problem_file import problem_from_document

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]

SOLVERS = ("auto", "cp-sat", "highs")
"""Solvers that must get every case right."""

Expected = Any


def own_cases() -> list[Path]:
    """The case files of the repository."""
    return sorted(HERE.glob("*.yaml"))


def shared_cases() -> list[Path]:
    """Case files kept beside the repository, or where ``PLACEMENT_SHARED`` says; may be none."""
    shared = Path(os.environ.get("PLACEMENT_SHARED", REPOSITORY.parent / "shared"))
    return sorted((shared / "cases").glob("*.yaml"))


def load_case(path: Path) -> dict[str, Any]:
    """Read a case; its keys are checked so that no expectation is silently skipped."""
    case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    unknown = case.keys() - {"name", "source", "about", "problem", "expect"}
    unknown |= case["expect"].keys() - {"error", *_EXPECTATIONS}
    if unknown:
        raise ValueError(f"{path.name}: unknown keys {sorted(unknown)}")
    return case


def failures(case: Mapping[str, Any], solver: str) -> list[str]:
    """Solve the case and say what the answer does not show; empty if it is right."""
    expect = case["expect"]
    try:
        problem = problem_from_document(case["problem"])
        answer = solve(problem, SolveOptions(solver=solver))
    except InvalidProblemError as error:
        wanted = expect.get("error")
        if wanted is None:
            return [f"refused: {error}"]
        return [] if wanted in str(error) else [f"error does not name {wanted}: {error}"]
    if "error" in expect:
        return ["not refused"]
    found = [f"illegal: {violation}" for violation in check_answer(problem, answer)]
    seen = _Seen(problem, answer)
    for key, wanted in expect.items():
        found.extend(f"{key}: {message}" for message in _EXPECTATIONS[key](seen, wanted))
    return found


class _Seen:
    """The answer as the expectations ask about it."""

    def __init__(self, problem: Problem, answer: Answer) -> None:
        self.problem = problem
        self.decisions = {decision.job: decision for decision in answer.decisions}
        self._nodes = {node.name: node for node in problem.nodes}

    def action(self, job: str) -> Action:
        return self.decisions[job].action

    def tasks(self, name: str) -> list[TaskPlacement]:
        """Tasks of ``job`` or ``job/group`` by rank."""
        job, _, group = name.partition("/")
        tasks = sorted(self.decisions[job].tasks, key=lambda task: task.rank)
        return [task for task in tasks if group in ("", task.group)]

    def domain(self, task: TaskPlacement, level: str) -> str:
        node = self._nodes[task.node]
        if level == NODE_LEVEL:
            return node.name
        name = node.domains[self.problem.cluster.levels.index(level)]
        return f"only {node.name}" if name is None else name

    def domains(self, name: str, level: str) -> list[str]:
        """Domain of each task of ``job`` or ``job/group``, by rank."""
        return [self.domain(task, level) for task in self.tasks(name)]

    def gpus(self, job: str) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for task in self.tasks(job):
            found[task.node].extend(task.gpus)
        return {node: sorted(gpus) for node, gpus in found.items()}


def _differs(what: str, found: object, wanted: object) -> Iterator[str]:
    if found != wanted:
        yield f"{what} is {found}, not {wanted}"


def _start(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for job in wanted:
        yield from _differs(job, seen.action(job).value, "start")


def _wait(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for job in wanted:
        yield from _differs(job, seen.action(job).value, "wait")


def _reserve(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for job, start in wanted.items():
        decision = seen.decisions[job]
        yield from _differs(job, decision.action.value, "reserve")
        yield from _differs(f"start of {job}", getattr(decision, "start", None), start)


def _on(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for name, nodes in wanted.items():
        yield from _differs(name, {task.node for task in seen.tasks(name)}, set(nodes))


def _gpus(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for job, nodes in wanted.items():
        exactly = {node: sorted(gpus) for node, gpus in nodes.items()}
        yield from _differs(job, seen.gpus(job), exactly)


def _gpus_in(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for job, nodes in wanted.items():
        for node, gpus in seen.gpus(job).items():
            if not set(gpus) <= set(nodes.get(node, ())):
                yield f"{job} has {gpus} on {node}, not among {nodes}"


def _tasks(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for name, count in wanted.items():
        yield from _differs(name, len(seen.tasks(name)), count)


def _split(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for name, levels in wanted.items():
        for level, counts in levels.items():
            found = sorted(Counter(seen.domains(name, level)).values())
            yield from _differs(f"{name} per {level}", found, sorted(counts))


def _one_domain(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for name, level in wanted.items():
        yield from _differs(f"{level} of {name}", len(set(seen.domains(name, level))), 1)


def _in_domain(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for name, paths in wanted.items():
        listed = paths if isinstance(paths, list) else [paths]
        level = seen.problem.cluster.levels[listed[0].count("/")]
        yield from _differs(name, set(seen.domains(name, level)), set(listed))


def _slices(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for name, slices in wanted.items():
        for size, level in slices:
            domains = seen.domains(name, level)
            for first in range(0, len(domains), size):
                used = set(domains[first : first + size])
                yield from _differs(f"{level} of {name} from rank {first}", len(used), 1)


def _at_most_domains(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for name, levels in wanted.items():
        for level, most in levels.items():
            used = len(set(seen.domains(name, level)))
            if not 0 < used <= most:
                yield f"{name} uses {used} of level {level}, at most {most}"


def _crossings(seen: _Seen, wanted: Expected) -> Iterator[str]:
    for name, levels in wanted.items():
        for level, count in levels.items():
            domains = seen.domains(name, level)
            found = sum(1 for here, after in pairwise(domains) if here != after)
            yield from _differs(f"{name} at {level}", found, count)


def _evictions(seen: _Seen, wanted: Expected) -> Iterator[str]:
    # Answers do not evict or move yet; the checks are here so that such a case cannot pass.
    yield from _differs("evictions", [], sorted(wanted))


def _migrations(seen: _Seen, wanted: Expected) -> Iterator[str]:
    yield from _differs("migrations", 0, wanted)


_EXPECTATIONS: dict[str, Callable[[_Seen, Expected], Iterator[str]]] = {
    "start": _start,
    "wait": _wait,
    "reserve": _reserve,
    "on": _on,
    "group_on": _on,
    "gpus": _gpus,
    "gpus_in": _gpus_in,
    "tasks": _tasks,
    "split": _split,
    "one_domain": _one_domain,
    "in_domain": _in_domain,
    "slices": _slices,
    "at_most_domains": _at_most_domains,
    "crossings": _crossings,
    "evictions": _evictions,
    "migrations": _migrations,
}
