"""A known plan as complete hint of the counting model: nothing found is lost or searched twice."""

from placement.compiled.leftover import shares_on
from placement.compiled.problem import Plan
from placement.compiled.shares import pack_shares
from solvers.cp_sat.bundles import canonical
from solvers.cp_sat.hints import Hint
from solvers.cp_sat.model import CountingModel


def hint_plan(model: CountingModel, plan: Plan) -> None:
    """Hint every variable with the values that follow from a feasible plan."""
    hint = Hint(model.problem, canonical(model.problem, plan))
    _count(model, hint)
    for variable, derive in (*model.derived, *model.row_parts):
        hint.values[variable.index] = derive(hint)
    model.model.clear_hints()  # type: ignore[no-untyped-call]
    for index, value in sorted(hint.values.items()):
        model.model.add_hint(model.model.get_int_var_from_proto_index(index), value)


def _count(model: CountingModel, hint: Hint) -> None:
    """Count the tasks by item and cell, and the jobs that start by bundle."""
    for variable in (*model.z.values(), *model.started):
        hint.values[variable.index] = 0
    item_of_group: dict[int, int] = {}
    for number, item in enumerate(model.items):
        offset = model.items_of[item.bundle].index(number)
        for job in model.bundles[item.bundle].jobs:
            item_of_group[model.problem.job_groups[job][offset]] = number
    plan = hint.plan
    for group, node, count in zip(plan.group, plan.node, plan.count, strict=True):
        item_number = item_of_group[int(group)]
        cell = model.cells_holding(item_number, int(node))
        hint.values[model.z[item_number, cell].index] += int(count)
    bundle_of_job = {j: b for b, bundle in enumerate(model.bundles) for j in bundle.jobs}
    for job in {int(model.problem.group_job[group]) for group in plan.group}:
        hint.values[model.started[bundle_of_job[job]].index] += 1
    _pack_shares(model, hint, item_of_group)


def _pack_shares(model: CountingModel, hint: Hint, item_of_group: dict[int, int]) -> None:
    """Count the GPUs that shares open, and on single nodes which GPU takes which."""
    problem = model.problem
    for cell, (opened, _) in model.opened.items():
        hint.values[opened.index] = 0
        for _, row in model.bins.get(cell, []):
            for variable in row:
                hint.values[variable.index] = 0
    for node, tasks in shares_on(problem, hint.plan).items():
        cell = int(model.cell_of_node[node])
        shared = [free for _, free in problem.shared_gpus[node]]
        items = [
            (item_of_group[group], units) for group, count, units in tasks for _ in range(count)
        ]
        idle = len(problem.idle_gpus[node])
        capacity = int(problem.gpu_kind_capacity[problem.gpu_kind[node]])
        packed = pack_shares(shared, idle, capacity, [units for _, units in items])
        assert packed is not None, "hints are made of feasible plans"
        for place in {cell, model.pool_of.get(cell, cell)}.intersection(model.opened):
            opened, _ = model.opened[place]
            hint.values[opened.index] += max(0, max(packed, default=-1) - len(shared) + 1)
        rows = dict(model.bins.get(cell, []))
        for (item, _), position in zip(items, packed, strict=True):
            if item in rows:
                hint.values[rows[item][position].index] += 1
