"""Whether an answer is legal and says the truth about itself: the judge of every answer.

Independent of the compiled problem, the solvers and the engine. An answer without violations
breaks no rule of the problem, and its values, gaps and reports are what they claim to be; that a
bound is *proven* cannot be seen from an answer, only that it does not contradict its value.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from itertools import pairwise

from placement.answer import Action, Answer, Decision, Status, TierResult
from placement.judge.eligibility import (
    levels_of,
    objections,
)
from placement.judge.fragmentation import report
from placement.judge.gpus import UnverifiableError
from placement.judge.load import (
    Loads,
    NodeLoad,
    StartedTask,
    capacities,
    leftovers,
    loads_of,
    overfull,
    started_tasks,
)
from placement.objective import TierValue, domain_key, values_of
from placement.problem import Problem
from placement.workload import Job, TaskGroup

GAP_TOLERANCE = 1e-9
"""Gaps are quotients of floats; values are compared exactly."""


@unique
class Rule(StrEnum):
    """Everything that is checked."""

    DECIDED_ONCE = "decided-once"
    DECISION_ORDER = "decision-order"
    ACTION = "action"
    WHY = "why"
    KNOWN_NAMES = "known-names"
    TASK_COUNT = "task-count"
    RANKS = "ranks"
    RANK_ORDER = "rank-order"
    LOCAL_RANKS = "local-ranks"
    STATE = "state"
    SELECTOR = "selector"
    TAINT = "taint"
    MAINTENANCE = "maintenance"
    OVER_CAPACITY = "over-capacity"
    CAPACITY = "capacity"
    NETWORK = "network"
    GPU_COUNT = "gpu-count"
    GPU_DISTINCT = "gpu-distinct"
    GPU_INDEX = "gpu-index"
    GPU_HEALTHY = "gpu-healthy"
    GPU_MODEL = "gpu-model"
    GPU_MEMORY = "gpu-memory"
    GPU_HELD_ONCE = "gpu-held-once"
    GPU_SHARED_OR_WHOLE = "gpu-shared-or-whole"
    GPU_SHARE_SUM = "gpu-share-sum"
    GPU_ROOM = "gpu-room"
    REQUIRED_TOPOLOGY = "required-topology"
    SPREAD_MOST = "spread-most"
    SPREAD_SKEW = "spread-skew"
    TIERS = "tiers"
    TIER_VALUE = "tier-value"
    TIER_BOUND = "tier-bound"
    TIER_GAP = "tier-gap"
    TIER_STATUS = "tier-status"
    STATUS = "status"
    SOLVER_GAP = "solver-gap"
    FRAGMENTATION = "fragmentation"
    UNVERIFIABLE = "unverifiable"


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing wrong with an answer.

    Attributes
    ----------
    rule
        Which rule is broken.
    place
        Where: a place in the answer (``decisions[3].tasks[0]``) or ``node NAME``.
    message
        What is wrong.
    """

    rule: Rule
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message} ({self.rule.value})"


def check_answer(problem: Problem, answer: Answer) -> tuple[Violation, ...]:
    """Return everything that is wrong with the answer; empty if it is right.

    Parameters
    ----------
    problem
        A problem of which all features are supported (``placement.support``).
    answer
        Any answer; nothing in it is trusted.
    """
    found = [*_check_decisions(problem, answer)]
    if any(violation.rule in _NAMES for violation in found):
        # Tasks of unknown jobs, groups or nodes cannot be judged any further.
        return tuple(found)
    tasks = started_tasks(problem, answer)
    loads = loads_of(problem, tasks)
    try:
        judged = [
            *_check_tasks(problem, tasks, loads),
            *_check_figures(problem, answer, tasks, loads),
        ]
    except UnverifiableError as error:
        judged = [Violation(Rule.UNVERIFIABLE, "decisions", f"cannot verify: {error}")]
    return (*found, *judged)


_NAMES = frozenset({Rule.DECIDED_ONCE, Rule.KNOWN_NAMES, Rule.ACTION})


def _check_decisions(problem: Problem, answer: Answer) -> Iterator[Violation]:
    """Every job is decided once, with names that exist, full counts and right ranks."""
    jobs = {job.name: job for job in problem.jobs}
    nodes = frozenset(node.name for node in problem.nodes)
    times = Counter(decision.job for decision in answer.decisions)
    for name in jobs:
        if times[name] == 0:
            yield Violation(Rule.DECIDED_ONCE, "decisions", f"job {name} is not decided")
    for name, count in times.items():
        if name not in jobs:
            yield Violation(Rule.DECIDED_ONCE, "decisions", f"no pending job {name}")
        elif count > 1:
            yield Violation(Rule.DECIDED_ONCE, "decisions", f"job {name} is decided {count} times")
    if set(times) == set(jobs) and [d.job for d in answer.decisions] != list(jobs):
        yield Violation(
            Rule.DECISION_ORDER, "decisions", "decisions are not in the order of the jobs"
        )
    for number, decision in enumerate(answer.decisions):
        place = f"decisions[{number}]"
        if decision.action is Action.WAIT:
            yield from _check_waiting(decision, place)
        elif decision.action is not Action.START:
            yield Violation(Rule.ACTION, place, f"action {decision.action.value} is not supported")
        elif decision.job in jobs:
            yield from _check_gang(jobs[decision.job], decision, nodes, place)


def _check_waiting(decision: Decision, place: str) -> Iterator[Violation]:
    if decision.tasks:
        yield Violation(Rule.ACTION, place, f"job {decision.job} waits and has tasks")
    if decision.why is None or not decision.why.summary.strip():
        yield Violation(Rule.WHY, place, f"job {decision.job} waits without a reason")


def _check_gang(
    job: Job, decision: Decision, nodes: frozenset[str], place: str
) -> Iterator[Violation]:
    groups = {group.name: group for group in job.tasks}
    for position, task in enumerate(decision.tasks):
        if task.group not in groups:
            message = f"job {job.name} has no group {task.group}"
            yield Violation(Rule.KNOWN_NAMES, f"{place}.tasks[{position}]", message)
        if task.node not in nodes:
            message = f"no node {task.node}"
            yield Violation(Rule.KNOWN_NAMES, f"{place}.tasks[{position}]", message)
    counts = Counter(task.group for task in decision.tasks)
    if not decision.tasks:
        yield Violation(Rule.TASK_COUNT, place, f"job {job.name} starts without tasks")
    for group in job.tasks:
        if not group.count.min <= counts[group.name] <= group.count.max:
            yield Violation(
                Rule.TASK_COUNT,
                place,
                f"group {group.name} of job {job.name} starts {counts[group.name]} tasks, "
                f"not {group.count.min} to {group.count.max}",
            )
    yield from _check_ranks(job, decision, place)


def _check_ranks(job: Job, decision: Decision, place: str) -> Iterator[Violation]:
    tasks = sorted(decision.tasks, key=lambda task: task.rank)
    if [task.rank for task in tasks] != list(range(len(tasks))):
        yield Violation(
            Rule.RANKS, place, f"ranks of job {job.name} are not 0 to {len(tasks) - 1}, each once"
        )
    order = {group.name: index for index, group in enumerate(job.tasks)}
    positions = [order[task.group] for task in tasks if task.group in order]
    if positions != sorted(positions):
        yield Violation(
            Rule.RANKS, place, f"ranks of job {job.name} do not run group by group as written"
        )
    on_node: Counter[str] = Counter()
    for task in tasks:
        if task.local_rank != on_node[task.node]:
            yield Violation(
                Rule.LOCAL_RANKS,
                place,
                f"rank {task.rank} of job {job.name} has local rank {task.local_rank}, "
                f"not {on_node[task.node]}",
            )
        on_node[task.node] += 1


def _check_tasks(
    problem: Problem, tasks: Sequence[StartedTask], loads: Loads
) -> Iterator[Violation]:
    """No node takes what it may not or cannot, and every job sits as it asked."""
    overfull_nodes = _Overfull(problem, loads.before)
    yield from _check_eligibility(problem, tasks, overfull_nodes)
    yield from _check_gpu_counts(tasks)
    yield from _check_capacity(problem, loads, overfull_nodes)
    by_job: dict[str, list[StartedTask]] = defaultdict(list)
    for task in tasks:
        by_job[task.job.name].append(task)
    for own in by_job.values():
        yield from _check_topology(problem, own)
        yield from _check_rank_order(problem, own)
        for group in own[0].job.tasks:
            yield from _check_spread(problem, group, own, overfull_nodes)


class _Overfull:
    """Nodes on which running tasks use more than there is, asked only where it matters."""

    def __init__(self, problem: Problem, running: Sequence[NodeLoad]) -> None:
        self._problem = problem
        self._running = running
        self._known: dict[int, list[str]] = {}

    def excess(self, node: int) -> list[str]:
        """Say in what the node is over its capacity."""
        if node not in self._known:
            self._known[node] = overfull(self._problem.nodes[node], self._running[node])
        return self._known[node]


def _check_eligibility(
    problem: Problem, tasks: Sequence[StartedTask], overfull_nodes: _Overfull
) -> Iterator[Violation]:
    known: dict[tuple[str, str, int], list[tuple[str, str]]] = {}
    for task in tasks:
        key = (task.job.name, task.group.name, task.node)
        node = problem.nodes[task.node]
        if key not in known:
            known[key] = [*objections(problem, task.job, task.group, node)]
        for rule, reason in known[key]:
            yield Violation(Rule(rule), task.place, f"{node.name}: {reason}")
        for excess in overfull_nodes.excess(task.node):
            message = f"{node.name} takes nothing, it is over its capacity: {excess}"
            yield Violation(Rule.OVER_CAPACITY, task.place, message)


def _check_gpu_counts(tasks: Sequence[StartedTask]) -> Iterator[Violation]:
    for task in tasks:
        devices = task.placement.gpus
        wanted = 1 if task.group.is_shared_gpu else task.group.whole_gpu_count
        if len(devices) != wanted:
            message = f"task has {len(devices)} GPU indices, not {wanted}"
            yield Violation(Rule.GPU_COUNT, task.place, message)
        if len(set(devices)) != len(devices):
            yield Violation(Rule.GPU_DISTINCT, task.place, f"GPU indices repeat: {devices}")


def _check_capacity(
    problem: Problem, loads: Loads, overfull_nodes: _Overfull
) -> Iterator[Violation]:
    """Every resource of every node that takes something, with all that runs there."""
    for index, load in sorted(loads.after.items()):
        if overfull_nodes.excess(index):
            continue
        node = problem.nodes[index]
        place = f"node {node.name}"
        limits = capacities(node)
        for name, amount in load.used.items():
            limit = limits.get(name, 0)
            if limit is not None and amount > limit:
                yield Violation(Rule.CAPACITY, place, f"{name}: {amount} used of {limit}")
        if load.network_bps > node.shape.network_bps:
            message = f"NIC: {load.network_bps} bit/s used of {node.shape.network_bps}"
            yield Violation(Rule.NETWORK, place, message)
        for rule, message in load.gpus.faults:
            yield Violation(Rule(rule), place, message)
        if not load.gpus.faults and load.gpus.settle() is None:
            message = "running tasks that name no GPU find no room beside the new ones"
            yield Violation(Rule.GPU_ROOM, place, message)


def _check_topology(problem: Problem, tasks: Sequence[StartedTask]) -> Iterator[Violation]:
    job = tasks[0].job
    groups: list[tuple[str, Sequence[StartedTask], str]] = []
    topology = job.topology
    if topology is not None and not isinstance(topology, str) and topology.required is not None:
        groups.append((f"job {job.name}", tasks, topology.required))
    for group in job.tasks:
        if group.topology is not None and group.topology.required is not None:
            own = [task for task in tasks if task.group is group]
            groups.append((f"group {job.name}/{group.name}", own, group.topology.required))
    for what, members, level in groups:
        used = {domain_key(problem, problem.nodes[task.node], level) for task in members}
        if len(used) > 1:
            names = ", ".join(sorted(name for _, name in used))
            message = f"{what} must sit in one {level}, and uses {names}"
            yield Violation(Rule.REQUIRED_TOPOLOGY, _place_of(tasks), message)


def _place_of(tasks: Sequence[StartedTask]) -> str:
    return tasks[0].place.partition(".")[0]


def _check_rank_order(problem: Problem, tasks: Sequence[StartedTask]) -> Iterator[Violation]:
    """Inside a group the tasks of one domain have consecutive ranks, at every level."""
    job = tasks[0].job
    ordered = sorted(tasks, key=lambda task: task.placement.rank)
    for group in job.tasks:
        own = [problem.nodes[task.node] for task in ordered if task.group is group]
        for level in levels_of(problem):
            keys = [domain_key(problem, node, level) for node in own]
            runs = sum(1 for here, after in pairwise(keys) if here != after)
            if runs + 1 > len(set(keys)) > 0:
                message = f"ranks of {job.name}/{group.name} leave a {level} and come back to it"
                yield Violation(Rule.RANK_ORDER, _place_of(tasks), message)


def _check_spread(
    problem: Problem, group: TaskGroup, tasks: Sequence[StartedTask], overfull_nodes: _Overfull
) -> Iterator[Violation]:
    if group.spread is None:
        return
    level = group.spread.level
    own = [task for task in tasks if task.group is group]
    counts = Counter(domain_key(problem, problem.nodes[task.node], level) for task in own)
    most = group.spread.most
    if most is not None:
        for (_, name), count in counts.items():
            if count > most:
                message = f"{count} tasks of group {group.name} in {name}, at most {most}"
                yield Violation(Rule.SPREAD_MOST, _place_of(tasks), message)
    if group.spread.skew is not None:
        job = tasks[0].job
        for index, node in enumerate(problem.nodes):
            key = domain_key(problem, node, level)
            if key not in counts and _is_eligible(problem, job, group, index, overfull_nodes):
                counts[key] = 0
        skew = max(counts.values(), default=0) - min(counts.values(), default=0)
        if skew > group.spread.skew:
            message = f"counts of group {group.name} per {level} differ by {skew}"
            yield Violation(Rule.SPREAD_SKEW, _place_of(tasks), message)


def _is_eligible(
    problem: Problem, job: Job, group: TaskGroup, index: int, overfull_nodes: _Overfull
) -> bool:
    node = problem.nodes[index]
    return not any(True for _ in objections(problem, job, group, node)) and not (
        overfull_nodes.excess(index)
    )


def _check_figures(
    problem: Problem, answer: Answer, tasks: Sequence[StartedTask], loads: Loads
) -> Iterator[Violation]:
    """Values, bounds, gaps, statuses and fragmentation are what they claim to be."""
    before = leftovers(problem, loads, decided=False)
    after = leftovers(problem, loads, decided=True)
    yield from _check_objective(answer, values_of(problem, tasks, after))
    for name, reported, left in (
        ("before", answer.fragmentation.before, before),
        ("after", answer.fragmentation.after, after),
    ):
        found = report(problem, left)
        if reported != found:
            message = f"is {reported!r}, not {found!r}"
            yield Violation(Rule.FRAGMENTATION, f"fragmentation.{name}", message)


def _check_objective(answer: Answer, values: Sequence[TierValue]) -> Iterator[Violation]:
    reported = [(tier.tier, tier.priority, tier.level) for tier in answer.objective]
    wanted = [(value.tier, value.priority, value.level) for value in values]
    if reported != wanted:
        yield Violation(Rule.TIERS, "objective", f"tiers are {reported}, not {wanted}")
        return
    for number, (tier, value) in enumerate(zip(answer.objective, values, strict=True)):
        yield from _check_tier(tier, value, f"objective[{number}]")
    proven = all(tier.status is Status.OPTIMAL for tier in answer.objective)
    if (answer.status is Status.OPTIMAL) != proven:
        message = f"status is {answer.status.value}, against the statuses of the tiers"
        yield Violation(Rule.STATUS, "status", message)
    work_gap = max((tier.gap for tier in answer.objective if tier.tier in _WORK), default=0.0)
    if not math.isclose(answer.solver.gap, work_gap, abs_tol=GAP_TOLERANCE):
        message = f"is {answer.solver.gap}, and the largest of a work tier is {work_gap}"
        yield Violation(Rule.SOLVER_GAP, "solver.gap", message)


_WORK = frozenset({"work", "work-without-gpus"})


def _check_tier(tier: TierResult, value: TierValue, place: str) -> Iterator[Violation]:
    if tier.value != value.reported:
        message = f"value of {tier.tier} is {tier.value}, recomputed {value.reported}"
        yield Violation(Rule.TIER_VALUE, place, message)
    if tier.bound < tier.value if value.maximise else tier.bound > tier.value:
        message = f"value {tier.value} is better than the bound {tier.bound}"
        yield Violation(Rule.TIER_BOUND, place, message)
    largest = max(abs(tier.bound), abs(tier.value))
    gap = abs(tier.bound - tier.value) / largest if largest else 0.0
    if not math.isclose(tier.gap, gap, rel_tol=GAP_TOLERANCE, abs_tol=GAP_TOLERANCE):
        yield Violation(Rule.TIER_GAP, place, f"gap is {tier.gap}, recomputed {gap}")
    if (tier.status is Status.OPTIMAL) != (tier.bound == tier.value):
        message = f"status is {tier.status.value} with value {tier.value}, bound {tier.bound}"
        yield Violation(Rule.TIER_STATUS, place, message)
