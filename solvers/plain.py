"""The plain model, for comparison in benchmarks only: what one writes down first.

One integer per task group and node, one Boolean per job, no classes, no hint, no cuts; only the
work tiers, priority after priority. It keeps every hard rule but does not know GPU shares.
"""

import math
from collections.abc import Callable

import numpy as np
from ortools.sat.python import cp_model

from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, Plan, TierKind
from placement.compiled.values import tier_values
from solvers.base import OnPlan, SolveParameters, SolverResult


class Plain:
    """CP-SAT on the plain model.

    ``on_plan`` is also told the same plan again when a bound has improved, so that the time to a
    gap can be taken.
    """

    name = "plain"

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        """Solve the work tiers; ``incumbent`` is ignored on purpose.

        Raises
        ------
        ValueError
            If a task takes a share of a GPU.
        """
        if problem.share_units.any():
            raise ValueError("the plain model does not know GPU shares")
        model = _Model(problem)
        plan = EMPTY_PLAN
        bounds: list[int | None] = [None] * len(problem.tiers)
        for index, tier in enumerate(problem.tiers):
            if tier.kind not in (TierKind.WORK, TierKind.WORK_WITHOUT_GPUS):
                continue
            remaining_s = parameters.remaining_s()
            if remaining_s <= 0.0:
                break
            work = model.work(tier.priority, tier.kind)

            def found(new: Plan | None, bound: int, index: int = index) -> None:
                nonlocal plan
                plan = plan if new is None else new
                bounds[index] = bound
                if on_plan is not None:
                    on_plan(plan, tuple(bounds))

            model.maximise(work, parameters, remaining_s, found)
            model.model.add(work >= tier_values(problem, plan)[index])
        return SolverResult(
            plan=plan,
            bounds=tuple(bounds),
            counts={
                "variables": len(model.model.proto.variables),
                "constraints": len(model.model.proto.constraints),
            },
        )


class _Model:
    """All hard rules over ``tasks[group, node]`` and ``start[job]``."""

    def __init__(self, problem: CompiledProblem) -> None:
        self.problem = problem
        self.model = cp_model.CpModel()
        self.start = [self.model.new_bool_var(name) for name in problem.job_names]
        self.tasks: dict[tuple[int, int], cp_model.IntVar] = {}
        self.of_group: dict[int, dict[int, cp_model.IntVar]] = {}
        self.on_node: dict[int, dict[int, cp_model.IntVar]] = {}
        for group in range(problem.group_count):
            kind = int(problem.group_kind[group])
            for node in np.flatnonzero(problem.eligible[kind]).tolist():
                variable = self.model.new_int_var(
                    0, int(problem.count_max[group]), f"{group}@{node}"
                )
                self.tasks[group, node] = variable
                self.of_group.setdefault(group, {})[node] = variable
                self.on_node.setdefault(node, {})[group] = variable
        self._add_counts()
        self._add_capacity()
        self._add_network()
        self._add_required()
        self._add_spread()

    def work(self, priority: int | None, kind: TierKind) -> cp_model.LinearExpr:
        """Work of the started jobs of the priority."""
        problem = self.problem
        apart = any(tier.kind is TierKind.WORK_WITHOUT_GPUS for tier in problem.tiers)
        terms: list[cp_model.LinearExpr] = []
        for job, start in enumerate(self.start):
            with_gpus = bool(problem.has_gpu[job])
            if problem.priority[job] != priority or (
                apart and with_gpus != (kind is TierKind.WORK)
            ):
                continue
            terms.append(int(problem.work_base[job]) * start)
            for group in problem.job_groups[job]:
                further = self._sum((group,)) - int(problem.count_min[group]) * start
                terms.append(int(problem.work_per_task[group]) * further)
        return cp_model.LinearExpr.sum(terms)

    def maximise(
        self,
        objective: cp_model.LinearExpr,
        parameters: SolveParameters,
        time_limit_s: float,
        found: Callable[[Plan | None, int], None],
    ) -> None:
        """Solve; ``found`` is told each plan and, with None, each better bound."""
        self.model.maximize(objective)
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = time_limit_s
        solver.parameters.num_workers = parameters.workers
        solver.parameters.random_seed = parameters.seed
        solver.best_bound_callback = lambda bound: found(None, math.floor(bound + 1e-6))
        status = solver.solve(self.model, _Watch(self, found))
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            found(self.plan(solver.value), math.floor(solver.best_objective_bound + 1e-6))

    def plan(self, value: Callable[[cp_model.IntVar], int]) -> Plan:
        """The plan of a solution."""
        return Plan.of([(g, n, int(value(v))) for (g, n), v in self.tasks.items()])

    def _sum(self, groups: tuple[int, ...], nodes: set[int] | None = None) -> cp_model.LinearExpr:
        return cp_model.LinearExpr.sum(
            [
                variable
                for group in groups
                for node, variable in self.of_group.get(group, {}).items()
                if nodes is None or node in nodes
            ]
        )

    def _add_counts(self) -> None:
        problem = self.problem
        for group in range(problem.group_count):
            start = self.start[int(problem.group_job[group])]
            count = self._sum((group,))
            self.model.add(count >= int(problem.count_min[group]) * start)
            self.model.add(count <= int(problem.count_max[group]) * start)
        for job, groups in enumerate(problem.job_groups):
            self.model.add(self._sum(groups) >= self.start[job])

    def _add_capacity(self) -> None:
        problem = self.problem
        for node in range(problem.node_count):
            on_node = self.on_node.get(node, {})
            kinds = [int(problem.group_kind[group]) for group in on_node]
            variables = list(on_node.values())
            for resource in range(len(problem.resource_names)):
                demand = [int(problem.demand[kind, resource]) for kind in kinds]
                self._add_row(variables, demand, int(problem.free[node, resource]))
            gpus = [int(problem.whole_gpus[kind]) for kind in kinds]
            self._add_row(variables, gpus, len(problem.idle_gpus[node]))

    def _add_row(self, variables: list[cp_model.IntVar], demand: list[int], free: int) -> None:
        divisor = math.gcd(*demand)
        if divisor:
            self.model.add(
                cp_model.LinearExpr.weighted_sum(variables, [d // divisor for d in demand])
                <= free // divisor
            )

    def _add_network(self) -> None:
        problem = self.problem
        unit = math.gcd(*problem.network.tolist())
        rate = [int(problem.network[kind]) // max(1, unit) for kind in problem.group_kind]
        free = [int(left) // max(1, unit) for left in problem.network_free]
        tight = {
            node
            for node, groups in self.on_node.items()
            if sum(rate[g] * int(problem.count_max[g]) for g in groups) > free[node]
        }
        use: dict[int, list[cp_model.IntVar]] = {node: [] for node in tight}
        for job, groups in enumerate(problem.job_groups):
            hosts = self._hosts(groups)
            if not any(rate[g] for g in groups) or not tight.intersection(hosts):
                continue
            # Wholly on one node a job uses no bandwidth.
            one_node = self.model.new_bool_var(f"{job} on one node")
            on = {node: self.model.new_bool_var(f"{job} on {node}") for node in hosts}
            self.model.add(sum(on.values()) <= 1).only_enforce_if(one_node)
            for group in groups:
                for node, variable in self.of_group.get(group, {}).items():
                    self.model.add(variable == 0).only_enforce_if(~on[node])
                    if rate[group] and node in tight:
                        most = rate[group] * int(problem.count_max[group])
                        used = self.model.new_int_var(0, most, f"{group} NIC {node}")
                        self.model.add(used == rate[group] * variable).only_enforce_if(~one_node)
                        use[node].append(used)
        for node, used_there in use.items():
            self.model.add(sum(used_there) <= free[node])

    def _hosts(self, groups: tuple[int, ...]) -> list[int]:
        return sorted({node for group in groups for node in self.of_group.get(group, {})})

    def _domains(self, groups: tuple[int, ...], level: int) -> dict[int, set[int]]:
        domains: dict[int, set[int]] = {}
        for node in self._hosts(groups):
            domains.setdefault(int(self.problem.domain[level][node]), set()).add(node)
        return domains

    def _add_required(self) -> None:
        for rule in self.problem.required:
            chosen = []
            for domain, nodes in self._domains(rule.groups, rule.level).items():
                here = self.model.new_bool_var("")
                self.model.add(self._sum(rule.groups, nodes) == 0).only_enforce_if(~here)
                if not self.problem.named[rule.level][domain]:
                    self.model.add(here == 0)
                chosen.append(here)
            self.model.add_at_most_one(chosen)

    def _add_spread(self) -> None:
        for rule in self.problem.spread:
            domains = self._domains((rule.group,), rule.level)
            counts = [self._sum((rule.group,), nodes) for nodes in domains.values()]
            if rule.most is not None:
                for count in counts:
                    self.model.add(count <= rule.most)
            if rule.skew is not None:
                most = int(self.problem.count_max[rule.group])
                least = self.model.new_int_var(0, most, "")
                if any(domain not in domains for domain in rule.domains):
                    self.model.add(least == 0)
                for count in counts:
                    self.model.add(count >= least)
                    self.model.add(count <= least + rule.skew)


class _Watch(cp_model.CpSolverSolutionCallback):
    """Tells each solution with the bound of that moment."""

    def __init__(self, model: _Model, found: Callable[[Plan | None, int], None]) -> None:
        super().__init__()
        self._model = model
        self._found = found

    def on_solution_callback(self) -> None:
        self._found(self._model.plan(self.value), math.floor(self.best_objective_bound + 1e-6))
