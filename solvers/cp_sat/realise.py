"""From counts per cell to a plan: pack every cell onto its nodes, and fill what is left."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import CompiledProblem, IntArray, Plan
from placement.compiled.values import is_better, tier_values
from solvers.base import SolveParameters
from solvers.cp_sat.bundles import Bundle
from solvers.cp_sat.cells import Cell
from solvers.greedy.placing import Entries, JobPlacer
from solvers.greedy.solver import extend, largest_first
from solvers.occupancy import Occupancy

Part = tuple[int, int, int]
"""(group, cell, count)."""


ATTEMPTS = 4
"""Most times that a solution is packed."""


@dataclass(frozen=True, slots=True)
class Counts:
    """A solution of the counting model.

    ``z``: (item, cell) -> tasks, positive ones only; ``started``: jobs per bundle.
    """

    z: Mapping[tuple[int, int], int]
    started: Sequence[int]


@dataclass(frozen=True, slots=True)
class Realised:
    """A feasible plan, its values, and the cells that promised more than their nodes hold."""

    plan: Plan
    values: tuple[int, ...]
    failed: set[int]


def realise(
    problem: CompiledProblem,
    cells: Sequence[Cell],
    bundles: Sequence[Bundle],
    items: Sequence[tuple[int, int]],
    counts: Counts,
    parameters: SolveParameters,
) -> Realised:
    """Pack the counts; jobs of which a part does not fit are taken out, then others filled in.

    Once so that gangs span little; if that does not work out, as tightly as possible; and if a job
    still finds no room, again with such jobs first (squeaky wheel: Joslin and Clements 1999), so
    that what is given up in the end is of low priority.

    ``items``: per item of the model its bundle and its group.
    """
    parts = _parts(problem, bundles, items, counts)
    exact = _as_counted(problem, cells, parts)
    if exact is not None:
        return Realised(exact, tier_values(problem, exact), set())
    best: Realised | None = None
    squeaky: set[int] = set()
    for attempt in range(ATTEMPTS):
        tight = attempt > 0
        placer = JobPlacer(problem, Occupancy(problem), tight=tight)
        failed: set[int] = set()
        placed: dict[int, Entries] = {}
        for job in _turns(problem, parts, cells, squeaky, tight=tight):
            entries = _place_job(problem, placer, cells, job, parts[job], failed)
            if entries is not None:
                placed[job] = entries
        plan = Plan.of(extend(problem, placer, largest_first, parameters, placed))
        values = tier_values(problem, plan)
        if best is None or is_better(problem, values, best.values):
            best = Realised(plan, values, failed)
        broken = set(parts).difference(placed)
        if not broken or (attempt > 1 and broken <= squeaky):
            break
        if tight:
            squeaky |= broken
    assert best is not None
    return best


def _as_counted(
    problem: CompiledProblem, cells: Sequence[Cell], parts: Mapping[int, Sequence[Part]]
) -> Plan | None:
    """The plan itself where every cell is one node; None if it is not that, or does not fit.

    The placer sets share after share and can miss a packing that the model knows to exist.
    """
    entries = [part for own in parts.values() for part in own]
    if not all(cells[cell].single for _, cell, _ in entries):
        return None
    plan = Plan.of([(group, cells[cell].nodes[0], count) for group, cell, count in entries])
    return None if plan_faults(problem, plan) else plan


def _parts(
    problem: CompiledProblem,
    bundles: Sequence[Bundle],
    items: Sequence[tuple[int, int]],
    counts: Counts,
) -> dict[int, list[Part]]:
    """Per started job what it puts where."""
    result: dict[int, list[Part]] = {}
    queue: dict[int, list[int]] = {}
    for (item, cell), count in sorted(counts.z.items()):
        bundle, group = items[item]
        jobs = bundles[bundle].jobs
        if len(jobs) == 1:
            result.setdefault(jobs[0], []).append((group, cell, count))
            continue
        waiting = queue.setdefault(bundle, list(jobs))
        for _ in range(count):
            job = waiting.pop(0)
            result[job] = [(problem.job_groups[job][0], cell, 1)]
    return result


def _turns(
    problem: CompiledProblem,
    parts: Mapping[int, Sequence[Part]],
    cells: Sequence[Cell],
    squeaky: set[int],
    *,
    tight: bool,
) -> list[int]:
    """Jobs in the order of placing: those that found no room before, then by hardness."""

    def turn(job: int) -> tuple[float, ...]:
        first = (0.0, -float(problem.priority[job])) if job in squeaky else (1.0, 0.0)
        return (*first, *_hardness(problem, parts[job], cells, tight=tight))

    return sorted(parts, key=turn)


def _hardness(
    problem: CompiledProblem, parts: Sequence[Part], cells: Sequence[Cell], *, tight: bool
) -> tuple[float, ...]:
    """Exact cells first; then large tasks before small ones, bound ones before free ones."""
    loose = any(not cells[cell].single for _, cell, _ in parts)
    pooled = all(cells[cell].parts for _, cell, _ in parts)
    kinds = [int(problem.group_kind[group]) for group, _, _ in parts]
    gpus = max(int(problem.whole_gpus[kind]) for kind in kinds)
    share = max(float(problem.share_units[kind].max(initial=0)) for kind in kinds)
    cpu = max(int(problem.demand[kind, 0]) for kind in kinds)
    size = (-float(gpus), -share, -float(cpu))
    # What is bound to a domain first: what is free finds other room.
    return (float(loose), float(pooled), *size) if tight else (float(loose), *size, float(pooled))


def _place_job(
    problem: CompiledProblem,
    placer: JobPlacer,
    cells: Sequence[Cell],
    job: int,
    parts: Sequence[Part],
    failed: set[int],
) -> Entries | None:
    """Place all parts of a job, or none; cells that do not hold their part are added to failed.

    Together on few nodes first, for locality; or, packing tightly, task by task first.
    """
    node_level = len(problem.level_names) - 1
    one_node = any(rule.job == job and rule.level == node_level for rule in problem.required)
    short: set[int] = set()
    ways: list[Callable[[], Entries | None]] = [
        lambda: _together(problem, placer, cells, job, parts)
    ]
    if not one_node or all(cells[cell].single for _, cell, _ in parts):
        ways.insert(
            0 if placer.tight else 1, lambda: _across(problem, placer, cells, job, parts, short)
        )
    for way in ways:
        mark = placer.occupancy.mark()
        entries = way()
        if entries is not None:
            return entries
        placer.occupancy.undo(mark)
    failed.update(short or {cell for _, cell, _ in parts})
    return None


def _together(
    problem: CompiledProblem,
    placer: JobPlacer,
    cells: Sequence[Cell],
    job: int,
    parts: Sequence[Part],
) -> Entries | None:
    """On few nodes, if the whole job sits in one cell."""
    used = {cell for _, cell, _ in parts}
    if len(used) > 1:
        return None
    (cell,) = used
    if cells[cell].parts:
        counts = dict.fromkeys(problem.job_groups[job], 0)
        counts.update({group: count for group, _, count in parts})
        entries = placer.place(job, counts, np.array(cells[cell].nodes, dtype=np.int64))
        if entries is not None:
            return entries
    return _on_one_node(problem, placer, cells[cell], parts)


def _across(
    problem: CompiledProblem,
    placer: JobPlacer,
    cells: Sequence[Cell],
    job: int,
    parts: Sequence[Part],
    short: set[int],
) -> Entries | None:
    """Part by part, each anywhere in its cell; elastic groups may come out smaller."""
    result: Entries = []
    elastic = any(problem.count_min[g] < problem.count_max[g] for g in problem.job_groups[job])
    for group, cell, count in sorted(parts, key=lambda part: _part_hardness(problem, part)):
        nodes = np.array(cells[cell].nodes, dtype=np.int64)
        entries = placer.fill(group, count, nodes, network=True, one_cell=True)
        if entries is None:
            short.add(cell)
            if not elastic:
                return None
            entries = _as_many(placer, group, count, nodes)
        result += entries
    started = dict.fromkeys(problem.job_groups[job], 0)
    for group, _, count in result:
        started[group] += count
    if any(number < problem.count_min[g] for g, number in started.items()):
        return None
    if len({node for _, node, _ in result}) == 1:
        # Wholly on one node after all: it uses no bandwidth.
        for group, node, count in result:
            kind = int(problem.group_kind[group])
            placer.occupancy.network[node] += problem.network[kind] * count
    return result


def _part_hardness(problem: CompiledProblem, part: Part) -> tuple[float, ...]:
    kind = int(problem.group_kind[part[0]])
    return (-float(problem.whole_gpus[kind]), -float(problem.demand[kind, 0]))


def _as_many(placer: JobPlacer, group: int, count: int, nodes: IntArray) -> Entries:
    low, best = 0, []
    high = count - 1
    while low < high:
        middle = (low + high + 1) // 2
        mark = placer.occupancy.mark()
        if placer.fill(group, middle, nodes, network=True, one_cell=True) is None:
            high = middle - 1
        else:
            low = middle
        placer.occupancy.undo(mark)
    if low:
        best = placer.fill(group, low, nodes, network=True, one_cell=True) or []
    return best


def _on_one_node(
    problem: CompiledProblem, placer: JobPlacer, cell: Cell, parts: Sequence[Part]
) -> Entries | None:
    """All parts on one node of the cell, the tightest that holds them."""
    nodes = np.array(cell.nodes, dtype=np.int64)
    able = np.ones(len(nodes), dtype=np.bool_)
    for group, _, count in parts:
        kind = int(problem.group_kind[group])
        able &= placer.occupancy.fits(kind, nodes, network=False) >= count
    candidates = nodes[able]
    order = candidates[
        np.lexsort(
            (candidates, placer.occupancy.free[candidates, 0], placer.occupancy.idle[candidates])
        )
    ]
    for node in order[:4]:
        mark = placer.occupancy.mark()
        entries: Entries = []
        for group, _, count in parts:
            placed = placer.fill(
                group, count, np.array([node], dtype=np.int64), network=False, one_cell=True
            )
            if placed is None:
                placer.occupancy.undo(mark)
                break
            entries += placed
        else:
            return entries
    return None
