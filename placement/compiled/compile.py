"""From the domain to arrays: everything a solver needs, nothing it must look up elsewhere."""

from collections.abc import Hashable, Sequence
from itertools import pairwise

import numpy as np

from placement.compiled import work
from placement.compiled.eligibility import (
    eligibility_key,
    has_soft_preference,
    near_cost_milli,
    objection,
    soft_cost_milli,
)
from placement.compiled.occupancy import (
    GpuKinds,
    Occupancy,
    gpu_kinds,
    occupancy,
    resource_names,
    share_units,
    whole_cluster_totals,
)
from placement.compiled.problem import (
    WORK_UNIT,
    BoolArray,
    CompiledProblem,
    IntArray,
    TargetShape,
    Tier,
    TierKind,
)
from placement.compiled.topology import (
    domain_ids,
    level_names,
    one_domain_rules,
    required_levels,
    spread_rules,
)
from placement.fragmentation_target import resolve_target
from placement.policy import Value
from placement.problem import Problem
from placement.workload import UNCONSTRAINED, Job, TaskGroup


def compile_problem(problem: Problem) -> CompiledProblem:
    """Bring a resolved problem into the form that solvers know.

    Raises
    ------
    OverflowError
        If amounts do not fit 63 bits; the limits on quantities rule this out for valid input.
    """
    nodes, jobs = problem.nodes, problem.jobs
    names = resource_names(problem)
    levels = level_names(problem.cluster.levels)
    kinds = gpu_kinds(nodes)
    held = occupancy(problem, kinds, names)
    domain, named = domain_ids(nodes, len(levels) - 1)
    groups = [group for job in jobs for group in job.tasks]
    group_job = np.repeat(np.arange(len(jobs)), [len(job.tasks) for job in jobs]).astype(np.int64)
    starts = np.cumsum([0, *(len(job.tasks) for job in jobs)])
    job_groups = tuple(tuple(range(a, b)) for a, b in pairwise(starts.tolist()))

    group_kind, representatives = _request_kinds(jobs, groups, group_job)
    demand = np.array([_demand(groups[g], names) for g in representatives], dtype=np.int64).reshape(
        len(representatives), len(names)
    )
    whole = np.array([groups[g].whole_gpu_count for g in representatives], dtype=np.int64)
    shares = np.array(
        [
            [
                share_units(groups[g].gpus_milli, groups[g].gpu_memory_bytes, int(memory))
                if groups[g].is_shared_gpu
                else 0
                for memory in kinds.memory_bytes
            ]
            for g in representatives
        ],
        dtype=np.int64,
    ).reshape(len(representatives), len(kinds.models))
    eligible, soft_cost = _eligibility(
        problem, held, [(jobs[group_job[g]], groups[g]) for g in representatives], levels
    )
    capacity, shares, shared_gpus = _reduced_units(kinds, shares, held)
    fit = _fit(held, kinds, capacity, shared_gpus, demand, whole, shares, eligible)

    largest_memory = int(kinds.memory_bytes.max(initial=0))
    totals = whole_cluster_totals(problem, names)
    by_share = [work.share_work(job, totals, largest_memory) for job in jobs]
    by_gpus = [work.gpu_work(job, largest_memory) for job in jobs]
    chosen = by_gpus if problem.policy.value is Value.GPUS else by_share
    has_gpu = np.array([work.takes_gpus(job.tasks) for job in jobs], dtype=np.bool_)
    if problem.policy.value is Value.GPUS:
        chosen = [g if takes else s for g, s, takes in zip(chosen, by_share, has_gpu, strict=True)]
    age = np.array(
        [
            work.age_weight(w.base, job.submitted_unix_s, problem.now_unix_s)
            for w, job in zip(by_share, jobs, strict=True)
        ],
        dtype=np.int64,
    )
    targets = _targets(problem, names, levels, held)
    preferred = one_domain_rules(jobs, job_groups, levels, "preferred")
    priority = np.array([job.priority for job in jobs], dtype=np.int64)
    waited = [
        0 if j.submitted_unix_s is None else max(0, problem.now_unix_s - j.submitted_unix_s)
        for j in jobs
    ]
    spread = spread_rules(
        jobs, job_groups, levels, domain, [eligible[group_kind[g]] for g in range(len(groups))]
    )
    gang = np.array(
        [job.topology != UNCONSTRAINED and sum(g.count.max for g in job.tasks) > 1 for job in jobs],
        dtype=np.bool_,
    )
    compiled = CompiledProblem(
        node_names=tuple(node.name for node in nodes),
        resource_names=names,
        level_names=levels,
        job_names=tuple(job.name for job in jobs),
        group_names=tuple(group.name for group in groups),
        gpu_models=kinds.models,
        free=held.free,
        network_free=held.network_free,
        gpu_kind=kinds.of_node,
        gpu_kind_capacity=capacity,
        idle_gpus=held.idle_gpus,
        shared_gpus=shared_gpus,
        group_job=group_job,
        group_kind=group_kind,
        count_min=np.array([g.count.min for g in groups], dtype=np.int64),
        count_max=np.array([g.count.max for g in groups], dtype=np.int64),
        demand=demand,
        network=np.array([groups[g].network_bps for g in representatives], dtype=np.int64),
        whole_gpus=whole,
        share_units=shares,
        eligible=eligible,
        fit=fit,
        soft_cost=soft_cost,
        domain=domain,
        named=named,
        job_groups=job_groups,
        priority=priority,
        intensity=np.array([job.intensity_milli for job in jobs], dtype=np.int64),
        age_weight=age,
        work_base=np.array([w.base for w in chosen], dtype=np.int64),
        work_per_task=np.array([v for w in chosen for v in w.per_task], dtype=np.int64),
        has_gpu=has_gpu,
        gang=gang,
        required=one_domain_rules(jobs, job_groups, levels, "required"),
        preferred=preferred,
        spread=spread,
        targets=targets,
        tiers=_tiers(problem, priority, waited, has_gpu, bool(preferred), bool(targets), levels),
        node_class=np.zeros(len(nodes), dtype=np.int64),
        job_class=_job_classes(jobs),
        warnings=held.warnings,
    )
    object.__setattr__(compiled, "node_class", _node_classes(compiled))
    for value in vars(compiled).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return compiled


def _request_kinds(
    jobs: Sequence[Job], groups: Sequence[TaskGroup], group_job: IntArray
) -> tuple[IntArray, list[int]]:
    """Number the distinct requests; the first group of each kind stands for it."""
    numbers: dict[Hashable, int] = {}
    kind = np.zeros(len(groups), dtype=np.int64)
    representatives: list[int] = []
    for index, group in enumerate(groups):
        job = jobs[group_job[index]]
        key = (
            group.cpu_millicores,
            group.memory_bytes,
            group.nvme_bytes,
            group.network_bps,
            group.gpus_milli,
            group.gpu_memory_bytes,
            group.gpu,
            tuple(sorted(group.resources.items())),
            group.selector,
            group.prefer,
            group.tolerations,
            group.near,
            job.duration_s,
            job.intensity_milli,
            tuple(sorted(required_levels(job, group))),
        )
        if key not in numbers:
            numbers[key] = len(numbers)
            representatives.append(index)
        kind[index] = numbers[key]
    return kind, representatives


def _demand(group: TaskGroup, names: Sequence[str]) -> list[int]:
    further = [group.resources.get(name, 0) for name in names[4:]]
    return [group.cpu_millicores, group.memory_bytes, group.nvme_bytes, 1, *further]


def _eligibility(
    problem: Problem,
    held: Occupancy,
    requests: Sequence[tuple[Job, TaskGroup]],
    levels: Sequence[str],
) -> tuple[BoolArray, IntArray]:
    """``[K, N]`` where each kind may sit, and the soft cost there weighted by intensity."""
    nodes = problem.nodes
    numbers: dict[Hashable, int] = {}
    signature = np.zeros(len(nodes), dtype=np.int64)
    examples: list[int] = []
    for index, node in enumerate(nodes):
        key = eligibility_key(node)
        if key not in numbers:
            numbers[key] = len(numbers)
            examples.append(index)
        signature[index] = numbers[key]
    overfull = np.array(held.overfull, dtype=np.bool_)
    eligible = np.zeros((len(requests), len(nodes)), dtype=np.bool_)
    cost = np.zeros((len(requests), len(nodes)), dtype=np.int64)
    for kind, (job, group) in enumerate(requests):
        allowed = np.array(
            [objection(nodes[e], job, group, problem.now_unix_s) is None for e in examples]
        )
        eligible[kind] = allowed[signature] & ~overfull
        prices = np.array([soft_cost_milli(nodes[e], group) for e in examples])[signature]
        if group.near:
            prices = prices + [near_cost_milli(node, group, levels) for node in nodes]
        cost[kind] = prices * job.intensity_milli // 1000
        for level in required_levels(job, group):
            if level != levels[-1]:
                position = levels.index(level)
                eligible[kind] &= [node.domains[position] is not None for node in nodes]
    return eligible, cost


def _reduced_units(
    kinds: GpuKinds, shares: IntArray, held: Occupancy
) -> tuple[IntArray, IntArray, tuple[tuple[tuple[int, int], ...], ...]]:
    """Divide the share units of each GPU kind by what all requests on it have in common.

    What is left on a GPU is rounded down to whole multiples: no request could use the rest.
    """
    divisor = np.ones(len(kinds.models), dtype=np.int64)
    for kind in range(len(kinds.models)):
        wanted = shares[:, kind][shares[:, kind] > 0]
        if len(wanted):
            divisor[kind] = np.gcd.reduce(wanted)
    capacity = kinds.capacity // divisor
    shared = tuple(
        tuple((gpu, left // int(divisor[kind])) for gpu, left in node_shared)
        for kind, node_shared in zip(kinds.of_node, held.shared_gpus, strict=True)
    )
    return capacity, shares // divisor, shared


def _fit(
    held: Occupancy,
    kinds: GpuKinds,
    capacity: IntArray,
    shared_gpus: Sequence[Sequence[tuple[int, int]]],
    demand: IntArray,
    whole: IntArray,
    shares: IntArray,
    eligible: BoolArray,
) -> IntArray:
    """``[K, N]`` tasks of each kind that fit on each node by themselves."""
    idle = np.array([len(gpus) for gpus in held.idle_gpus], dtype=np.int64)
    fit = np.zeros(eligible.shape, dtype=np.int64)
    sharing = [index for index, gpus in enumerate(shared_gpus) if gpus]
    for kind in range(len(demand)):
        used = np.flatnonzero(demand[kind])
        best = (held.free[:, used] // demand[kind][used]).min(axis=1)
        if whole[kind]:
            best = np.minimum(best, idle // whole[kind])
        elif shares.shape[1] and shares[kind].any():
            # Nodes without GPUs have kind -1; they are not eligible, any value will do.
            units = np.maximum(1, shares[kind][kinds.of_node])
            room = idle * (capacity[kinds.of_node] // units)
            for index in sharing:
                room[index] += sum(left // int(units[index]) for _, left in shared_gpus[index])
            best = np.minimum(best, room)
        fit[kind] = np.where(eligible[kind], best, 0)
    return fit


def _targets(
    problem: Problem,
    names: Sequence[str],
    levels: Sequence[str],
    held: Occupancy,
) -> tuple[TargetShape, ...]:
    ready = np.array([node.state == "ready" for node in problem.nodes], dtype=np.bool_)
    ready &= ~np.array(held.overfull, dtype=np.bool_)
    models = np.array(
        [node.shape.gpus.model if node.shape.gpus else "" for node in problem.nodes], dtype=object
    )
    shapes = []
    for target in resolve_target(problem):
        demand = np.zeros(len(names), dtype=np.int64)
        demand[:4] = (target.cpu_millicores, target.memory_bytes, 0, 1)
        usable = ready if target.model is None else ready & (models == target.model)
        shapes.append(
            TargetShape(
                nodes=target.nodes,
                gpus=target.gpus,
                demand=demand,
                level=None if target.level is None else levels.index(target.level),
                weight=target.weight_milli,
                usable=usable,
            )
        )
    return tuple(shapes)


def _tiers(
    problem: Problem,
    priority: IntArray,
    waited: Sequence[int],
    has_gpu: BoolArray,
    preferred: bool,
    targets: bool,
    levels: Sequence[str],
) -> tuple[Tier, ...]:
    tiers: list[Tier] = []
    by_gpus = problem.policy.value is Value.GPUS
    for level in sorted(set(priority.tolist()), reverse=True):
        members = np.flatnonzero(priority == level)
        tiers.append(Tier(TierKind.WORK, True, 1000 if by_gpus else WORK_UNIT, level))
        if by_gpus and not has_gpu[members].all():
            tiers.append(Tier(TierKind.WORK_WITHOUT_GPUS, True, WORK_UNIT, level))
        if len({waited[m] for m in members.tolist()}) > 1:
            tiers.append(Tier(TierKind.AGE, True, 1000, level))
    if preferred:
        tiers.append(Tier(TierKind.PREFERRED_SPAN, False, 1000))
    tiers += [Tier(TierKind.SPAN, False, 1000, None, level) for level in range(len(levels))]
    tiers += [Tier(TierKind.BALANCE, False, 1000, None, level) for level in range(len(levels))]
    if has_soft_preference(problem.nodes, problem.jobs):
        tiers.append(Tier(TierKind.SOFT, False, 1000))
    if targets:
        tiers.append(Tier(TierKind.FRAGMENTATION, True, 1000))
    return tuple(tiers)


def _node_classes(problem: CompiledProblem) -> IntArray:
    """Number nodes that differ in nothing: domain, free amounts, eligibility, cost, targets."""
    numbers: dict[Hashable, int] = {}
    result = np.zeros(problem.node_count, dtype=np.int64)
    columns = np.vstack(
        [
            problem.domain[:-1],
            problem.free.T,
            problem.network_free[None],
            problem.gpu_kind[None],
            problem.eligible,
            problem.soft_cost,
            *(target.usable[None] for target in problem.targets),
        ]
    ).T
    columns = np.ascontiguousarray(columns)
    for index in range(problem.node_count):
        shared = tuple(sorted(left for _, left in problem.shared_gpus[index]))
        key = (columns[index].tobytes(), len(problem.idle_gpus[index]), shared)
        result[index] = numbers.setdefault(key, len(numbers))
    return result


def _job_classes(jobs: Sequence[Job]) -> IntArray:
    """Number jobs that differ in nothing but name and submit time."""
    numbers: dict[Hashable, int] = {}
    result = np.zeros(len(jobs), dtype=np.int64)
    for index, job in enumerate(jobs):
        key = (
            job.queue,
            job.priority,
            job.duration_s,
            job.intensity_milli,
            job.topology,
            tuple(
                (
                    g.model_copy(update={"name": "", "resources": {}}).model_dump_json(),
                    tuple(sorted(g.resources.items())),
                )
                for g in job.tasks
            ),
        )
        result[index] = numbers.setdefault(key, len(numbers))
    return result
