"""Locality of gangs: domains spanned, and balance of tasks over them, as linear expressions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from solvers.cp_sat.expression import Expression
from solvers.cp_sat.hints import Hint, any_of
from solvers.cp_sat.model import CountingModel
from solvers.cp_sat.rows import Term


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


class Locality:
    """Span and balance of gangs; the domains that a job uses are modelled once per level."""

    def __init__(self, model: CountingModel) -> None:
        self.model = model
        self._used: dict[tuple[tuple[int, ...], int], list[Used]] = {}

    def _gangs(self) -> list[int]:
        problem = self.model.problem
        return [i for i, b in enumerate(self.model.bundles) if problem.gang[b.first]]

    def preferred_span(self) -> Expression:
        """Domains beyond the first at the levels that jobs and groups prefer."""
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

    def span(self, level: int) -> Expression:
        """Domains of the level beyond the first, over all gangs."""
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

    def balance(self, level: int) -> Expression:
        """Largest less smallest number of tasks in a used domain, over all gangs."""
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


def _extreme(
    hint: Hint, groups: Sequence[int], level: int, which: Callable[[list[int]], int]
) -> int:
    counts: dict[int, int] = {}
    entries = np.isin(hint.plan.group, list(groups))
    domains = hint.problem.domain[level][hint.plan.node[entries]]
    for domain, count in zip(domains.tolist(), hint.plan.count[entries].tolist(), strict=True):
        counts[domain] = counts.get(domain, 0) + count
    return which(list(counts.values())) if counts else 0
