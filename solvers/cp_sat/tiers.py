"""Tiers of the objective as linear expressions over the counting model.

Each function returns terms and a constant whose sum is the tier's value for plans that realise
the model (exactly in cells of one node), and at least as good as the value of any plan otherwise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from placement.compiled.problem import TargetShape, Tier, TierKind
from solvers.cp_sat.hints import Hint, any_of
from solvers.cp_sat.model import CountingModel
from solvers.cp_sat.rows import Term


@dataclass(frozen=True, slots=True)
class Expression:
    """``sum(terms) + constant``, in tier units."""

    terms: list[Term]
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Used:
    """A domain that a job may use at one level, or at the node level the nodes of a cell.

    ``used`` counts how many of ``parts`` (sets of nodes) the job uses, at most ``most``;
    ``nodes`` is 1 where that is exact.
    """

    cells: list[int]
    used: cp_model.IntVar
    most: int
    nodes: int
    parts: tuple[tuple[int, ...], ...]


class Tiers:
    """Builds expressions on demand; what two tiers share is built once."""

    def __init__(self, model: CountingModel) -> None:
        self.model = model
        self._used: dict[tuple[tuple[int, ...], int], list[Used]] = {}
        self._ages: dict[int, cp_model.IntVar] = {}

    def expression(self, tier: Tier) -> Expression:
        """The tier's value."""
        match tier.kind:
            case TierKind.WORK | TierKind.WORK_WITHOUT_GPUS:
                return self._work(tier)
            case TierKind.AGE:
                return self._age(tier)
            case TierKind.PREFERRED_SPAN:
                return self._preferred_span()
            case TierKind.SPAN:
                assert tier.level is not None
                return self._span(tier.level)
            case TierKind.BALANCE:
                assert tier.level is not None
                return self._balance(tier.level)
            case TierKind.SOFT:
                return self._soft()
            case TierKind.FRAGMENTATION:
                return self._fragmentation()

    # -- work -------------------------------------------------------------------------------

    def _work(self, tier: Tier) -> Expression:
        problem, model = self.model.problem, self.model
        by_gpus = any(t.kind is TierKind.WORK_WITHOUT_GPUS for t in problem.tiers)
        terms: list[Term] = []
        for index, bundle in enumerate(model.bundles):
            job = bundle.first
            if problem.priority[job] != tier.priority:
                continue
            if by_gpus and problem.has_gpu[job] != (tier.kind is TierKind.WORK):
                continue
            base = int(problem.work_base[job])
            for i in model.items_of[index]:
                group = model.items[i].group
                if problem.count_min[group] == problem.count_max[group]:
                    continue
                value = int(problem.work_per_task[group])
                base -= value * int(problem.count_min[group])
                terms += [(value, v, most) for _, v, most in model.tasks([i], model.cells_of[i])]
            terms.append((base, model.started[index], len(bundle.jobs)))
        return Expression(terms)

    def _age(self, tier: Tier) -> Expression:
        model, problem = self.model, self.model.problem
        terms: list[Term] = []
        for index, bundle in enumerate(model.bundles):
            if problem.priority[bundle.first] != tier.priority:
                continue
            ages = [int(problem.age_weight[job]) for job in bundle.jobs]
            if ages[0] == ages[-1]:
                terms.append((ages[0], model.started[index], len(ages)))
            else:
                terms.append((1, self._oldest(index, ages), sum(ages)))
        return Expression(terms)

    def _oldest(self, bundle: int, ages: Sequence[int]) -> cp_model.IntVar:
        """Age of the n oldest jobs of a bundle: concave in n, one row per slope."""
        model = self.model
        if bundle not in self._ages:
            total = model.model.new_int_var(0, sum(ages), "")
            start = model.started[bundle]
            before = 0
            for number, age in enumerate(ages):
                # total <= sum of the first `number` + age * (n - number)
                row: list[Term] = [(1, total, sum(ages)), (-age, start, len(ages))]
                model.add_at_most(row, before - age * number)
                before += age
            model.derive(total, lambda hint: sum(ages[: hint.total([start])]))
            self._ages[bundle] = total
        return self._ages[bundle]

    # -- locality ---------------------------------------------------------------------------

    def _gangs(self) -> list[int]:
        problem = self.model.problem
        return [i for i, b in enumerate(self.model.bundles) if problem.gang[b.first]]

    def _preferred_span(self) -> Expression:
        problem = self.model.problem
        bundle_of = {self.model.bundles[index].first: index for index in self._gangs()}
        terms: list[Term] = []
        for rule in problem.preferred:
            if rule.job not in bundle_of:
                continue
            bundle = bundle_of[rule.job]
            items = tuple(
                i for i in self.model.items_of[bundle] if self.model.items[i].group in rule.groups
            )
            terms += self._excess(bundle, items, rule.level)
        return Expression(terms)

    def _span(self, level: int) -> Expression:
        terms: list[Term] = []
        for bundle in self._gangs():
            terms += self._excess(bundle, tuple(self.model.items_of[bundle]), level)
        return Expression(terms)

    def _excess(self, bundle: int, items: tuple[int, ...], level: int) -> list[Term]:
        """Intensity x (domains used - 1)."""
        model = self.model
        weight = int(model.problem.intensity[model.bundles[bundle].first])
        domains = self.used(bundle, items, level)
        if len(domains) == 1 and domains[0].nodes == 1:
            return []
        if not domains:
            return []
        least = sum(int(model.problem.count_min[model.items[i].group]) for i in items)
        if least:
            return [(weight, *self._beyond_first(bundle, items, domains, least))]
        terms: list[Term] = [(weight, d.used, d.most) for d in domains]
        # A group that may start without any task spans none then, not minus one.
        some = model.model.new_bool_var("")
        tasks = [v for _, v, _ in model.tasks(items, sorted({c for d in domains for c in d.cells}))]
        model.derive(some, any_of(tasks))
        for d in domains:
            model.model.add(d.used <= d.most * some)
        model.model.add(some <= sum(d.used for d in domains))
        return [*terms, (-weight, some, 1)]

    def _beyond_first(
        self, bundle: int, items: Sequence[int], domains: Sequence[Used], least: int
    ) -> tuple[cp_model.IntVar, int]:
        """Domains used - 1, or 0 if the job waits: its lower bounds are known without search."""
        model = self.model
        most = sum(d.most for d in domains) - 1
        beyond = model.model.new_int_var(0, most, "")
        start = model.started[bundle]
        count = sum(d.used for d in domains)
        model.model.add(beyond >= count - start)
        # Covering: so many of the roomiest domains are needed at the least.
        room = sorted((self._room(items, part) for d in domains for part in d.parts), reverse=True)
        needed = int(np.searchsorted(np.cumsum(room), least)) + 1
        model.model.add(count >= min(needed, most + 1) * start)
        if needed > 1:
            model.model.add(beyond >= (needed - 1) * start)
        used = [d.used for d in domains]
        model.derive(beyond, lambda hint: max(0, hint.total(used) - hint.total([start])))
        return beyond, most

    def _room(self, items: Sequence[int], part: Sequence[int]) -> int:
        """Most tasks of the items in one domain, each item by itself."""
        problem, model = self.model.problem, self.model
        total = 0
        for i in items:
            fit = int(problem.fit[model.items[i].kind, list(part)].sum())
            total += min(fit, int(problem.count_max[model.items[i].group]))
        return total

    def used(self, bundle: int, items: tuple[int, ...], level: int) -> list[Used]:
        """Per domain that the items may use, the number of domains used (0 or 1; nodes: more)."""
        key = (items, level)
        if key not in self._used:
            self._used[key] = self._make_used(bundle, items, level)
        return self._used[key]

    def _make_used(self, bundle: int, items: tuple[int, ...], level: int) -> list[Used]:
        model, problem = self.model, self.model.problem
        node_level = level == len(problem.level_names) - 1
        start = model.started[bundle]
        cells_of_domain: dict[int, list[int]] = {}
        for cell in sorted({cell for i in items for cell in model.cells_of[i]}):
            cells_of_domain.setdefault(model.domain_of_cell(cell, level), []).append(cell)
        result: list[Used] = []
        for _, cells in sorted(cells_of_domain.items()):
            inside = model.tasks(items, cells)
            nodes = sum(len(model.cells[c].nodes) for c in cells)
            if node_level and nodes > 1:
                result.append(self._nodes_used(bundle, items, cells[0]))
            else:
                used = model.model.new_bool_var("")
                zs = [v for _, v, _ in inside]
                model.derive(used, any_of(zs))
                for _, z, most in inside:
                    model.model.add(z <= most * used)
                model.model.add(used <= sum(zs))
                model.model.add(used <= start)
                result.append(Used(cells, used, 1, 1, (self._nodes(cells),)))
        return result

    def _nodes(self, cells: Sequence[int]) -> tuple[int, ...]:
        return tuple(node for cell in cells for node in self.model.cells[cell].nodes)

    def _nodes_used(self, bundle: int, items: tuple[int, ...], cell: int) -> Used:
        """Nodes used in a cell of several: at least what the roomiest of them make necessary.

        With fits sorted from large to small, m nodes hold at most their prefix sum; the convex
        hull of the steps gives one row per m.
        """
        model = self.model
        nodes = len(model.cells[cell].nodes)
        used = model.model.new_int_var(0, nodes, "")
        zs = [v for _, v, _ in model.tasks(items, [cell])]
        for i in items:
            if (i, cell) not in model.z:
                continue
            z = model.z[i, cell]
            fits = np.sort(model.fits(model.items[i].kind, cell))[::-1]
            fits = fits[fits > 0]
            prefix = np.concatenate([[0], np.cumsum(fits)])
            steps = np.flatnonzero(np.diff(fits, prepend=fits[0] + 1))[:8]
            for step in steps.tolist():
                size = int(fits[step])
                # used >= step + (z - prefix[step]) / size
                model.model.add(size * used >= z - int(prefix[step]) + size * step)
        model.model.add(used <= sum(zs))
        model.model.add(used <= nodes * model.started[bundle])
        groups = [model.items[i].group for i in items]
        members = set(model.cells[cell].nodes)

        def count(hint: Hint) -> int:
            entries = np.isin(hint.plan.group, groups)
            return len(members.intersection(hint.plan.node[entries].tolist()))

        model.derive(used, count)
        parts = tuple((node,) for node in model.cells[cell].nodes)
        return Used([cell], used, nodes, nodes, parts)

    def _balance(self, level: int) -> Expression:
        terms: list[Term] = []
        for bundle in self._gangs():
            terms += self._difference(bundle, level)
        return Expression(terms)

    def _difference(self, bundle: int, level: int) -> list[Term]:
        """Intensity x (most - fewest tasks in a used domain)."""
        model, problem = self.model, self.model.problem
        job = model.bundles[bundle].first
        items = tuple(model.items_of[bundle])
        domains = self.used(bundle, items, level)
        if len(domains) == 1 and domains[0].nodes == 1:
            return []
        total = sum(int(problem.count_max[model.items[i].group]) for i in items)
        largest = model.model.new_int_var(0, total, "")
        smallest = model.model.new_int_var(0, total, "")
        for d in domains:
            tasks = model.tasks(items, d.cells)
            count = sum(v for _, v, _ in tasks)
            if d.nodes > 1:
                # Several nodes: the fullest holds the average at least, the emptiest the
                # average of the used ones at most, which is not linear and left open.
                model.model.add(d.nodes * largest >= count)
                continue
            model.model.add(largest >= count)
            most = min(total, sum(m for _, _, m in tasks))
            model.model.add(smallest <= count + total * (1 - d.used)) if most else None
        model.model.add(smallest <= largest)
        groups = problem.job_groups[job]
        model.derive(largest, lambda hint: _extreme(hint, groups, level, max))
        model.derive(smallest, lambda hint: _extreme(hint, groups, level, min))
        difference = model.model.new_int_var(0, total, "")
        model.model.add(difference >= largest - smallest)
        model.derive(difference, lambda hint: hint.total([largest]) - hint.total([smallest]))
        least = sum(int(problem.count_min[model.items[i].group]) for i in items)
        if least == total and all(d.nodes == 1 for d in domains):
            self._add_divisors(difference, [d.used for d in domains], total)
        return [(int(problem.intensity[job]), difference, total)]

    def _add_divisors(
        self, difference: cp_model.IntVar, used: Sequence[cp_model.IntVar], tasks: int
    ) -> None:
        """Even counts need a number of domains that divides the tasks: a bound without search."""
        model = self.model
        uneven = model.model.new_bool_var("")
        divisors = [0, *(number for number in range(1, tasks + 1) if tasks % number == 0)]
        model.model.add_linear_expression_in_domain(
            cp_model.LinearExpr.sum(list(used)), cp_model.Domain.from_values(divisors)
        ).only_enforce_if(~uneven)
        model.model.add(difference >= uneven)
        model.derive(uneven, any_of([difference]))

    def _soft(self) -> Expression:
        problem, model = self.model.problem, self.model
        terms: list[Term] = []
        for (i, cell), z in model.z.items():
            cost = int(problem.soft_cost[model.items[i].kind, model.cells[cell].nodes[0]])
            if cost:
                terms.append((cost, z, model.z_most[i, cell]))
        return Expression(terms)

    # -- fragmentation ----------------------------------------------------------------------

    def _fragmentation(self) -> Expression:
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


def _least_of(unit: cp_model.IntVar, nodes: int, sets: cp_model.IntVar) -> Callable[[Hint], int]:
    return lambda hint: min(hint.total([unit]), nodes * hint.total([sets]))


def _extreme(
    hint: Hint, groups: Sequence[int], level: int, which: Callable[[list[int]], int]
) -> int:
    counts: dict[int, int] = {}
    entries = np.isin(hint.plan.group, list(groups))
    domains = hint.model.problem.domain[level][hint.plan.node[entries]]
    for domain, count in zip(domains.tolist(), hint.plan.count[entries].tolist(), strict=True):
        counts[domain] = counts.get(domain, 0) + count
    return which(list(counts.values())) if counts else 0
