"""The counting model: how many tasks of each group start in each cell.

Meaning: ``z[item, cell]`` tasks of a group in a cell, ``started[bundle]`` jobs of a bundle. One
integer per group and cell instead of one Boolean per task and node: identical tasks and nodes are
never told apart, which is what makes the model small and free of symmetry.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from placement.compiled.problem import CompiledProblem, IntArray
from solvers.cp_sat.bundles import Bundle, twins
from solvers.cp_sat.cells import Cell
from solvers.cp_sat.hints import Derivation
from solvers.cp_sat.rows import Part, Term, add_at_most


@dataclass(frozen=True, slots=True)
class Item:
    """One task group of a bundle."""

    bundle: int
    group: int
    kind: int


class CountingModel:
    """Variables and hard constraints; objectives are added by :mod:`solvers.cp_sat.tiers`.

    Attributes
    ----------
    model
        The CP-SAT model.
    items
        Task groups; those of a bundle stand next to each other.
    z
        ``(item, cell) -> variable``; absent where nothing fits.
    z_most
        Upper bound of each.
    started
        Per bundle, the number of its jobs that start.
    opened
        Per cell with shares, the number of idle GPUs that shares open.
    """

    def __init__(
        self, problem: CompiledProblem, cells: Sequence[Cell], bundles: Sequence[Bundle]
    ) -> None:
        self.problem = problem
        self.cells = list(cells)
        self.bundles = list(bundles)
        self.model = cp_model.CpModel()
        self.items = [
            Item(index, group, int(problem.group_kind[group]))
            for index, bundle in enumerate(bundles)
            for group in problem.job_groups[bundle.first]
        ]
        self.items_of: list[list[int]] = [[] for _ in bundles]
        for number, item in enumerate(self.items):
            self.items_of[item.bundle].append(number)
        self.z: dict[tuple[int, int], cp_model.IntVar] = {}
        self.z_most: dict[tuple[int, int], int] = {}
        self.covered = [[index, *cell.parts] for index, cell in enumerate(self.cells)]
        self.pool_of = {p: index for index, cell in enumerate(self.cells) for p in cell.parts}
        self.cells_of: list[list[int]] = [[] for _ in self.items]
        self.items_in: list[list[int]] = [[] for _ in self.cells]
        self.opened: dict[int, tuple[cp_model.IntVar, int]] = {}
        self.bins: dict[int, list[tuple[int, list[cp_model.IntVar]]]] = {}
        self._totals: dict[int, cp_model.IntVar] = {}
        self.derived: list[tuple[cp_model.IntVar, Derivation]] = []
        self.row_parts: list[tuple[cp_model.IntVar, Derivation]] = []
        self.cell_of_node = np.full(problem.node_count, -1, dtype=np.int64)
        for index, cell in enumerate(self.cells):
            if not cell.parts:
                self.cell_of_node[list(cell.nodes)] = index
        self.started = [
            self.model.new_int_var(0, len(bundle.jobs), f"s{index}")
            for index, bundle in enumerate(bundles)
        ]
        self._add_counts()
        for earlier, later in twins(problem, self.bundles):
            self.model.add(self.started[earlier] >= self.started[later])

    def domain_of_cell(self, cell: int, level: int) -> int:
        """Domain id of the cell at the level; at the node level the cell stands for its nodes."""
        if level == len(self.problem.level_names) - 1:
            return cell
        return int(self.problem.domain[level][self.cells[cell].nodes[0]])

    def fits(self, kind: int, cell: int) -> IntArray:
        """Tasks of the kind that fit on each node of the cell by themselves."""
        return self.problem.fit[kind, list(self.cells[cell].nodes)]

    def derive(self, variable: cp_model.IntVar, value: Derivation) -> cp_model.IntVar:
        """Register how a variable follows from a plan, so that hints are complete."""
        self.derived.append((variable, value))
        return variable

    def job_of(self, item: int) -> int:
        """The job that the item's bundle stands for."""
        return self.bundles[self.items[item].bundle].first

    def cells_holding(self, item: int, node: int) -> int:
        """The cell in which the item's tasks on the node are counted."""
        cell = int(self.cell_of_node[node])
        return self.pool_of.get(cell, cell) if self.pooled[item] else cell

    def members(self, cell: int) -> list[int]:
        """Items that may sit in the cell, those counted in its parts included."""
        return sorted({item for part in self.covered[cell] for item in self.items_in[part]})

    def terms(self, item: int, cell: int, size: int) -> list[Term]:
        """``size`` per task of the item in the cell and its parts."""
        return [
            (size, self.z[item, part], self.z_most[item, part])
            for part in self.covered[cell]
            if (item, part) in self.z
        ]

    def count(self, item: int, cell: int) -> tuple[cp_model.IntVar, int]:
        """Variable and bound of the item's tasks in the cell."""
        return self.z[item, cell], self.z_most[item, cell]

    def tasks(self, items: Sequence[int], cells: Sequence[int]) -> list[Term]:
        """Terms that count the tasks of the items in the cells."""
        return [
            (1, self.z[item, cell], self.z_most[item, cell])
            for item in items
            for cell in cells
            if (item, cell) in self.z
        ]

    def total(self, item: int) -> cp_model.IntVar:
        """The number of tasks of the item that start, as a variable of its own."""
        if item not in self._totals:
            most = int(self.problem.count_max[self.items[item].group])
            parts = [self.z[item, cell] for cell in self.cells_of[item]]
            total = self.model.new_int_var(0, most, f"t{item}")
            self.model.add(sum(parts) == total)
            self._totals[item] = self.derive(total, lambda hint: hint.total(parts))
        return self._totals[item]

    def _add_counts(self) -> None:
        problem = self.problem
        fit_in_cell = np.zeros((len(problem.demand), len(self.cells)), dtype=np.int64)
        for index, members in enumerate(self.cells):
            fit_in_cell[:, index] = problem.fit[:, list(members.nodes)].sum(axis=1)
        self.pooled = self._pooled()
        for number, item in enumerate(self.items):
            jobs = len(self.bundles[item.bundle].jobs)
            most_tasks = int(problem.count_max[item.group]) * jobs
            least = int(problem.count_min[item.group])
            for cell in np.flatnonzero(fit_in_cell[item.kind]).tolist():
                is_pool = bool(self.cells[cell].parts)
                if is_pool != (self.pooled[number] and (is_pool or cell in self.pool_of)):
                    continue
                bound = min(most_tasks, int(fit_in_cell[item.kind, cell]))
                self.z[number, cell] = self.model.new_int_var(0, bound, f"z{number}_{cell}")
                self.z_most[number, cell] = bound
                self.cells_of[number].append(cell)
                self.items_in[cell].append(number)
            total = [self.z[number, cell] for cell in self.cells_of[number]]
            start = self.started[item.bundle]
            if least == problem.count_max[item.group]:
                self.model.add(sum(total) == least * start)
            else:
                self.model.add(sum(total) >= least * start)
                self.model.add(sum(total) <= int(problem.count_max[item.group]) * start)

    def _pooled(self) -> list[bool]:
        """Whether no rule ties the item's tasks to domains coarser than a node."""
        node_level = len(self.problem.level_names) - 1
        tied = {rule.job for rule in self.problem.required if rule.level != node_level}
        spread = {rule.group for rule in self.problem.spread if rule.level != node_level}
        return [
            self.bundles[item.bundle].first not in tied and item.group not in spread
            for item in self.items
        ]

    def add_at_most(self, terms: Sequence[Term], limit: int) -> None:
        """See :func:`solvers.cp_sat.rows.add_at_most`."""
        # Parts of rows follow from all else, also from what is derived after the row was added.
        for part in add_at_most(self.model, terms, limit):
            self.row_parts.append((part.variable, _sum_of(part)))

    def add_at_least(self, terms: Sequence[Term], limit: int) -> None:
        """See :func:`solvers.cp_sat.rows.add_at_least`."""
        self.add_at_most([(-c, v, most) for c, v, most in terms], -limit)

    def size(self) -> dict[str, int]:
        """Variables and constraints so far."""
        return {
            "variables": len(self.model.proto.variables),
            "constraints": len(self.model.proto.constraints),
        }


def _sum_of(part: Part) -> Derivation:
    return lambda hint: sum(c * hint.total([v]) for c, v, _ in part.terms)
