"""What the baselines share: job after job, task after task, each on the node a rule names.

As schedulers in use do it: no look-ahead, no second order, no going back to a placed job. Jobs go
by priority, then the longest waiting, then in the order written. A gang starts as a whole or not at
all; elastic groups start with the least and grow when their priority has been served.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol

import numpy as np

from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, IntArray, OneDomain, Plan
from placement.compiled.values import is_better, tier_values
from solvers.base import OnPlan, SolveParameters, SolverResult
from solvers.occupancy import Occupancy

Entries = list[tuple[int, int, int]]
"""(group, node, count)."""


class NodeRule(Protocol):
    """Which node the next task goes to."""

    def choose(self, occupancy: Occupancy, kind: int, nodes: IntArray) -> int:
        """One of ``nodes``, on each of which a task of the kind fits now; not empty, ascending."""
        ...

    def changed(self, occupancy: Occupancy, node: int) -> None:
        """Told whenever what is free on a node has changed."""
        ...


class OneByOne:
    """A solver that follows a :class:`NodeRule`.

    ``baseline`` tells the engine to show what it does by itself, without greedy as its floor.
    """

    name: str
    baseline = True

    def rule(self, occupancy: Occupancy) -> NodeRule:
        """The rule, fresh for one solve."""
        raise NotImplementedError

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        """See :class:`solvers.base.Solver`; claims no bounds."""
        bounds: tuple[int | None, ...] = (None,) * len(problem.tiers)
        occupancy = Occupancy(problem)
        plan = _construct(problem, _Placer(problem, occupancy, self.rule(occupancy)), parameters)
        best = EMPTY_PLAN if incumbent is None else incumbent
        notes: tuple[str, ...] = ()
        faults = plan_faults(problem, plan)
        if faults:
            notes = (f"{self.name}: made a wrong plan, dropped: {faults[0]}",)
        elif incumbent is None or is_better(
            problem, tier_values(problem, plan), tier_values(problem, best)
        ):
            best = plan
            if on_plan is not None:
                on_plan(best, bounds)
        return SolverResult(plan=best, bounds=bounds, notes=notes)


def arrival_order(problem: CompiledProblem, job: int) -> tuple[int, Fraction, int]:
    """Sort key: priority, longest waiting, order written."""
    # The compiled problem weighs waiting by work; undone, it is the waiting time but for rounding.
    waited = Fraction(int(problem.age_weight[job]), max(1, int(problem.work_base[job])))
    return (-int(problem.priority[job]), -waited, job)


def _construct(problem: CompiledProblem, placer: "_Placer", parameters: SolveParameters) -> Plan:
    order = sorted(range(problem.job_count), key=lambda job: arrival_order(problem, job))
    placed: dict[int, Entries] = {}
    for priority in sorted(set(problem.priority.tolist()), reverse=True):
        jobs = [job for job in order if problem.priority[job] == priority]
        for job in jobs:
            if parameters.remaining_s() <= 0.0:
                break
            counts = {g: int(problem.count_min[g]) for g in problem.job_groups[job]}
            if not any(counts.values()):
                counts[problem.job_groups[job][0]] = 1  # a started job has at least one task
            entries = placer.place(job, counts)
            if entries is not None:
                placed[job] = entries
        for job in jobs:
            if job in placed:
                placed[job] = _grown(problem, placer, job, placed[job], parameters)
    return Plan.of([entry for entries in placed.values() for entry in entries])


def _grown(
    problem: CompiledProblem,
    placer: "_Placer",
    job: int,
    entries: Entries,
    parameters: SolveParameters,
) -> Entries:
    """One task more as long as it fits, group by group."""
    counts = dict.fromkeys(problem.job_groups[job], 0)
    for group, _, count in entries:
        counts[group] += count
    for group in problem.job_groups[job]:
        while counts[group] < problem.count_max[group] and parameters.remaining_s() > 0.0:
            counts[group] += 1
            larger = placer.replace(job, entries, counts)
            if larger is None:
                counts[group] -= 1
                break
            entries = larger
    return entries


class _Placer:
    """Places whole jobs into an occupancy, or leaves it as it was."""

    def __init__(self, problem: CompiledProblem, occupancy: Occupancy, rule: NodeRule) -> None:
        self._problem = problem
        self._occupancy = occupancy
        self._rule = rule
        self._all = np.arange(problem.node_count, dtype=np.int64)
        self._spread = {rule.group: rule for rule in problem.spread}
        self._required: dict[int, list[OneDomain]] = {}
        for one_domain in problem.required:
            self._required.setdefault(one_domain.job, []).append(one_domain)

    def place(self, job: int, counts: dict[int, int]) -> Entries | None:
        """Place ``counts[group]`` tasks of each group; None, and nothing changed, if it fails."""
        groups = self._problem.job_groups[job]
        network = sum(counts.values()) > 1 and any(
            self._problem.network[self._problem.group_kind[g]] for g in groups if counts[g]
        )
        for nodes in self._scopes(self._levels(job, groups), self._all):
            mark = self._occupancy.mark()
            entries = self._place_groups(job, counts, nodes, network=network)
            if entries is not None and network and len({node for _, node, _ in entries}) == 1:
                # Wholly on one node it uses no NIC bandwidth: once more, without.
                self._undo(mark, entries)
                entries = self._place_groups(job, counts, nodes[nodes == entries[0][1]])
            if entries is None and network:
                entries = self._on_one_node(job, counts, nodes)
            if entries is not None:
                return entries
        return None

    def replace(self, job: int, entries: Entries, counts: dict[int, int]) -> Entries | None:
        """Place a job anew with other counts; None, and nothing changed, if it fails."""
        mark = self._occupancy.mark()
        self._occupancy.release(entries)
        self._changed(entries)
        larger = self.place(job, counts)
        if larger is None:
            self._undo(mark, entries)
        return larger

    def _undo(self, mark: int, entries: Entries) -> None:
        self._occupancy.undo(mark)
        self._changed(entries)

    def _changed(self, entries: Entries) -> None:
        for node in {node for _, node, _ in entries}:
            self._rule.changed(self._occupancy, node)

    def _levels(self, job: int, groups: tuple[int, ...]) -> list[int]:
        """Levels at which exactly these groups must share a domain."""
        return [r.level for r in self._required.get(job, []) if r.groups == groups]

    def _scopes(self, levels: list[int], nodes: IntArray) -> Iterator[IntArray]:
        """Node sets to try: the named domains of the finest required level, in order."""
        if not levels:
            yield nodes
            return
        level = max(levels)
        domain = self._problem.domain[level][nodes]
        for one in np.unique(domain):
            if self._problem.named[level][one]:
                yield nodes[domain == one]

    def _on_one_node(self, job: int, counts: dict[int, int], nodes: IntArray) -> Entries | None:
        """Place the whole job on the first node that takes it without its NIC."""
        able = np.ones(len(nodes), dtype=np.bool_)
        for group, count in counts.items():
            kind = int(self._problem.group_kind[group])
            able &= self._occupancy.fits(kind, nodes, network=False) >= count
        for node in nodes[able]:
            entries = self._place_groups(job, counts, np.array([node], dtype=np.int64))
            if entries is not None:
                return entries
        return None

    def _place_groups(
        self, job: int, counts: dict[int, int], nodes: IntArray, *, network: bool = False
    ) -> Entries | None:
        mark = self._occupancy.mark()
        entries: Entries = []
        several = len(self._problem.job_groups[job]) > 1
        for group, count in counts.items():
            levels = self._levels(job, (group,)) if several else []
            for scope in self._scopes(levels, nodes):
                placed = self._place_tasks(group, count, scope, network=network)
                if placed is not None:
                    entries += placed
                    break
            else:
                self._undo(mark, entries)
                return None
        return entries

    def _place_tasks(
        self, group: int, count: int, nodes: IntArray, *, network: bool
    ) -> Entries | None:
        kind = int(self._problem.group_kind[group])
        mark = self._occupancy.mark()
        entries: Entries = []
        for _ in range(count):
            able = nodes[self._occupancy.fits(kind, nodes, network=network) > 0]
            able = able[self._spread_allows(group, entries, able)]
            if not len(able):
                self._undo(mark, entries)
                return None
            node = self._rule.choose(self._occupancy, kind, able)
            self._occupancy.place(kind, node, 1, network=network)
            self._rule.changed(self._occupancy, node)
            entries.append((group, node, 1))
        return entries

    def _spread_allows(self, group: int, entries: Entries, nodes: IntArray) -> IntArray:
        """Positions in ``nodes`` where one more task keeps the group's spread rule."""
        rule = self._spread.get(group)
        if rule is None or not len(nodes):
            return np.arange(len(nodes), dtype=np.int64)
        domain = self._problem.domain[rule.level]
        per_domain = np.zeros(len(self._problem.named[rule.level]), dtype=np.int64)
        for _, node, count in entries:
            per_domain[domain[node]] += count
        after = per_domain[domain[nodes]] + 1
        allowed = np.ones(len(nodes), dtype=np.bool_)
        if rule.most is not None:
            allowed &= after <= rule.most
        if rule.skew is not None:
            allowed &= after - per_domain[list(rule.domains)].min() <= rule.skew
        return np.flatnonzero(allowed)
