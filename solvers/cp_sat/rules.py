"""Topology rules of jobs: one required domain, spread."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from placement.compiled.problem import OneDomain, SpreadRule
from solvers.cp_sat.hints import Hint, any_of
from solvers.cp_sat.model import CountingModel

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def add_required(model: CountingModel) -> None:
    """Meaning: all tasks of these groups share one domain of the level.

    Encoding: a Boolean per domain that can hold the least counts; at most one is chosen, and
    tasks sit only where it is. Domains too small for the gang get no Boolean at all.
    """
    bundle_of = {b.first: index for index, b in enumerate(model.bundles) if len(b.jobs) == 1}
    for rule in model.problem.required:
        if rule.job in bundle_of:
            _add_one_domain(model, bundle_of[rule.job], rule)


def _add_one_domain(model: CountingModel, bundle: int, rule: OneDomain) -> None:
    problem = model.problem
    node_level = rule.level == len(problem.level_names) - 1
    items = [i for i in model.items_of[bundle] if model.items[i].group in rule.groups]
    cells_of_domain: dict[int, list[int]] = {}
    for cell in sorted({cell for i in items for cell in model.cells_of[i]}):
        cells_of_domain.setdefault(model.domain_of_cell(cell, rule.level), []).append(cell)
    chosen: list[cp_model.IntVar] = []
    for _, cells in sorted(cells_of_domain.items()):
        room = {i: _room(model, i, cells, one_node=node_level) for i in items}
        if any(room[i] < problem.count_min[model.items[i].group] for i in items):
            for i in items:
                model.model.add(sum(model.z[i, c] for c in cells if (i, c) in model.z) == 0)
            continue
        here = model.model.new_bool_var("")
        inside = [model.z[i, c] for i in items for c in cells if (i, c) in model.z]
        model.derive(here, any_of(inside))
        for i in items:
            group = model.items[i].group
            most = min(room[i], int(problem.count_max[group]))
            for c in cells:
                if (i, c) in model.z:
                    model.model.add(model.z[i, c] <= min(most, model.z_most[i, c]) * here)
            if len(cells) > 1:
                terms = [model.z[i, c] for c in cells if (i, c) in model.z]
                model.model.add(sum(terms) <= most * here)
        chosen.append(here)
    if chosen:
        model.model.add(sum(chosen) <= model.started[bundle])


def _room(model: CountingModel, item: int, cells: Sequence[int], *, one_node: bool) -> int:
    kind = model.items[item].kind
    fits = [model.fits(kind, cell) for cell in cells]
    if one_node:
        return max(int(fit.max()) for fit in fits)
    return sum(int(fit.sum()) for fit in fits)


def add_spread(model: CountingModel) -> None:
    """Meaning: at most ``most`` tasks of the group per domain; counts differ by ``skew`` at most.

    Encoding: linear. At the node level a cell of several nodes is a relaxation: ``most`` per node
    of the cell, no skew.
    """
    item_of_group = {item.group: number for number, item in enumerate(model.items)}
    for rule in model.problem.spread:
        if rule.group in item_of_group:
            _add_spread_rule(model, item_of_group[rule.group], rule)


def _add_spread_rule(model: CountingModel, item: int, rule: SpreadRule) -> None:
    node_level = rule.level == len(model.problem.level_names) - 1
    cells_of_domain: dict[int, list[int]] = {}
    for cell in model.cells_of[item]:
        cells_of_domain.setdefault(model.domain_of_cell(cell, rule.level), []).append(cell)
    counts = []
    for _, cells in sorted(cells_of_domain.items()):
        count = sum(model.z[item, cell] for cell in cells)
        counts.append(count)
        if rule.most is not None:
            nodes = sum(len(model.cells[cell].nodes) for cell in cells) if node_level else 1
            model.model.add(count <= rule.most * nodes)
    if rule.skew is None or not counts:
        return
    if node_level and not all(model.cells[c].single for c in model.cells_of[item]):
        return
    most = int(model.problem.count_max[model.items[item].group])
    least = model.model.new_int_var(0, most, "")
    everywhere = len(counts) >= len(rule.domains)

    def lowest(hint: Hint) -> int:
        if not everywhere:
            return 0
        return min(
            sum(hint.values[model.z[item, cell].index] for cell in cells)
            for cells in cells_of_domain.values()
        )

    model.derive(least, lowest)
    if not everywhere:
        model.model.add(least == 0)
    for count in counts:
        model.model.add(count >= least)
        model.model.add(count <= least + rule.skew)
