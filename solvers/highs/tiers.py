"""The tiers of the objective as linear terms, all to be maximised.

Helper variables are bounded from the side to which the objective pushes, so a held tier says of
the plan at least what was reached.
"""

from placement.compiled.problem import TargetShape, Tier, TierKind
from solvers.highs.mip import Terms
from solvers.highs.rules import PlacementRules


def tier_terms(rules: PlacementRules, tier: Tier) -> Terms:
    """The value of the tier, negated where less is better; adds what variables it needs."""
    match tier.kind:
        case TierKind.WORK | TierKind.WORK_WITHOUT_GPUS:
            return _work(rules, tier)
        case TierKind.AGE:
            return [
                (int(rules.problem.age_weight[job]), rules.start[job])
                for job in range(rules.problem.job_count)
                if rules.problem.priority[job] == tier.priority
            ]
        case TierKind.PREFERRED_SPAN:
            return _preferred_span(rules)
        case TierKind.SPAN:
            return _span(rules, _level(tier))
        case TierKind.BALANCE:
            return _balance(rules, _level(tier))
        case TierKind.SOFT:
            problem = rules.problem
            return [
                (-int(problem.soft_cost[problem.group_kind[group], node]), variable)
                for (group, node), variable in rules.tasks.items()
            ]
        case TierKind.FRAGMENTATION:
            return [
                (target.weight * sets, variable)
                for target in rules.problem.targets
                for sets, variable in _sets(rules, target)
            ]


def _level(tier: Tier) -> int:
    if tier.level is None:
        raise ValueError(f"tier {tier.kind} without a level")
    return tier.level


def _work(rules: PlacementRules, tier: Tier) -> Terms:
    """Base of the started jobs, and each task above the least count.

    With a tier for jobs without GPUs of their own, the work tier is about the others.
    """
    problem = rules.problem
    apart = any(t.kind is TierKind.WORK_WITHOUT_GPUS for t in problem.tiers)
    terms: Terms = []
    for job, groups in enumerate(problem.job_groups):
        takes_gpus = bool(problem.has_gpu[job])
        counts = takes_gpus or not apart
        if tier.kind is TierKind.WORK_WITHOUT_GPUS:
            counts = not takes_gpus
        if problem.priority[job] != tier.priority or not counts:
            continue
        terms.append((int(problem.work_base[job]), rules.start[job]))
        for group in groups:
            least, most = int(problem.count_min[group]), int(problem.count_max[group])
            if least < most:
                further = rules.mip.integer(most - least)
                count = [(-a, v) for a, v in rules.count((group,))]
                rules.mip.equal([*count, (least, rules.start[job]), (1, further)], 0)
                terms.append((int(problem.work_per_task[group]), further))
    return terms


def _preferred_span(rules: PlacementRules) -> Terms:
    problem = rules.problem
    terms: Terms = []
    for rule in problem.preferred:
        if not problem.gang[rule.job]:
            continue
        used = rules.used(rule.groups, rule.level)
        if len(used) < 2:
            continue
        weight = int(problem.intensity[rule.job])
        terms += [(-weight, variable) for variable in used.values()]
        # A preferring group without tasks spans no domain, not minus one.
        present = rules.mip.integer(1)
        rules.mip.at_most([(1, present), *((-a, v) for a, v in rules.count(rule.groups))], 0)
        terms.append((weight, present))
    return terms


def _span(rules: PlacementRules, level: int) -> Terms:
    problem = rules.problem
    terms: Terms = []
    for job, groups in enumerate(problem.job_groups):
        if not problem.gang[job]:
            continue
        used = rules.used(groups, level)
        if len(used) < 2:
            continue
        weight = int(problem.intensity[job])
        terms += [(-weight, variable) for variable in used.values()]
        terms.append((weight, rules.start[job]))
        rules.mip.at_most([(1, rules.start[job]), *((-1, v) for v in used.values())], 0)
    return terms


def _balance(rules: PlacementRules, level: int) -> Terms:
    """Largest less smallest count over the domains that a gang uses."""
    problem, mip = rules.problem, rules.mip
    terms: Terms = []
    for job, groups in enumerate(problem.job_groups):
        if not problem.gang[job]:
            continue
        used = rules.used(groups, level)
        if len(used) < 2:
            continue
        most = rules.most_tasks(groups)
        largest, smallest = mip.integer(most), mip.integer(most)
        mip.at_most([(1, smallest), (-1, largest)], 0)
        for domain, count in rules.in_domains(groups, level).items():
            mip.at_most([*count, (-1, largest)], 0)
            mip.at_most([(1, smallest), *((-a, v) for a, v in count), (most, used[domain])], most)
        weight = int(problem.intensity[job])
        terms += [(-weight, largest), (weight, smallest)]
    return terms


def _sets(rules: PlacementRules, target: TargetShape) -> Terms:
    """Number of sets that fit in what is left.

    ``units`` of a node is how many of its parts of sets are used. In a domain, t sets of k
    different nodes exist if and only if k x t units can be picked, at most t from each node, which
    is linear: units <= t, sum of units >= k x t.
    """
    problem, mip = rules.problem, rules.mip
    if not target.gpus and not target.demand[:3].any():
        return []
    units: dict[int, list[int]] = {}
    for node in range(problem.node_count):
        most = _most_units(rules, target, node)
        if not most:
            continue
        domain = -1
        if target.level is not None:
            domain = int(problem.domain[target.level][node])
            if not problem.named[target.level][domain]:
                continue
        variable = mip.integer(most)
        _fit_units(rules, target, node, variable)
        units.setdefault(domain, []).append(variable)
    if target.nodes == 1:
        return [(1, variable) for members in units.values() for variable in members]
    terms: Terms = []
    for members in units.values():
        most = sum(mip.upper[variable] for variable in members) // target.nodes
        if len(members) < target.nodes or not most:
            continue
        sets = mip.integer(most)
        for variable in members:
            mip.at_most([(1, variable), (-1, sets)], 0)
        mip.at_most([(target.nodes, sets), *((-1, variable) for variable in members)], 0)
        terms.append((1, sets))
    return terms


def _most_units(rules: PlacementRules, target: TargetShape, node: int) -> int:
    """Units that fit on the node as it is now."""
    problem = rules.problem
    if not target.usable[node]:
        return 0
    rooms = [
        int(problem.free[node, resource]) // int(demand)
        for resource, demand in enumerate(target.demand)
        if demand
    ]
    if target.gpus:
        rooms.append(len(problem.idle_gpus[node]) // target.gpus)
    return max(0, min(rooms))


def _fit_units(rules: PlacementRules, target: TargetShape, node: int, units: int) -> None:
    """The units fit beside the tasks on the node."""
    problem, mip = rules.problem, rules.mip
    on_node = [(int(problem.group_kind[group]), v) for group, v in rules.on_node[node]]
    for resource, demand in enumerate(target.demand):
        if demand:
            terms = [(int(problem.demand[kind, resource]), v) for kind, v in on_node]
            mip.capacity([*terms, (int(demand), units)], int(problem.free[node, resource]))
    if target.gpus:
        mip.capacity([*rules.gpus_taken(node), (target.gpus, units)], len(problem.idle_gpus[node]))
