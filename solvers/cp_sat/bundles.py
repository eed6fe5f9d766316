"""Bundles: identical jobs of one task, counted by one variable; every other job by itself."""

from dataclasses import dataclass

from placement.compiled.problem import CompiledProblem, Plan


@dataclass(frozen=True, slots=True)
class Bundle:
    """Jobs that one start variable counts, in the order in which they are started."""

    jobs: tuple[int, ...]

    @property
    def first(self) -> int:
        """The job that stands for all of them."""
        return self.jobs[0]


def bundles(problem: CompiledProblem) -> list[Bundle]:
    """Group the jobs; jobs that can sit nowhere are left out."""
    spread_groups = {rule.group for rule in problem.spread}
    merged: dict[int, list[int]] = {}
    result: list[list[int]] = []
    for job in range(problem.job_count):
        groups = problem.job_groups[job]
        if any(problem.count_min[g] > problem.fit[problem.group_kind[g]].sum() for g in groups):
            continue
        single = (
            len(groups) == 1
            and problem.count_max[groups[0]] == 1
            and groups[0] not in spread_groups
        )
        if not single:
            result.append([job])
            continue
        key = int(problem.job_class[job])
        if key not in merged:
            merged[key] = []
            result.append(merged[key])
        merged[key].append(job)
    return [
        Bundle(tuple(sorted(jobs, key=lambda j: (-int(problem.age_weight[j]), j))))
        for jobs in result
    ]


def twins(problem: CompiledProblem, all_bundles: list[Bundle]) -> list[tuple[int, int]]:
    """Pairs (older, younger) of identical bundles: the younger starts only if the older does."""
    last: dict[int, int] = {}
    pairs = []
    singles = [index for index, bundle in enumerate(all_bundles) if len(bundle.jobs) == 1]
    for index in sorted(singles, key=lambda b: -int(problem.age_weight[all_bundles[b].first])):
        bundle = all_bundles[index]
        key = int(problem.job_class[bundle.first])
        if key in last:
            pairs.append((last[key], index))
        last[key] = index
    return pairs


def canonical(problem: CompiledProblem, plan: Plan) -> Plan:
    """The same plan with identical jobs swapped so that the older ones start."""
    started: dict[int, list[int]] = {}
    for job in sorted({int(problem.group_job[g]) for g in plan.group}):
        started.setdefault(int(problem.job_class[job]), []).append(job)
    members: dict[int, list[int]] = {}
    for job in sorted(range(problem.job_count), key=lambda j: (-int(problem.age_weight[j]), j)):
        key = int(problem.job_class[job])
        if key in started:
            members.setdefault(key, []).append(job)
    target = {
        job: new
        for key, jobs in started.items()
        for job, new in zip(jobs, members[key], strict=False)
    }
    entries = []
    for group, node, count in zip(plan.group, plan.node, plan.count, strict=True):
        job = int(problem.group_job[group])
        offset = problem.job_groups[job].index(int(group))
        entries.append((problem.job_groups[target[job]][offset], int(node), int(count)))
    return Plan.of(entries)
