"""Free amounts per node while a constructive solver places and takes back tasks."""

from collections.abc import Sequence

import numpy as np

from placement.compiled.problem import CompiledProblem, IntArray
from placement.compiled.shares import pack_shares

_Snapshot = tuple[int, IntArray, int, int, IntArray, tuple[int, ...], int]


class Occupancy:
    """What is free on every node now, with undo.

    Attributes
    ----------
    free
        ``[N, R]``; see :class:`CompiledProblem`.
    network
        ``[N]`` free NIC bandwidth, bit/s.
    idle
        ``[N]`` idle GPUs.
    bins
        ``[N, GPUs]`` free share units of each shared GPU; 0 where there is none.
    """

    def __init__(self, problem: CompiledProblem) -> None:
        self.problem = problem
        self.free = problem.free.copy()
        self.network = problem.network_free.copy()
        self.idle = np.array([len(gpus) for gpus in problem.idle_gpus], dtype=np.int64)
        width = max(
            (len(i) + len(s) for i, s in zip(problem.idle_gpus, problem.shared_gpus, strict=True)),
            default=0,
        )
        self.bins = np.zeros((problem.node_count, max(1, width)), dtype=np.int64)
        for node, gpus in enumerate(problem.shared_gpus):
            for position, (_, left) in enumerate(gpus):
                self.bins[node, position] = left
        self.capacity = np.where(
            problem.gpu_kind >= 0,
            problem.gpu_kind_capacity[problem.gpu_kind] if len(problem.gpu_kind_capacity) else 0,
            0,
        )
        self._shares: dict[int, tuple[int, ...]] = {}
        self._opened = np.zeros(problem.node_count, dtype=np.int64)  # idle GPUs opened by shares
        self._journal: list[_Snapshot] = []

    def mark(self) -> int:
        """A point to come back to."""
        return len(self._journal)

    def undo(self, mark: int) -> None:
        """Take back everything since the mark."""
        while len(self._journal) > mark:
            node, free, network, idle, bins, shares, opened = self._journal.pop()
            self.free[node] = free
            self.network[node] = network
            self.idle[node] = idle
            self.bins[node] = bins
            self._shares[node] = shares
            self._opened[node] = opened

    def forget(self) -> None:
        """Make everything so far final; marks lose their meaning."""
        self._journal.clear()

    def fits(self, kind: int, nodes: IntArray, *, network: bool) -> IntArray:
        """``[len(nodes)]`` tasks of the kind that fit on each of the nodes now."""
        problem = self.problem
        demand = problem.demand[kind]
        used = np.flatnonzero(demand)
        best: IntArray = (self.free[np.ix_(nodes, used)] // demand[used]).min(axis=1)
        whole = int(problem.whole_gpus[kind])
        if whole:
            best = np.minimum(best, self.idle[nodes] // whole)
        elif problem.share_units.shape[1] and problem.share_units[kind].any():
            units = np.maximum(1, problem.share_units[kind][problem.gpu_kind[nodes]])
            room = (self.bins[nodes] // units[:, None]).sum(axis=1)
            best = np.minimum(best, room + self.idle[nodes] * (self.capacity[nodes] // units))
        if network and problem.network[kind]:
            best = np.minimum(best, self.network[nodes] // problem.network[kind])
        return np.where(problem.eligible[kind, nodes], np.maximum(best, 0), 0)

    def place(self, kind: int, node: int, count: int, *, network: bool) -> None:
        """Take the room of ``count`` tasks that are known to fit (see :meth:`fits`)."""
        problem = self.problem
        self._remember(node)
        self.free[node] -= problem.demand[kind] * count
        if network:
            self.network[node] -= problem.network[kind] * count
        whole = int(problem.whole_gpus[kind])
        if whole:
            self.idle[node] -= whole * count
        elif problem.gpu_kind[node] >= 0 and problem.share_units[kind, problem.gpu_kind[node]]:
            units = int(problem.share_units[kind, problem.gpu_kind[node]])
            self._shares[node] = self._shares.get(node, ()) + (units,) * count
            for _ in range(count):
                self._place_share(node, units)

    def place_together(self, node: int, tasks: Sequence[tuple[int, int]]) -> bool:
        """Place (kind, count) of single-task jobs, their shares packed together; or nothing.

        One after the other, shares may find no room where all of them together do.

        Returns
        -------
        bool
            Whether they fit.
        """
        mark = self.mark()
        self._remember(node)
        problem, gpu_kind = self.problem, self.problem.gpu_kind[node]
        shares = list(self._shares.get(node, ()))
        for kind, count in tasks:
            self.free[node] -= problem.demand[kind] * count
            self.idle[node] -= int(problem.whole_gpus[kind]) * count
            if gpu_kind >= 0 and not problem.whole_gpus[kind]:
                units = int(problem.share_units[kind, gpu_kind])
                shares += [units] * (count if units else 0)
        if self.idle[node] >= 0 and (self.free[node] >= 0).all() and self._pack(node, shares):
            return True
        self.undo(mark)
        return False

    def release(self, entries: Sequence[tuple[int, int, int]]) -> None:
        """Give back what one job's (group, node, count) entries hold."""
        problem = self.problem
        network = len({node for _, node, _ in entries}) > 1
        for group, node, count in entries:
            self._remember(node)
            kind = int(problem.group_kind[group])
            self.free[node] += problem.demand[kind] * count
            if network:
                self.network[node] += problem.network[kind] * count
            whole = int(problem.whole_gpus[kind])
            if whole:
                self.idle[node] += whole * count
            elif problem.gpu_kind[node] >= 0 and problem.share_units[kind, problem.gpu_kind[node]]:
                units = int(problem.share_units[kind, problem.gpu_kind[node]])
                self._release_shares(node, units, count)

    def _remember(self, node: int) -> None:
        self._journal.append(
            (
                node,
                self.free[node].copy(),
                int(self.network[node]),
                int(self.idle[node]),
                self.bins[node].copy(),
                self._shares.get(node, ()),
                int(self._opened[node]),
            )
        )

    def _release_shares(self, node: int, units: int, count: int) -> None:
        """Take the shares out and pack those that stay anew."""
        left = list(self._shares[node])
        for _ in range(count):
            left.remove(units)
        # If the search was cut short: keep the packing, the room is lost to this solver only.
        self._pack(node, left)

    def _pack(self, node: int, shares: Sequence[int]) -> bool:
        """Pack all shares on the node anew; nothing changes if they find no room."""
        shared = [free for _, free in self.problem.shared_gpus[node]]
        held = len(self.problem.idle_gpus[node]) - int(self.idle[node]) - int(self._opened[node])
        room = len(self.problem.idle_gpus[node]) - held
        capacity = int(self.capacity[node])
        packed = pack_shares(shared, room, capacity, shares)
        if packed is None:
            return False
        used = max(0, max(packed, default=-1) - len(shared) + 1)
        bins = shared + [capacity] * used
        for size, position in zip(shares, packed, strict=True):
            bins[position] -= size
        self._shares[node] = tuple(shares)
        self.bins[node] = 0
        self.bins[node, : len(bins)] = bins
        self.idle[node] = room - used
        self._opened[node] = used
        return True

    def _place_share(self, node: int, units: int) -> None:
        row = self.bins[node]
        able = np.flatnonzero(row >= units)
        if len(able):
            # The fullest GPU that still fits: keeps the others open for larger shares.
            row[able[np.argmin(row[able])]] -= units
            return
        self.idle[node] -= 1
        self._opened[node] += 1
        empty = np.flatnonzero(row == 0)
        row[empty[0]] = self.capacity[node] - units
