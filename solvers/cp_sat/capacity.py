"""Capacity of every resource in every cell: countable ones, GPUs, shares, NIC bandwidth."""

import math
from collections.abc import Sequence

import numpy as np
from ortools.sat.python import cp_model

from placement.compiled.problem import IntArray
from solvers.cp_sat.fill import fillable
from solvers.cp_sat.hints import Derivation, Hint
from solvers.cp_sat.model import CountingModel
from solvers.cp_sat.rows import Term

THRESHOLDS = 6
"""Most size thresholds per resource and cell."""


def add_capacity(model: CountingModel) -> None:
    """Meaning: no node holds more than it has, of anything.

    Encoding: one row per resource and cell. In a cell of several nodes the right side is what
    tasks of these sizes can fill of each node (:func:`solvers.cp_sat.fill.fillable`), and there
    is a further row per size s for the tasks of size s and more. With sizes that divide each other
    these rows are exact for one resource, whatever is free on the nodes; otherwise a relaxation.
    """
    for cell in range(len(model.cells)):
        _add_countable(model, cell)
        _add_gpus(model, cell)
    _add_network(model)


def _add_countable(model: CountingModel, cell: int) -> None:
    problem = model.problem
    nodes = list(model.cells[cell].nodes)
    items = model.members(cell)
    for resource in range(len(problem.resource_names)):
        sizes = {i: int(problem.demand[model.items[i].kind, resource]) for i in items}
        _add_sized_rows(model, cell, sizes, problem.free[nodes, resource], [])


def _add_sized_rows(
    model: CountingModel,
    cell: int,
    sizes: dict[int, int],
    free: IntArray,
    extra: Sequence[Term],
) -> None:
    """Rows for the items by size; ``extra`` terms count as units of one in the main row."""
    used = {item: size for item, size in sizes.items() if size}
    if not used:
        return
    terms = [*extra, *(term for i, size in used.items() for term in model.terms(i, cell, size))]
    most = {i: _most(model, i, cell) for i in used}
    reach = sum(size * most[i] for i, size in used.items()) + sum(c * m for c, _, m in extra)
    all_sizes = sorted(set(used.values()) | ({1} if extra else set()))
    limit = int(fillable(free, all_sizes).sum())
    if reach > limit:
        model.add_at_most(terms, limit)
    if model.cells[cell].single:
        return
    for threshold in all_sizes[1:][-THRESHOLDS:]:
        large = [i for i, size in used.items() if size >= threshold]
        limit = int(fillable(free, [used[i] for i in large]).sum())
        row = [t for i in large for t in model.terms(i, cell, used[i])]
        if all(used[i] % threshold == 0 for i in large):
            blocks = _blocks(model, cell, {i: used[i] for i in large}, threshold, free)
            limit = threshold * int(blocks.sum())
            row += _broken_blocks(model, cell, used, threshold, free, blocks)
        if sum(used[i] * most[i] for i in large) > limit:
            model.add_at_most(row, limit)
        count = int((free // threshold).sum())
        if limit < count * threshold or len({used[i] for i in large}) == 1:
            continue
        if sum(most[i] for i in large) > count:
            model.add_at_most([t for i in large for t in model.terms(i, cell, 1)], count)


def _blocks(
    model: CountingModel, cell: int, large: dict[int, int], threshold: int, free: IntArray
) -> IntArray:
    """``[nodes]`` blocks of ``threshold`` that the large tasks (item -> size) can use of each node.

    What is free bounds them, and so does every countable resource: tasks that take ``demand`` for
    ``size`` use at most free x size / (threshold x demand) blocks of it, the largest such ratio
    counting where several kinds of tasks are mixed.
    """
    problem = model.problem
    nodes = list(model.cells[cell].nodes)
    blocks = free // threshold
    for resource in range(len(problem.resource_names)):
        left = problem.free[nodes, resource]
        most = np.zeros(len(nodes), dtype=np.int64)
        for item, size in large.items():
            demand = int(problem.demand[model.items[item].kind, resource])
            if not demand:
                break
            units = size // threshold
            most = np.maximum(most, left // demand * units + left % demand * units // demand)
        else:
            blocks = np.minimum(blocks, most)
    return blocks


def _broken_blocks(
    model: CountingModel,
    cell: int,
    used: dict[int, int],
    threshold: int,
    free: IntArray,
    usable: IntArray,
) -> list[Term]:
    """Blocks of ``threshold`` that smaller tasks bound to one part of a pool must break there.

    In a part whose nodes have room for smaller tasks beyond their usable blocks, such tasks of
    size m in all take at least (m - room) / threshold blocks. All larger sizes are multiples of
    the threshold, so what they leave of the blocks is whole. The pool's row alone would let the
    smaller tasks use the rests of all its parts.
    """
    terms: list[Term] = []
    start = 0
    for part in model.cells[cell].parts:
        end = start + len(model.cells[part].nodes)
        blocks = int(usable[start:end].sum())
        rest = free[start:end] - threshold * usable[start:end]
        start = end
        small = {i: used[i] for i in model.items_in[part] if 0 < used.get(i, 0) < threshold}
        rows: list[tuple[list[Term], int]] = []
        for least in sorted(set(small.values())):
            # What tasks of this size and more use of a node is a multiple of what they and the
            # blocks have in common, so the rest beyond such a multiple is lost.
            sizes = {i: size for i, size in small.items() if size >= least}
            row: list[Term] = [(size, *model.count(i, part)) for i, size in sizes.items()]
            unit = math.gcd(threshold, *sizes.values())
            room = int((rest // unit * unit).sum())
            if sum(size * most for size, _, most in row) > room:
                rows.append((row, room))
        if not blocks or not rows:
            continue
        broken = model.model.new_int_var(0, blocks, "")
        for row, room in rows:
            model.add_at_most([*row, (-threshold, broken, blocks)], room)
        model.derive(broken, _blocks_of(rows, threshold))
        terms.append((threshold, broken, blocks))
    return terms


def _blocks_of(rows: list[tuple[list[Term], int]], threshold: int) -> Derivation:
    def needed(hint: Hint, row: list[Term], room: int) -> int:
        return -(-(sum(size * hint.total([z]) for size, z, _ in row) - room) // threshold)

    return lambda hint: max(0, *(needed(hint, row, room) for row, room in rows))


def _most(model: CountingModel, item: int, cell: int) -> int:
    """Most tasks of the item in the cell and its parts together."""
    return sum(most for _, _, most in model.terms(item, cell, 1))


def _add_gpus(model: CountingModel, cell: int) -> None:
    problem = model.problem
    nodes = list(model.cells[cell].nodes)
    idle = np.array([len(problem.idle_gpus[node]) for node in nodes], dtype=np.int64)
    items = model.members(cell)
    kind = int(problem.gpu_kind[nodes[0]])
    sharing = [i for i in items if kind >= 0 and problem.share_units[model.items[i].kind, kind] > 0]
    extra: list[Term] = []
    if sharing:
        opened = model.model.new_int_var(0, int(idle.sum()), f"o{cell}")
        model.opened[cell] = (opened, int(idle.sum()))
        extra.append((1, opened, int(idle.sum())))
        if model.cells[cell].single:
            _add_bins(model, cell, sharing, kind, opened)
        else:
            _add_share_rows(model, cell, sharing, kind, opened)
    sizes = {i: int(problem.whole_gpus[model.items[i].kind]) for i in items}
    if any(sizes.values()):
        _add_sized_rows(model, cell, sizes, idle, extra)


def _add_share_rows(
    model: CountingModel, cell: int, sharing: Sequence[int], kind: int, opened: cp_model.IntVar
) -> None:
    """Relaxation for several nodes: total units, and counts of the large shares."""
    problem = model.problem
    capacity = int(problem.gpu_kind_capacity[kind])
    left = np.array(
        [free for node in model.cells[cell].nodes for _, free in problem.shared_gpus[node]],
        dtype=np.int64,
    )
    units = {i: int(problem.share_units[model.items[i].kind, kind]) for i in sharing}
    most = model.opened[cell][1]
    whole = int(fillable(np.array([capacity]), sorted(set(units.values())))[0])
    rest = int(fillable(left, sorted(set(units.values()))).sum()) if len(left) else 0
    terms = [term for i in sharing for term in model.terms(i, cell, units[i])]
    model.add_at_most([*terms, (-whole, opened, most)], rest)
    for threshold in sorted(set(units.values()), reverse=True)[: 2 * THRESHOLDS]:
        large = [i for i in sharing if units[i] >= threshold]
        counted = [term for i in large for term in model.terms(i, cell, 1)]
        per_gpu = capacity // threshold
        room = int((left // threshold).sum())
        model.add_at_most([*counted, (-per_gpu, opened, most)], room)


def _add_bins(
    model: CountingModel, cell: int, sharing: Sequence[int], kind: int, opened: cp_model.IntVar
) -> None:
    """Exact for one node: which GPU takes how many shares; idle GPUs are opened in order."""
    problem = model.problem
    node = model.cells[cell].nodes[0]
    capacity = int(problem.gpu_kind_capacity[kind])
    shared = [free for _, free in problem.shared_gpus[node]]
    idle = len(problem.idle_gpus[node])
    units = {i: int(problem.share_units[model.items[i].kind, kind]) for i in sharing}
    rows: dict[int, list[cp_model.IntVar]] = {i: [] for i in sharing}
    for position, room in enumerate(shared + [capacity] * idle):
        for i in sharing:
            most = min(model.z_most[i, cell], room // units[i])
            rows[i].append(model.model.new_int_var(0, most, ""))
        terms: list[Term] = [
            (units[i], rows[i][position], min(model.z_most[i, cell], room // units[i]))
            for i in sharing
        ]
        if position < len(shared):
            model.add_at_most(terms, room)
        else:
            is_open = model.model.new_bool_var("")
            rank = position - len(shared)
            model.model.add(opened >= rank + 1).only_enforce_if(is_open)
            model.add_at_most([*terms, (-capacity, is_open, 1)], 0)
            model.derive(is_open, _beyond(opened, rank))
    for i in sharing:
        model.model.add(sum(rows[i]) == model.z[i, cell])
    model.bins[cell] = list(rows.items())


def _add_network(model: CountingModel) -> None:
    """NIC bandwidth per node; a job that sits wholly on one node uses none.

    ``wholly[job, cell]`` says that all tasks sit on one node of the cell; it takes the job's use
    out of the cell's row, so it is set wherever it may be.
    """
    problem = model.problem
    asked = problem.network[problem.network > 0]
    if not len(asked):
        return
    unit = int(np.gcd.reduce(asked))
    per_cell: dict[int, list[Term]] = {cell: [] for cell in range(len(model.cells))}
    for bundle, items in enumerate(model.items_of):
        job = model.bundles[bundle].first
        networked = [i for i in items if problem.network[model.items[i].kind]]
        groups = problem.job_groups[job]
        if not networked or sum(int(problem.count_max[g]) for g in groups) == 1:
            continue
        cells = sorted({cell for i in networked for cell in model.cells_of[i]})
        for cell in cells:
            here = [i for i in networked if (i, cell) in model.z]
            row = per_cell[cell]
            for i in here:
                bandwidth = int(problem.network[model.items[i].kind]) // unit
                row.append((bandwidth, model.z[i, cell], model.z_most[i, cell]))
            relief = _relief(model, bundle, cell, here, unit)
            if relief is not None:
                row.append(relief)
    for cell in per_cell:
        row = [term for part in model.covered[cell] for term in per_cell[part]]
        limit = int((problem.network_free[list(model.cells[cell].nodes)] // unit).sum())
        if sum(c * most for c, _, most in row if c > 0) > limit:
            model.add_at_most(row, limit)


def _relief(
    model: CountingModel, bundle: int, cell: int, here: Sequence[int], unit: int
) -> Term | None:
    """Bandwidth, in units, not used because the whole job sits on one node of the cell."""
    problem = model.problem
    job, items = model.bundles[bundle].first, model.items_of[bundle]
    for i in items:
        least = int(problem.count_min[model.items[i].group])
        if least and (
            (i, cell) not in model.z or int(model.fits(model.items[i].kind, cell).max()) < least
        ):
            return None
    own = [model.z[i, cell] for i in items if (i, cell) in model.z]
    wholly = model.model.new_bool_var("")
    model.derive(wholly, lambda hint: int(hint.total(own) > 0 and _on_one_node(hint, job)))
    model.model.add(wholly <= model.started[bundle])
    for i in items:
        group = model.items[i].group
        least, most = int(problem.count_min[group]), int(problem.count_max[group])
        if least == most:
            model.model.add(model.z[i, cell] >= least * wholly)
            continue
        total = model.total(i)
        if (i, cell) in model.z:
            model.model.add(model.z[i, cell] >= total - most * (1 - wholly))
        else:
            model.model.add(total <= most * (1 - wholly))
    for i in items:
        if (i, cell) in model.z:
            largest_here = int(model.fits(model.items[i].kind, cell).max())
            if largest_here < model.z_most[i, cell]:
                model.model.add(model.z[i, cell] <= largest_here).only_enforce_if(wholly)
    amounts = [(int(problem.network[model.items[i].kind]) // unit, model.z[i, cell]) for i in here]
    largest = sum(
        bandwidth * min(model.z_most[i, cell], int(model.fits(model.items[i].kind, cell).max()))
        for (bandwidth, _), i in zip(amounts, here, strict=True)
    )
    relief = model.model.new_int_var(0, largest, "")
    model.add_at_most([(1, relief, largest), (-largest, wholly, 1)], 0)
    model.add_at_most(
        [
            (1, relief, largest),
            *(
                (-bandwidth, z, model.z_most[i, cell])
                for (bandwidth, z), i in zip(amounts, here, strict=True)
            ),
        ],
        0,
    )
    model.derive(
        relief,
        lambda hint: hint.total([wholly]) * sum(b * hint.total([z]) for b, z in amounts),
    )
    return (-1, relief, largest)


def _beyond(opened: cp_model.IntVar, rank: int) -> Derivation:
    return lambda hint: int(hint.total([opened]) > rank)


def _on_one_node(hint: Hint, job: int) -> bool:
    entries = np.isin(hint.plan.group, hint.problem.job_groups[job])
    return len(np.unique(hint.plan.node[entries])) == 1
