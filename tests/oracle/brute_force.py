"""The best plan of a tiny problem by trying all: slow, plain, and by code of its own.

A plan says how many tasks of each group sit on each node. The oracle lists every way in which
each job alone could sit (*options*), tries all combinations job by job, highest priority first,
cuts a branch only when its work (and age) tiers can no longer reach the best found, and then
keeps, tier by tier, the combinations of best value. Work, locality, soft cost and assemblable
sets are computed here from the counts; GPU shares are packed by trying every GPU for each.
Shared with the judge are only definitions that say nothing about combinations: who may sit where
(``objections``), what a job is worth, and which GPUs running tasks hold.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from placement.cluster import NodeState
from placement.fragmentation_target import resolve_target
from placement.judge.eligibility import (
    domain_of,
    levels_of,
    objections,
    selector_holds,
    tolerates,
)
from placement.judge.fragmentation import largest_gpu_memory
from placement.judge.load import amounts, capacities, overfull, running_loads
from placement.objective import gpu_worth, resource_totals, share_worth, waited_s
from placement.policy import Value
from placement.problem import Problem
from placement.running_devices import named_devices, share_units
from placement.workload import Job, TaskGroup

Counts = tuple[tuple[int, int, int], ...]
"""(group of the job, node, tasks) of one started job; empty: it waits."""


_Leaf = dict[int, Counts]
"""Counts of each started job, by its number."""

_Measure = Callable[[_Leaf], int]


class TooLargeError(ValueError):
    """More combinations than the oracle is willing to try."""


@dataclass(frozen=True)
class Best:
    """The best value of every tier, and one plan that reaches them all.

    ``plan`` holds the counts of each pending job, in the order of the problem.
    """

    values: tuple[int, ...]
    plan: tuple[Counts, ...]


def best_plan(problem: Problem, *, most: int = 200_000) -> Best:
    """Try all plans.

    Raises
    ------
    TooLargeError
        More than ``most`` combinations (or options of one job) would be tried.
    """
    return _Search(problem, most).best()


class _Search:
    def __init__(self, problem: Problem, most: int) -> None:
        self.problem = problem
        self.most = most
        self.tried = 0
        self.room = _Room(problem)
        self.order = sorted(
            range(len(problem.jobs)), key=lambda index: -problem.jobs[index].priority
        )
        self.options = [self._options(job) for job in problem.jobs]
        self.work = _Work(problem)
        # Most that the jobs from each position of the order on can add to each work tier.
        self.rest = [self.work.nothing]
        for index in reversed(self.order):
            top = [self.work.of(index, option) for option in self.options[index]]
            ideal = tuple(max(column) for column in zip(*top, strict=True))
            self.rest.append(tuple(map(sum, zip(self.rest[-1], ideal, strict=True))))
        self.rest.reverse()
        self.leaves: list[_Leaf] = []
        self.top: tuple[int, ...] | None = None

    def best(self) -> Best:
        self._descend(0, {}, self.work.nothing)
        assert self.top is not None
        values = list(self.top)
        leaves = self.leaves
        for sense, measure in self._later_tiers():
            scored = [(sense * measure(leaf), leaf) for leaf in leaves]
            best = max(score for score, _ in scored)
            leaves = [leaf for score, leaf in scored if score == best]
            values.append(sense * best)
        chosen = leaves[0]
        return Best(tuple(values), tuple(chosen.get(j, ()) for j in range(len(self.problem.jobs))))

    def _descend(self, depth: int, chosen: _Leaf, value: tuple[int, ...]) -> None:
        self.tried += 1
        if self.tried > self.most:
            raise TooLargeError(f"more than {self.most} combinations")
        reach = tuple(map(sum, zip(value, self.rest[depth], strict=True)))
        if self.top is not None and reach < self.top:
            return
        if depth == len(self.order):
            if self.top is None or value > self.top:
                self.top, self.leaves = value, []
            self.leaves.append(dict(chosen))
            return
        index = self.order[depth]
        for option in self.options[index]:
            if option:
                chosen[index] = option
                if self.room.fits(chosen):
                    added = self.work.of(index, option)
                    self._descend(
                        depth + 1, chosen, tuple(map(sum, zip(value, added, strict=True)))
                    )
                del chosen[index]
            else:
                self._descend(depth + 1, chosen, value)

    def _options(self, job: Job) -> list[Counts]:
        """Every way the job alone could sit, most tasks first; waiting last."""
        per_group = [list(self._group_options(job, group)) for group in job.tasks]
        size = 1
        for choices in per_group:
            size *= len(choices)
        if size > self.most:
            raise TooLargeError(f"job {job.name} has {size} options")
        number = self.problem.jobs.index(job)
        options = []
        for choice in product(*per_group):
            option = tuple(
                (group, node, count)
                for group, counts in enumerate(choice)
                for node, count in enumerate(counts)
                if count
            )
            if option and self._topology_holds(job, option) and self.room.fits({number: option}):
                options.append(option)
        options.sort(key=lambda option: -sum(count for _, _, count in option))
        return [*options, ()]

    def _group_options(self, job: Job, group: TaskGroup) -> Iterator[tuple[int, ...]]:
        """Tasks per node, for every count from min to max."""
        nodes = range(len(self.problem.nodes))
        open_nodes = [n for n in nodes if self.room.usable[n] and self._may_sit(job, group, n)]
        for counts in product(range(group.count.max + 1), repeat=len(open_nodes)):
            if group.count.min <= sum(counts) <= group.count.max:
                full = [0] * len(self.problem.nodes)
                for node, count in zip(open_nodes, counts, strict=True):
                    full[node] = count
                if self._spread_holds(group, full, open_nodes):
                    yield tuple(full)

    def _may_sit(self, job: Job, group: TaskGroup, node: int) -> bool:
        found = objections(self.problem, job, group, self.problem.nodes[node])
        return next(iter(found), None) is None

    def _spread_holds(
        self, group: TaskGroup, counts: Sequence[int], open_nodes: Sequence[int]
    ) -> bool:
        if group.spread is None or not any(counts):
            return True
        per_domain: dict[str, int] = {self._domain(n, group.spread.level): 0 for n in open_nodes}
        for node, count in enumerate(counts):
            if count:
                per_domain[self._domain(node, group.spread.level)] += count
        tasks = per_domain.values()
        if group.spread.most is not None and max(tasks) > group.spread.most:
            return False
        return group.spread.skew is None or max(tasks) - min(tasks) <= group.spread.skew

    def _topology_holds(self, job: Job, option: Counts) -> bool:
        for which, topology in ((None, job.topology), *enumerate(g.topology for g in job.tasks)):
            if topology is None or isinstance(topology, str) or topology.required is None:
                continue
            nodes = {node for group, node, _ in option if which in (None, group)}
            if len({self._domain(node, topology.required) for node in nodes}) > 1:
                return False
        return True

    def _domain(self, node: int, level: str) -> str:
        name = domain_of(self.problem, self.problem.nodes[node], level)
        return f"only {node}" if name is None else name

    def _later_tiers(self) -> Iterator[tuple[int, _Measure]]:
        problem = self.problem
        jobs = problem.jobs
        gangs = frozenset(
            number
            for number, job in enumerate(jobs)
            if job.topology != "unconstrained" and sum(g.count.max for g in job.tasks) > 1
        )

        def per_domain(option: Counts, level: str, group: int | None = None) -> list[int]:
            found: dict[str, int] = defaultdict(int)
            for number, node, count in option:
                if group in (None, number):
                    found[self._domain(node, level)] += count
            return list(found.values())

        def preferred(leaf: _Leaf) -> int:
            cost = 0
            for number, option in leaf.items():
                job = jobs[number]
                topologies = [(None, job.topology), *enumerate(g.topology for g in job.tasks)]
                for which, topology in topologies:
                    if (
                        number in gangs
                        and topology is not None
                        and not isinstance(topology, str)
                        and topology.preferred
                    ):
                        used = per_domain(option, topology.preferred, which)
                        cost += job.intensity_milli * max(0, len(used) - 1)
            return cost

        def span(level: str) -> _Measure:
            return lambda leaf: sum(
                jobs[number].intensity_milli * (len(per_domain(option, level)) - 1)
                for number, option in leaf.items()
                if number in gangs
            )

        def balance(level: str) -> _Measure:
            return lambda leaf: sum(
                jobs[number].intensity_milli
                * (max(per_domain(option, level)) - min(per_domain(option, level)))
                for number, option in leaf.items()
                if number in gangs
            )

        if any(
            topology is not None and not isinstance(topology, str) and topology.preferred
            for job in jobs
            for topology in (job.topology, *(group.topology for group in job.tasks))
        ):
            yield -1, preferred
        for level in levels_of(problem):
            yield -1, span(level)
        for level in levels_of(problem):
            yield -1, balance(level)
        soft = _Soft(problem)
        if soft.exists:
            yield -1, soft.cost
        if resolve_target(problem):
            yield 1, self.room.sets


class _Work:
    """What each job adds to each of the work and age tiers, in the order of the tiers."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        by_gpus = problem.policy.value is Value.GPUS
        totals, largest = resource_totals(problem), largest_gpu_memory(problem)
        self.share = [share_worth(job, totals, largest) for job in problem.jobs]
        self.gpus = [gpu_worth(job, largest) for job in problem.jobs]
        self.takes = [
            any(g.gpus_milli or g.gpu_memory_bytes for g in job.tasks) for job in problem.jobs
        ]
        self.tiers: list[tuple[str, int]] = []
        for priority in sorted({job.priority for job in problem.jobs}, reverse=True):
            here = [n for n, job in enumerate(problem.jobs) if job.priority == priority]
            self.tiers.append(("gpus" if by_gpus else "share", priority))
            if by_gpus and not all(self.takes[n] for n in here):
                self.tiers.append(("rest", priority))
            if len({waited_s(problem, problem.jobs[n]) for n in here}) > 1:
                self.tiers.append(("age", priority))
        self.nothing = (0,) * len(self.tiers)

    def of(self, number: int, option: Counts) -> tuple[int, ...]:
        if not option:
            return self.nothing
        job = self.problem.jobs[number]
        counts = Counter[int]()
        for group, _, count in option:
            counts[group] += count
        named = Counter({job.tasks[group].name: count for group, count in counts.items()})
        share = self.share[number].of(job, named)
        values = {
            "share": share,
            "gpus": self.gpus[number].of(job, named),
            "rest": 0 if self.takes[number] else share,
            "age": self.share[number].base * waited_s(self.problem, job) // 10**6,
        }
        return tuple(
            values[kind] if priority == job.priority else 0 for kind, priority in self.tiers
        )


class _Room:
    """What is free on each node, and whether jobs fit together."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        loads = running_loads(problem, named_devices(problem))
        self.usable = [
            node.state is NodeState.READY and not overfull(node, load)
            for node, load in zip(problem.nodes, loads, strict=True)
        ]
        self.free: list[dict[str, int]] = []
        self.network: list[int] = []
        self.idle: list[int] = []
        self.shared: list[tuple[int, ...]] = []
        self.capacity: list[int] = []
        for node, load in zip(problem.nodes, loads, strict=True):
            free: dict[str, int] = defaultdict(int)
            for name, limit in capacities(node).items():
                free[name] = 10**30 if limit is None else limit - load.used[name]
            self.free.append(free)
            self.network.append(node.shape.network_bps - load.network_bps)
            gpus = load.gpus
            healthy = node.healthy_gpus if node.shape.gpus else ()
            taken = gpus.whole.keys() | gpus.shares.keys()
            self.idle.append(sum(1 for gpu in healthy if gpu not in taken))
            self.capacity.append(gpus.capacity)
            self.shared.append(
                tuple(gpus.capacity - gpus.shares[g] for g in healthy if g in gpus.shares)
            )

    def fits(self, chosen: _Leaf) -> bool:
        return all(left is not None for left in self._after(chosen))

    def _after(self, chosen: _Leaf) -> Iterator[tuple[dict[str, int], int] | None]:
        """Per node what is left and its idle GPUs; None where the tasks do not fit."""
        used: dict[int, Counter[str]] = defaultdict(Counter)
        network: Counter[int] = Counter()
        whole: Counter[int] = Counter()
        shares: dict[int, list[int]] = defaultdict(list)
        bad: set[int] = set()
        for number, option in chosen.items():
            job = self.problem.jobs[number]
            spans = len({node for _, node, _ in option}) > 1
            for group_number, node, count in option:
                group = job.tasks[group_number]
                for name, amount in amounts(group).items():
                    used[node][name] += amount * count
                network[node] += group.network_bps * count if spans else 0
                spec = self.problem.nodes[node].shape.gpus
                if group.is_shared_gpu:
                    units = share_units(
                        group.gpus_milli,
                        group.gpu_memory_bytes,
                        spec.memory_bytes if spec else None,
                    )
                    if units is None:
                        bad.add(node)
                    else:
                        shares[node] += [units] * count
                else:
                    whole[node] += group.whole_gpu_count * count
        for node in range(len(self.problem.nodes)):
            if node not in used:
                yield self.free[node], self.idle[node]
                continue
            left = {
                name: self.free[node].get(name, 0) - used[node][name]
                for name in self.free[node].keys() | used[node].keys()
            }
            idle = self.idle[node] - whole[node]
            if node in bad or idle < 0 or min(left.values()) < 0:
                yield None
                continue
            if network[node] > self.network[node] and network[node]:
                yield None
                continue
            opened = fewest_gpus(
                self.shared[node],
                idle,
                self.capacity[node],
                tuple(sorted(shares[node], reverse=True)),
            )
            yield None if opened is None else (left, idle - opened)

    def sets(self, chosen: _Leaf) -> int:
        """Weighted number of assemblable sets that are left."""
        after = list(self._after(chosen))
        total = 0
        for target in resolve_target(self.problem):
            domains: dict[str, list[int]] = defaultdict(list)
            for number, node in enumerate(self.problem.nodes):
                state = after[number]
                name = "" if target.level is None else domain_of(self.problem, node, target.level)
                model = node.shape.gpus.model if node.shape.gpus else None
                if (
                    state is None
                    or name is None
                    or not self.usable[number]
                    or (target.model is not None and target.model != model)
                ):
                    continue
                left, idle = state
                units = 0
                while (
                    (target.gpus or target.cpu_millicores or target.memory_bytes)
                    and (units + 1) * target.gpus <= idle
                    and (units + 1) * target.cpu_millicores <= left["cpu"]
                    and (units + 1) * target.memory_bytes <= left["memory"]
                    and units + 1 <= left["slots"]
                ):
                    units += 1
                domains[name].append(units)
            total += target.weight_milli * sum(
                assembled(units, target.nodes) for units in domains.values()
            )
        return total


def assembled(units: Sequence[int], nodes: int) -> int:
    """Sets of one unit of each of ``nodes`` different nodes: taken one by one from the fullest."""
    left = sorted(units, reverse=True)
    made = 0
    while len(left) >= nodes and left[nodes - 1] > 0:
        for position in range(nodes):
            left[position] -= 1
        left.sort(reverse=True)
        made += 1
    return made


@lru_cache(maxsize=100_000)
def fewest_gpus(
    shared: tuple[int, ...], idle: int, capacity: int, items: tuple[int, ...]
) -> int | None:
    """Fewest idle GPUs that the shares need, by trying every GPU for each share."""
    if not items:
        return 0
    results = []
    for position, left in enumerate(shared):
        if left >= items[0]:
            rest = (*shared[:position], left - items[0], *shared[position + 1 :])
            results.append(fewest_gpus(tuple(sorted(rest)), idle, capacity, items[1:]))
    if idle and capacity >= items[0]:
        further = fewest_gpus(
            tuple(sorted((*shared, capacity - items[0]))), idle - 1, capacity, items[1:]
        )
        results.append(None if further is None else further + 1)
    return min((result for result in results if result is not None), default=None)


class _Soft:
    """Soft costs per task."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        soft_taints = any(
            taint.effect == "PreferNoSchedule" for node in problem.nodes for taint in node.taints
        )
        groups = [group for job in problem.jobs for group in job.tasks]
        self.exists = soft_taints or any(
            len(group.gpu.model) > 1 or group.prefer or group.near for group in groups
        )

    def cost(self, leaf: _Leaf) -> int:
        total = 0
        for number, option in leaf.items():
            job = self.problem.jobs[number]
            for group, node, count in option:
                each = job.intensity_milli * self._each(job.tasks[group], node) // 1000
                total += count * each
        return total

    def _each(self, group: TaskGroup, number: int) -> int:
        node = self.problem.nodes[number]
        cost = 0
        if group.gpu.model and node.shape.gpus and node.shape.gpus.model in group.gpu.model:
            cost += 1000 * group.gpu.model.index(node.shape.gpus.model)
        for wish in group.prefer:
            cost += 0 if selector_holds(wish, node) else wish.weight_milli
        for near in group.near:
            here = domain_of(self.problem, node, near.level)
            cost += 0 if here in near.domains else near.weight_milli
        for taint in node.taints:
            if taint.effect == "PreferNoSchedule" and not tolerates(group.tolerations, taint):
                cost += 1000
        return cost
