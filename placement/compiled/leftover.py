"""What a plan leaves free on every node."""

from dataclasses import dataclass

import numpy as np

from placement.compiled.problem import CompiledProblem, IntArray, Plan
from placement.compiled.shares import opened_gpus


@dataclass(frozen=True, eq=False)
class Leftover:
    """Free amounts after a plan: ``free`` is ``[N, R]``, ``idle`` ``[N]`` whole idle GPUs.

    Negative amounts mean that the plan does not fit. ``idle`` is what remains when shares are
    packed onto as few GPUs as possible; -1 on nodes where they cannot be packed.
    """

    free: IntArray
    idle: IntArray


def shares_on(problem: CompiledProblem, plan: Plan) -> dict[int, list[tuple[int, int, int]]]:
    """Per node with shares in the plan: (group, count, units of one task)."""
    kinds = problem.group_kind[plan.group]
    result: dict[int, list[tuple[int, int, int]]] = {}
    if not problem.share_units.any():
        return result
    sharing = problem.share_units[kinds].any(axis=1)
    for entry in np.flatnonzero(sharing):
        group, node = int(plan.group[entry]), int(plan.node[entry])
        units = int(problem.share_units[problem.group_kind[group], problem.gpu_kind[node]])
        result.setdefault(node, []).append((group, int(plan.count[entry]), units))
    return result


def leftover(problem: CompiledProblem, plan: Plan) -> Leftover:
    """Compute what is left; NIC bandwidth aside (see ``feasibility``)."""
    kinds = problem.group_kind[plan.group]
    free = problem.free.copy()
    np.subtract.at(free, plan.node, problem.demand[kinds] * plan.count[:, None])
    idle = np.array([len(gpus) for gpus in problem.idle_gpus], dtype=np.int64)
    np.subtract.at(idle, plan.node, problem.whole_gpus[kinds] * plan.count)
    for node, tasks in shares_on(problem, plan).items():
        items = [units for _, count, units in tasks for _ in range(count)]
        opened = opened_gpus(
            [left for _, left in problem.shared_gpus[node]],
            max(0, int(idle[node])),
            int(problem.gpu_kind_capacity[problem.gpu_kind[node]]),
            items,
        )
        idle[node] = -1 if opened is None else idle[node] - opened
    return Leftover(free=free, idle=idle)
