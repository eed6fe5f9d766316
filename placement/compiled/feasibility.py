"""Whether a plan keeps every hard rule, on arrays; the fast test that solvers use."""

from typing import Any

import numpy as np

from placement.compiled.leftover import leftover
from placement.compiled.problem import CompiledProblem, IntArray, Plan
from placement.compiled.values import group_counts, started_jobs


def network_use(problem: CompiledProblem, plan: Plan) -> IntArray:
    """``[N]`` NIC bandwidth used, bit/s; a job wholly on one node uses none."""
    use = np.zeros(problem.node_count, dtype=np.int64)
    jobs = problem.group_job[plan.group]
    pairs = np.unique(jobs * problem.node_count + plan.node) // max(1, problem.node_count)
    nodes_used = np.bincount(pairs, minlength=problem.job_count)
    spread_out = nodes_used[jobs] > 1
    bandwidth = problem.network[problem.group_kind[plan.group]] * plan.count * spread_out
    np.add.at(use, plan.node, bandwidth)
    return use


def plan_faults(problem: CompiledProblem, plan: Plan) -> list[str]:
    """Every hard rule that the plan breaks, in words; empty if it is feasible."""
    faults: list[str] = []
    if not len(plan.group):
        return faults
    kinds = problem.group_kind[plan.group]
    for entry in np.flatnonzero(~problem.eligible[kinds, plan.node]):
        where = _node(problem, plan.node[entry])
        faults.append(f"{_group(problem, plan.group[entry])} may not sit on {where}")
    counts = group_counts(problem, plan)
    for job in started_jobs(problem, plan):
        for group in problem.job_groups[job]:
            if not problem.count_min[group] <= counts[group] <= problem.count_max[group]:
                faults.append(f"{_group(problem, group)} starts {counts[group]} tasks")
    left = leftover(problem, plan)
    for node, resource in np.argwhere(left.free < 0):
        faults.append(f"{_node(problem, node)} lacks {problem.resource_names[resource]}")
    faults += [f"{_node(problem, node)} lacks GPUs" for node in np.flatnonzero(left.idle < 0)]
    over = problem.network_free < network_use(problem, plan)
    faults += [f"{_node(problem, node)} lacks NIC bandwidth" for node in np.flatnonzero(over)]
    for rule in problem.required:
        used = np.unique(problem.domain[rule.level][plan.node[np.isin(plan.group, rule.groups)]])
        if len(used) > 1 or not problem.named[rule.level][used].all():
            faults.append(
                f"{problem.job_names[rule.job]} must be in one {problem.level_names[rule.level]}"
            )
    for spread in problem.spread:
        entries = plan.group == spread.group
        if not entries.any():
            continue
        per_domain: dict[int, int] = dict.fromkeys(spread.domains, 0)
        for domain, count in zip(
            problem.domain[spread.level][plan.node[entries]], plan.count[entries], strict=True
        ):
            per_domain[int(domain)] = per_domain.get(int(domain), 0) + int(count)
        most, least = max(per_domain.values()), min(per_domain.values())
        if spread.most is not None and most > spread.most:
            faults.append(f"{_group(problem, spread.group)} has {most} tasks in one domain")
        if spread.skew is not None and most - least > spread.skew:
            faults.append(f"{_group(problem, spread.group)} is skewed by {most - least}")
    return faults


def _group(problem: CompiledProblem, group: int | np.int64) -> str:
    return f"{problem.job_names[problem.group_job[group]]}/{problem.group_names[group]}"


def _node(problem: CompiledProblem, node: int | np.integer[Any]) -> str:
    return problem.node_names[node]
