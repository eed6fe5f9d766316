"""Assemblable sets in what is left of the cells, as a linear expression."""

from collections.abc import Sequence

import numpy as np
from ortools.sat.python import cp_model

from placement.compiled.problem import TargetShape
from solvers.cp_sat.expression import Expression
from solvers.cp_sat.hints import Derivation, Hint
from solvers.cp_sat.model import CountingModel
from solvers.cp_sat.rows import Term


class AssemblableSets:
    """How many sets of the target mix still fit (``docs/objective.md``, fragmentation)."""

    def __init__(self, model: CountingModel) -> None:
        self.model = model

    def expression(self) -> Expression:
        """Weighted number of sets, in tier units."""
        terms: list[Term] = []
        constant = 0
        for target in self.model.problem.targets:
            part = self._sets(target)
            terms += [(target.weight * c, v, most) for c, v, most in part.terms]
            constant += target.weight * part.constant
        return Expression(terms, constant)

    def _sets(self, target: TargetShape) -> Expression:
        """Number of sets of one shape that fit in what is left."""
        model, problem = self.model, self.model.problem
        units: dict[int, tuple[Term, int]] = {}
        for cell, members in enumerate(model.cells):
            if target.usable[members.nodes[0]] and (target.gpus or target.demand[:3].any()):
                term = self._units(target, cell)
                if term is not None:
                    units[cell] = (term, len(members.nodes))
        if target.nodes == 1 and target.level is None:
            return Expression([term for term, _ in units.values()])
        domains: dict[int, list[int]] = {}
        for cell in units:
            node = model.cells[cell].nodes[0]
            if target.level is None:
                domains.setdefault(0, []).append(cell)
                continue
            domain = int(problem.domain[target.level][node])
            if problem.named[target.level][domain]:
                key = cell if target.level == len(problem.level_names) - 1 else domain
                domains.setdefault(key, []).append(cell)
        terms: list[Term] = []
        for cells in domains.values():
            most = sum(units[c][0][2] for c in cells) // target.nodes
            if most:
                terms.append((1, self._sets_in(target, cells, units, most), most))
        return Expression(terms)

    def _sets_in(
        self,
        target: TargetShape,
        cells: Sequence[int],
        units: dict[int, tuple[Term, int]],
        most: int,
    ) -> cp_model.IntVar:
        """Sets t in one domain: nodes x t <= sum over nodes of min(units, t)."""
        model = self.model
        sets = model.model.new_int_var(0, most, "")
        parts: list[cp_model.LinearExprT] = []
        derive = [(units[cell][0][1], units[cell][1]) for cell in cells]

        def number(hint: Hint) -> int:
            amounts = [(hint.total([unit]), nodes) for unit, nodes in derive]
            best = 0
            for t in range(1, most + 1):
                if sum(min(a, t * n) for a, n in amounts) >= target.nodes * t:
                    best = t
            return best

        # Before the parts: they follow from it.
        model.derive(sets, number)
        for cell in cells:
            (_, unit, unit_most), nodes = units[cell]
            if unit_most <= nodes or target.nodes == 1:
                # Never more than one per node, or distinct nodes are not asked for.
                parts.append(unit)
                continue
            part = model.model.new_int_var(0, unit_most, "")
            model.model.add(part <= unit)
            model.model.add(part <= nodes * sets)
            parts.append(part)
            model.derive(part, _least_of(unit, nodes, sets))
        model.model.add(target.nodes * sets <= sum(parts))

        return sets

    def _units(self, target: TargetShape, cell: int) -> Term | None:
        """How often one node's part of the set fits in what is left of the cell."""
        model, problem = self.model, self.model.problem
        nodes = list(model.cells[cell].nodes)
        idle = np.array([len(problem.idle_gpus[n]) for n in nodes], dtype=np.int64)
        used = np.flatnonzero(target.demand)
        each = (problem.free[nodes][:, used] // target.demand[used]).min(axis=1)
        if target.gpus:
            each = np.minimum(each, idle // target.gpus)
        most = int(each.sum())
        if not most:
            return None
        units = model.model.new_int_var(0, most, "")
        items = model.items_in[cell]
        for resource in used.tolist():
            taken = [
                (int(problem.demand[model.items[i].kind, resource]), *model.count(i, cell))
                for i in items
                if problem.demand[model.items[i].kind, resource]
            ]
            free = int(problem.free[nodes, resource].sum())
            reach = sum(c * m for c, _, m in taken) + int(target.demand[resource]) * most
            if taken and reach > free:
                model.add_at_most([*taken, (int(target.demand[resource]), units, most)], free)
        if target.gpus:
            self._add_gpu_units(target, cell, units, most, idle)
        capacity = each

        def count(hint: Hint) -> int:
            left = hint.left()
            total = 0
            for node, limit in zip(nodes, capacity.tolist(), strict=True):
                best = min(limit, int((left.free[node, used] // target.demand[used]).min()))
                if target.gpus:
                    best = min(best, int(left.idle[node]) // target.gpus)
                total += max(0, best)
            return total

        model.derive(units, count)
        return (1, units, most)

    def _add_gpu_units(
        self,
        target: TargetShape,
        cell: int,
        units: cp_model.IntVar,
        most: int,
        idle: np.ndarray,
    ) -> None:
        model, problem = self.model, self.model.problem
        sizes = [
            (int(problem.whole_gpus[model.items[i].kind]), model.z[i, cell], model.z_most[i, cell])
            for i in model.items_in[cell]
            if problem.whole_gpus[model.items[i].kind]
        ]
        if cell in model.opened:
            opened, opened_most = model.opened[cell]
            sizes.append((1, opened, opened_most))
        if not sizes:
            return
        model.add_at_most([*sizes, (target.gpus, units, most)], int(idle.sum()))
        if not model.cells[cell].single:
            # floor((free - used) / g) <= floor(free / g) - sum of floor(size / g) on every node.
            blocks: list[Term] = [(s // target.gpus, v, m) for s, v, m in sizes if s >= target.gpus]
            model.add_at_most([*blocks, (1, units, most)], int((idle // target.gpus).sum()))


def _least_of(unit: cp_model.IntVar, nodes: int, sets: cp_model.IntVar) -> Derivation:
    return lambda hint: min(hint.total([unit]), nodes * hint.total([sets]))
