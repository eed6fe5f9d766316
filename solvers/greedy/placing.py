"""Placing one job: domain by domain from fine to coarse, best fit on nodes, all or nothing."""

from collections.abc import Iterator, Sequence

import numpy as np

from placement.compiled.problem import CompiledProblem, IntArray, OneDomain, SpreadRule
from solvers.occupancy import Occupancy

Entries = list[tuple[int, int, int]]
"""(group, node, count)."""

DOMAINS_TRIED = 6
"""Domains of one level that are tried before the next coarser level."""


class JobPlacer:
    """Places whole jobs into an occupancy, or leaves it as it was.

    ``tight``: nodes that a task fills most exactly come first, however many a gang then spans;
    else a gang takes the roomiest nodes, to span few.
    """

    def __init__(
        self, problem: CompiledProblem, occupancy: Occupancy, *, tight: bool = False
    ) -> None:
        self.problem = problem
        self.tight = tight
        self.occupancy = occupancy
        self._sizes = [
            (int(size), problem.demand[problem.whole_gpus == size].min(axis=0))
            for size in np.unique(problem.whole_gpus)
            if size
        ]
        self._all = np.arange(problem.node_count, dtype=np.int64)
        self._spread: dict[int, SpreadRule] = {rule.group: rule for rule in problem.spread}
        self._required: dict[int, list[OneDomain]] = {}
        for rule in problem.required:
            self._required.setdefault(rule.job, []).append(rule)

    def place(
        self, job: int, counts: dict[int, int], within: IntArray | None = None
    ) -> Entries | None:
        """Place ``counts[group]`` tasks of each group; None (and nothing changed) if it fails.

        ``within``: the only nodes that may be used; None: all.

        Tries to keep the job in one domain of the finest level that holds it, as the locality
        tiers want; within the level the domain it fills most exactly comes first.
        """
        groups = [group for group in self.problem.job_groups[job] if counts[group]]
        nodes_used = self._all if within is None else within
        for nodes, one_node in self._scopes(job, groups, counts, nodes_used):
            mark = self.occupancy.mark()
            entries = self._pack(job, groups, counts, nodes, network=not one_node)
            if entries is not None:
                return entries
            self.occupancy.undo(mark)
        return None

    def _scopes(
        self, job: int, groups: Sequence[int], counts: dict[int, int], within: IntArray
    ) -> Iterator[tuple[IntArray, bool]]:
        """Sets of nodes to try, with whether the set is one node."""
        problem = self.problem
        whole_job = [r.level for r in self._required.get(job, []) if set(r.groups) >= set(groups)]
        coarsest = max(whole_job, default=-1)
        last = len(problem.level_names) - 1
        single = sum(counts[group] for group in groups) == 1
        if single:
            yield within, True
            return
        spread_nodes = any(g in self._spread for g in groups)
        total: dict[int, IntArray] = {}
        for group in groups:
            kind = int(problem.group_kind[group])
            total[group] = self.occupancy.fits(kind, within, network=False)
        levels = range(last, coarsest - 1 if coarsest >= 0 else -1, -1)
        if not problem.gang[job] and coarsest < 0:
            levels = range(last, last - 1, -1)
        for level in levels:
            if level == last and spread_nodes and self._node_spread(groups, counts):
                continue
            domain = problem.domain[level][within]
            width = len(problem.named[level])
            able = np.ones(width, dtype=np.bool_)
            slack = np.zeros(width)
            for group in groups:
                room = np.bincount(domain, weights=total[group], minlength=width)
                able &= room >= counts[group]
                slack += room - counts[group]
            if level in whole_job or coarsest >= 0:
                able &= problem.named[level]
            candidates = np.flatnonzero(able)
            order = candidates[np.lexsort((candidates, slack[candidates]))]
            tried = order if level == coarsest else order[:DOMAINS_TRIED]
            for chosen in tried:
                yield within[domain == chosen], level == last
        if coarsest < 0:
            yield within, False

    def _node_spread(self, groups: Sequence[int], counts: dict[int, int]) -> bool:
        """Whether a spread rule keeps the job off a single node."""
        for group in groups:
            rule = self._spread.get(group)
            if rule and rule.most is not None and counts[group] > rule.most:
                return True
            if rule and rule.skew is not None and len(rule.domains) > 1:
                return counts[group] > rule.skew
        return False

    def _pack(
        self,
        job: int,
        groups: Sequence[int],
        counts: dict[int, int],
        nodes: IntArray,
        *,
        network: bool,
    ) -> Entries | None:
        entries: Entries = []
        for group in sorted(groups, key=self._hardness):
            placed = self._pack_group(job, group, counts[group], nodes, network=network)
            if placed is None:
                return None
            entries += placed
        return entries

    def _hardness(self, group: int) -> tuple[float, ...]:
        problem = self.problem
        kind = int(problem.group_kind[group])
        return (-float(problem.whole_gpus[kind]), float(problem.fit[kind].sum()), float(group))

    def _pack_group(
        self, job: int, group: int, count: int, nodes: IntArray, *, network: bool
    ) -> Entries | None:
        own = [
            rule.level
            for rule in self._required.get(job, [])
            if rule.groups == (group,) and len(self.problem.job_groups[job]) > 1
        ]
        if not own:
            return self.fill(group, count, nodes, network=network)
        kind = int(self.problem.group_kind[group])
        level = max(own)
        room = self.occupancy.fits(kind, nodes, network=network)
        domain = self.problem.domain[level][nodes]
        sums = np.bincount(domain, weights=room, minlength=len(self.problem.named[level]))
        able = np.flatnonzero((sums >= count) & self.problem.named[level])
        for chosen in able[np.argsort(sums[able], kind="stable")]:
            mark = self.occupancy.mark()
            placed = self.fill(group, count, nodes[domain == chosen], network=network)
            if placed is not None:
                return placed
            self.occupancy.undo(mark)
        return None

    def fill(
        self, group: int, count: int, nodes: IntArray, *, network: bool, one_cell: bool = False
    ) -> Entries | None:
        """Place ``count`` tasks of the group on the nodes; None, nothing changed, if it fails.

        ``one_cell``: the nodes are only part of where the group sits; of a spread rule only the
        limit per node is kept, what concerns larger domains has been seen to.
        """
        kind = int(self.problem.group_kind[group])
        room = self.occupancy.fits(kind, nodes, network=network)
        rule = self._spread.get(group)
        if rule is not None and one_cell:
            if rule.level == len(self.problem.level_names) - 1 and rule.most is not None:
                room = np.minimum(room, rule.most)
            rule = None
        if rule is not None:
            amounts = self._spread_amounts(rule, count, nodes, room)
            if amounts is None:
                return None
        else:
            if int(room.sum()) < count:
                return None
            amounts = self._amounts(kind, count, nodes, room)
        entries: Entries = []
        for position in np.flatnonzero(amounts):
            node, number = int(nodes[position]), int(amounts[position])
            self.occupancy.place(kind, node, number, network=network)
            entries.append((group, node, number))
        return entries

    def _amounts(self, kind: int, count: int, nodes: IntArray, room: IntArray) -> IntArray:
        """Fewest nodes: the roomiest first, and the rest on the node it fits most tightly."""
        amounts = np.zeros(len(nodes), dtype=np.int64)
        left = count
        if self.tight:
            for position in np.argsort(self._tightness(kind, nodes), kind="stable"):
                amounts[position] = min(left, int(room[position]))
                left -= int(amounts[position])
                if not left:
                    break
            return amounts
        if count > 1:
            order = np.lexsort((self._tightness(kind, nodes), -room))
            for position in order:
                if left <= room[position] or not left:
                    break
                amounts[position] = room[position]
                left -= int(room[position])
        if left:
            able = np.flatnonzero((room >= left) & (amounts == 0))
            best = able[np.argmin(self._tightness(kind, nodes[able]))]
            amounts[best] = left
        return amounts

    def _tightness(self, kind: int, nodes: IntArray) -> np.ndarray:
        """Lower is a better home for a task: less of value is broken or left over there."""
        problem = self.problem
        idle = self.occupancy.idle[nodes].astype(np.float64)
        cpu = self.occupancy.free[nodes, 0] / max(1, int(problem.free[:, 0].max(initial=1)))
        soft = problem.soft_cost[kind, nodes] / 1000
        if problem.whole_gpus[kind]:
            return np.asarray(soft * 100 + self._broken(kind, nodes) * 10 + idle + cpu)
        if problem.share_units.size and problem.share_units[kind].any():
            units = problem.share_units[kind][problem.gpu_kind[nodes]]
            opened = ~np.any(self.occupancy.bins[nodes] >= units[:, None], axis=1)
            return np.asarray(soft * 100 + opened * 20 + idle + cpu)
        return np.asarray(soft * 100 + idle * 10 + cpu)

    def _broken(self, kind: int, nodes: IntArray) -> IntArray:
        """GPUs in larger requests that no longer fit once a task of the kind sits on the node.

        5 idle GPUs are a four and a one, 6 a four and a two: a task of two breaks the four of 5,
        unless the node lacks the CPU for a request of four anyway.
        """
        idle, free = self.occupancy.idle[nodes], self.occupancy.free[nodes]
        gpus, demand = int(self.problem.whole_gpus[kind]), self.problem.demand[kind]
        lost = np.zeros(len(nodes), dtype=np.int64)
        for size, least in self._sizes:
            if size > gpus:
                used = np.flatnonzero(least)
                before = np.minimum(idle // size, (free[:, used] // least[used]).min(axis=1))
                after = np.minimum(
                    (idle - gpus) // size, ((free - demand)[:, used] // least[used]).min(axis=1)
                )
                lost += size * (before - np.minimum(before, np.maximum(after, 0)))
        return lost

    def _spread_amounts(
        self, rule: SpreadRule, count: int, nodes: IntArray, room: IntArray
    ) -> IntArray | None:
        """Fill domains evenly, at most ``most`` each; then check the skew."""
        kind = int(self.problem.group_kind[rule.group])
        domain = self.problem.domain[rule.level][nodes]
        ids = np.unique(domain[room > 0])
        space = {int(d): int(room[domain == d].sum()) for d in ids}
        if rule.most is not None:
            space = {d: min(s, rule.most) for d, s in space.items()}
        share = dict.fromkeys(space, 0)
        if sum(space.values()) < count:
            return None
        if rule.skew is not None:
            for _ in range(count):
                open_domains = [d for d in share if share[d] < space[d]]
                share[min(open_domains, key=lambda d: (share[d], d))] += 1
            everywhere = [share.get(d, 0) for d in rule.domains]
            if max(everywhere) - min(everywhere) > rule.skew:
                return None
        else:
            left = count
            for d in sorted(space, key=lambda d: (-space[d], d)):
                share[d] = min(space[d], left)
                left -= share[d]
        amounts = np.zeros(len(nodes), dtype=np.int64)
        for d, number in share.items():
            if number:
                members = np.flatnonzero(domain == d)
                amounts[members] = self._amounts(kind, number, nodes[members], room[members])
        return amounts
