"""The hard rules as rows over one integer per task group and node.

Written from ``docs/objective.md`` and the design of the rules alone, one variable per group and
node, so that it can serve as witness for the solver that counts by class.
"""

import numpy as np

from placement.compiled.problem import CompiledProblem, OneDomain, Plan
from solvers.highs.mip import Mip, Terms


class PlacementRules:
    """Variables and hard rules of a problem in a :class:`Mip`.

    Attributes
    ----------
    mip
        The program; the tiers add to it.
    start
        ``[J]`` variable: the job starts.
    tasks
        (group, node) to the variable that counts the group's tasks there; eligible pairs only.
    pairs
        Per group: (node, variable) of ``tasks``, nodes ascending.
    opened
        ``[N]`` terms that count the idle GPUs opened by shares on the node.
    """

    def __init__(self, problem: CompiledProblem) -> None:
        self.problem = problem
        self.mip = Mip()
        self.start = [self.mip.integer(1) for _ in range(problem.job_count)]
        self.tasks: dict[tuple[int, int], int] = {}
        self.pairs: list[list[tuple[int, int]]] = [[] for _ in range(problem.group_count)]
        self.opened: list[Terms] = [[] for _ in range(problem.node_count)]
        self.on_node: list[list[tuple[int, int]]] = [[] for _ in range(problem.node_count)]
        self._used: dict[tuple[tuple[int, ...], int], dict[int, int]] = {}
        for group in range(problem.group_count):
            kind = int(problem.group_kind[group])
            for node in np.flatnonzero(problem.eligible[kind]).tolist():
                most = min(int(problem.fit[kind, node]), int(problem.count_max[group]))
                if most > 0:
                    variable = self.mip.integer(most)
                    self.tasks[group, node] = variable
                    self.pairs[group].append((node, variable))
                    self.on_node[node].append((group, variable))
        self._add_counts()
        for node in range(problem.node_count):
            self._add_node(node)
        self._add_network()
        for rule in problem.required:
            self._add_required(rule)
        self._add_spread()

    def plan(self, values: tuple[int, ...]) -> Plan:
        """The plan that a solution stands for."""
        return Plan.of([(g, n, values[v]) for (g, n), v in self.tasks.items()])

    def count(self, groups: tuple[int, ...]) -> Terms:
        """Number of tasks of these groups."""
        return [(1, variable) for group in groups for _, variable in self.pairs[group]]

    def most_tasks(self, groups: tuple[int, ...]) -> int:
        """Upper bound of :meth:`count`."""
        return sum(
            min(int(self.problem.count_max[g]), sum(self.mip.upper[v] for _, v in self.pairs[g]))
            for g in groups
        )

    def in_domains(self, groups: tuple[int, ...], level: int) -> dict[int, Terms]:
        """Per domain of the level that can host: number of tasks of these groups in it."""
        domain = self.problem.domain[level]
        result: dict[int, Terms] = {}
        for group in groups:
            for node, variable in self.pairs[group]:
                result.setdefault(int(domain[node]), []).append((1, variable))
        return result

    def used(self, groups: tuple[int, ...], level: int) -> dict[int, int]:
        """Per domain that can host the groups: variable, 1 exactly if it has a task of theirs."""
        key = (groups, level)
        if key not in self._used:
            self._used[key] = {}
            for domain, terms in self.in_domains(groups, level).items():
                variable = self._used[key][domain] = self.mip.integer(1)
                self._allow(groups, level, domain, variable)
                self.mip.at_most([(1, variable), *((-a, v) for a, v in terms)], 0)
        return self._used[key]

    def _allow(self, groups: tuple[int, ...], level: int, domain: int, variable: int) -> None:
        """No task of the groups in the domain unless the variable is 1."""
        where = self.problem.domain[level]
        for group in groups:
            terms = [(1, v) for node, v in self.pairs[group] if where[node] == domain]
            most = min(int(self.problem.count_max[group]), sum(self.mip.upper[v] for _, v in terms))
            if terms:
                self.mip.at_most([*terms, (-most, variable)], 0)

    def _add_counts(self) -> None:
        """A started job has every group within its counts, and at least one task."""
        problem = self.problem
        for job, groups in enumerate(problem.job_groups):
            start = self.start[job]
            for group in groups:
                count = self.count((group,))
                self.mip.at_most([*count, (-int(problem.count_max[group]), start)], 0)
                least = int(problem.count_min[group])
                if least:
                    self.mip.at_most([(least, start), *((-a, v) for a, v in count)], 0)
            self.mip.at_most([(1, start), *((-a, v) for a, v in self.count(groups))], 0)

    def _add_node(self, node: int) -> None:
        """Countable resources, whole GPUs and shares of one node."""
        problem = self.problem
        kinds = [(int(problem.group_kind[group]), v) for group, v in self.on_node[node]]
        for resource in range(len(problem.resource_names)):
            terms = [(int(problem.demand[kind, resource]), v) for kind, v in kinds]
            self.mip.capacity(terms, int(problem.free[node, resource]))
        gpu_kind = int(problem.gpu_kind[node])
        if gpu_kind < 0:
            return
        shares = [
            (int(problem.share_units[kind, gpu_kind]), v)
            for kind, v in kinds
            if not problem.whole_gpus[kind] and problem.share_units[kind, gpu_kind]
        ]
        if shares:
            self.opened[node] = self._add_shares(node, shares)
        self.mip.capacity(self.gpus_taken(node), len(problem.idle_gpus[node]))

    def gpus_taken(self, node: int) -> Terms:
        """Idle GPUs of the node that the decisions take, whole or for shares."""
        problem = self.problem
        whole = [
            (int(problem.whole_gpus[problem.group_kind[group]]), v)
            for group, v in self.on_node[node]
        ]
        return [(gpus, v) for gpus, v in whole if gpus] + self.opened[node]

    def _add_shares(self, node: int, shares: Terms) -> Terms:
        """Each share on one GPU: one already shared, or an idle one that is opened for shares.

        Opened GPUs are alike and used in order.
        """
        problem, mip = self.problem, self.mip
        parts: dict[int, Terms] = {v: [] for _, v in shares}
        for _, left in problem.shared_gpus[node]:
            self._add_shared_gpu(shares, parts, left)
        capacity = int(problem.gpu_kind_capacity[problem.gpu_kind[node]])
        opened: Terms = []
        most_opened = min(len(problem.idle_gpus[node]), sum(mip.upper[v] for _, v in shares))
        for _ in range(most_opened):
            is_open = mip.integer(1)
            for part in self._add_shared_gpu(shares, parts, capacity):
                mip.at_most([(1, part), (-mip.upper[part], is_open)], 0)
            if opened:
                mip.at_most([(1, is_open), (-1, opened[-1][1])], 0)
            opened.append((1, is_open))
        for _, variable in shares:
            mip.equal([*parts[variable], (-1, variable)], 0)
        return opened

    def _add_shared_gpu(self, shares: Terms, parts: dict[int, Terms], room: int) -> list[int]:
        """Variables for the shares on one GPU with this many units free."""
        load: Terms = []
        for units, variable in shares:
            most = min(self.mip.upper[variable], room // units)
            if most:
                part = self.mip.integer(most)
                parts[variable].append((1, part))
                load.append((units, part))
        self.mip.capacity(load, room)
        return [part for _, part in load]

    def _add_network(self) -> None:
        """NIC bandwidth; a job that sits wholly on one node uses none.

        ``charged`` is at least the number of tasks on the node unless the job is alone there.
        Only nodes whose bandwidth can run short get rows.
        """
        problem, mip = self.problem, self.mip
        networks = problem.network[problem.group_kind]
        by_node: list[list[tuple[int, int]]] = [[] for _ in range(problem.node_count)]
        for groups in problem.job_groups:
            if self.most_tasks(groups) > 1:
                for group in groups:
                    for node, variable in self.pairs[group] if networks[group] else ():
                        by_node[node].append((group, variable))
        alone: dict[int, dict[int, int]] = {}
        for node, members in enumerate(by_node):
            free = int(problem.network_free[node])
            if sum(int(networks[group]) * mip.upper[v] for group, v in members) <= free:
                continue
            use: Terms = []
            for group, variable in members:
                job = int(problem.group_job[group])
                if job not in alone:
                    alone[job] = self._alone(job)
                most = mip.upper[variable]
                charged = mip.integer(most)
                mip.at_most([(1, variable), (-1, charged), (-most, alone[job][node])], 0)
                use.append((int(networks[group]), charged))
            mip.capacity(use, free)

    def _alone(self, job: int) -> dict[int, int]:
        """Per node that can host the job: variable that may be 1 only if no task is elsewhere."""
        mip, groups = self.mip, self.problem.job_groups[job]
        most = self.most_tasks(groups)
        total = mip.integer(most)
        mip.equal([*self.count(groups), (-1, total)], 0)
        alone: dict[int, int] = {}
        last = len(self.problem.level_names) - 1
        for node, terms in self.in_domains(groups, last).items():
            alone[node] = mip.integer(1)
            here = [(-a, v) for a, v in terms]
            mip.at_most([(1, total), *here, (most, alone[node])], most)
        mip.at_most([(1, variable) for variable in alone.values()], 1)
        return alone

    def _add_required(self, rule: OneDomain) -> None:
        """The groups' tasks share one named domain of the level."""
        chosen: Terms = []
        for domain in self.in_domains(rule.groups, rule.level):
            variable = self.mip.integer(1 if self.problem.named[rule.level][domain] else 0)
            self._allow(rule.groups, rule.level, domain, variable)
            chosen.append((1, variable))
        self.mip.at_most([*chosen, (-1, self.start[rule.job])], 0)

    def _add_spread(self) -> None:
        """At most ``most`` tasks in a domain; counts that differ by at most ``skew``."""
        for rule in self.problem.spread:
            groups = (rule.group,)
            counts = self.in_domains(groups, rule.level)
            if rule.most is not None:
                for terms in counts.values():
                    self.mip.at_most(terms, rule.most)
            if rule.skew is not None:
                least = self.mip.integer(self.most_tasks(groups))
                for domain in {*rule.domains, *counts}:
                    terms = counts.get(domain, [])
                    self.mip.at_most([(1, least), *((-a, v) for a, v in terms)], 0)
                    self.mip.at_most([*terms, (-1, least)], rule.skew)
