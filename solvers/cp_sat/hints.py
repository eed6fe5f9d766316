"""A plan in the variables of the counting model, from which all other variables follow."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from placement.compiled.leftover import Leftover, leftover, shares_on
from placement.compiled.problem import Plan
from placement.compiled.shares import pack_shares

if TYPE_CHECKING:
    from solvers.cp_sat.model import CountingModel


def any_of(variables: list[cp_model.IntVar]) -> "Callable[[Hint], int]":
    """1 if any of the variables is positive."""
    return lambda hint: int(hint.total(variables) > 0)


@dataclass(eq=False)
class Hint:
    """Values by variable index, and the plan they come from."""

    model: "CountingModel"
    plan: Plan
    values: dict[int, int]
    _left: Leftover | None = None

    @staticmethod
    def of(model: "CountingModel", plan: Plan) -> "Hint":
        """Count a canonical plan by item and cell; pack its shares on single nodes."""
        hint = Hint(model, plan, {})
        for variable in (*model.z.values(), *model.started):
            hint.values[variable.index] = 0
        item_of_job_group: dict[int, int] = {}
        for number, item in enumerate(model.items):
            offset = model.items_of[item.bundle].index(number)
            for job in model.bundles[item.bundle].jobs:
                item_of_job_group[model.problem.job_groups[job][offset]] = number
        jobs: set[int] = set()
        bundle_of_job = {j: b for b, bundle in enumerate(model.bundles) for j in bundle.jobs}
        for group, node, count in zip(plan.group, plan.node, plan.count, strict=True):
            place = item_of_job_group[int(group)]
            variable = model.z[place, model.cells_holding(place, int(node))]
            hint.values[variable.index] += int(count)
            jobs.add(int(model.problem.group_job[group]))
        for job in jobs:
            hint.values[model.started[bundle_of_job[job]].index] += 1
        hint._pack(item_of_job_group)
        return hint

    def total(self, variables: Iterable[cp_model.IntVar]) -> int:
        """Sum of the values of the variables."""
        return sum(self.values[variable.index] for variable in variables)

    def known(self) -> Iterator[tuple[cp_model.IntVar, int]]:
        """Variables that the plan itself gives."""
        for variable in (*self.model.z.values(), *self.model.started):
            yield variable, self.values[variable.index]
        for cell, (opened, _) in self.model.opened.items():
            yield opened, self.values[opened.index]
            for _, row in self.model.bins.get(cell, []):
                for variable in row:
                    yield variable, self.values[variable.index]

    def _pack(self, item_of_group: dict[int, int]) -> None:
        model, problem = self.model, self.model.problem
        for cell, (opened, _) in model.opened.items():
            self.values[opened.index] = 0
            for _, row in model.bins.get(cell, []):
                for variable in row:
                    self.values[variable.index] = 0
        for node, tasks in shares_on(problem, self.plan).items():
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
                self.values[opened.index] += max(0, max(packed, default=-1) - len(shared) + 1)
            rows = dict(model.bins.get(cell, []))
            for (item, _), position in zip(items, packed, strict=True):
                if item in rows:
                    self.values[rows[item][position].index] += 1

    def left(self) -> Leftover:
        """What the plan leaves free."""
        if self._left is None:
            self._left = leftover(self.model.problem, self.plan)
        return self._left
