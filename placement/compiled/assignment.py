"""From counts to tasks: ranks along the topology, and GPU indices on every node."""

from dataclasses import dataclass

import numpy as np

from placement.compiled.problem import CompiledProblem, Plan
from placement.compiled.shares import pack_shares


@dataclass(frozen=True, slots=True)
class Task:
    """One started task; ``rank`` runs through the job, ``local_rank`` through the job on a node."""

    group: int
    rank: int
    node: int
    local_rank: int
    gpus: tuple[int, ...]


def assign(problem: CompiledProblem, plan: Plan) -> dict[int, tuple[Task, ...]]:
    """Give every task of a feasible plan its rank, node and GPUs.

    Ranks run group by group, inside a group domain by domain (the domains that the job fills most
    come first at every level), so that consecutive ranks sit together and the number of domain
    crossings of the group is the least possible: one less than the domains it uses.

    Returns
    -------
    dict
        Per started job its tasks by rank.

    Raises
    ------
    ValueError
        If the plan does not fit (a fault of the solver that made it).
    """
    gpus = _devices(problem, plan)
    entries_of: dict[int, list[int]] = {}
    for entry, group in enumerate(plan.group):
        entries_of.setdefault(int(problem.group_job[group]), []).append(entry)
    result: dict[int, tuple[Task, ...]] = {}
    for job, entries in sorted(entries_of.items()):
        key = _topology_order(problem, plan, entries)
        tasks: list[Task] = []
        local: dict[int, int] = {}
        for group in problem.job_groups[job]:
            for entry in sorted(
                (e for e in entries if plan.group[e] == group), key=key.__getitem__
            ):
                node = int(plan.node[entry])
                for _ in range(int(plan.count[entry])):
                    taken = gpus[entry].pop(0) if gpus[entry] else ()
                    tasks.append(Task(group, len(tasks), node, local.get(node, 0), taken))
                    local[node] = local.get(node, 0) + 1
        result[job] = tuple(tasks)
    return result


def _topology_order(
    problem: CompiledProblem, plan: Plan, entries: list[int]
) -> dict[int, tuple[int, ...]]:
    """Sort key of each entry: per level (minus the job's tasks in the domain, domain id)."""
    nodes = plan.node[entries]
    counts = plan.count[entries]
    parts: list[list[int]] = []
    for level in range(len(problem.level_names)):
        domains = problem.domain[level][nodes]
        total: dict[int, int] = {}
        for domain, count in zip(domains.tolist(), counts.tolist(), strict=True):
            total[domain] = total.get(domain, 0) + count
        parts.append([-total[domain] for domain in domains.tolist()])
        parts.append(domains.tolist())
    return {entry: tuple(part[i] for part in parts) for i, entry in enumerate(entries)}


def _devices(problem: CompiledProblem, plan: Plan) -> list[list[tuple[int, ...]]]:
    """Per entry of the plan, per task: the GPU indices it takes."""
    result: list[list[tuple[int, ...]]] = [[] for _ in range(len(plan.group))]
    kinds = problem.group_kind[plan.group]
    takes = (problem.whole_gpus[kinds] > 0) | problem.share_units[kinds].any(axis=1)
    by_node: dict[int, list[int]] = {}
    for taker in np.flatnonzero(takes).tolist():
        by_node.setdefault(int(plan.node[taker]), []).append(taker)
    for node, entries in by_node.items():
        idle = list(problem.idle_gpus[node])
        # Shares take the highest indices, whole-GPU tasks the lowest: they grow apart.
        items = [
            (entry, int(problem.share_units[kinds[entry], problem.gpu_kind[node]]))
            for entry in entries
            if not problem.whole_gpus[kinds[entry]]
            for _ in range(int(plan.count[entry]))
        ]
        shared = [gpu for gpu, _ in problem.shared_gpus[node]]
        packed = pack_shares(
            [left for _, left in problem.shared_gpus[node]],
            len(idle),
            int(problem.gpu_kind_capacity[problem.gpu_kind[node]]),
            [units for _, units in items],
        )
        if packed is None:
            raise ValueError(f"shares do not fit on {problem.node_names[node]}")
        bins = shared + idle[::-1]
        for (entry, _), bin_index in zip(items, packed, strict=True):
            result[entry].append((bins[bin_index],))
        opened = max(0, max(packed, default=-1) - len(shared) + 1)
        idle = idle[: len(idle) - opened]
        for entry in sorted(entries, key=lambda e: (-int(problem.whole_gpus[kinds[e]]), e)):
            size = int(problem.whole_gpus[kinds[entry]])
            for _ in range(int(plan.count[entry]) if size else 0):
                if len(idle) < size:
                    raise ValueError(f"whole GPUs do not fit on {problem.node_names[node]}")
                result[entry].append(tuple(idle[:size]))
                idle = idle[size:]
    return result
