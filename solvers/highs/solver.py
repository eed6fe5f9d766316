"""The lexicographic solve: tier by tier, each held at what it reached, everything verified."""

import math

from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, Plan
from placement.compiled.values import is_better, tier_values
from solvers.base import OnPlan, SolveParameters, SolverResult
from solvers.highs.mip import MipStatus, Terms, merged
from solvers.highs.rules import PlacementRules
from solvers.highs.tiers import tier_terms

LARGEST_PROBLEM = 20_000
"""Most (group, node) pairs and variables; beyond, the solver does not try."""

SMALL_OBJECTIVE = 2**20
"""An objective that cannot exceed this is exact in HiGHS: one unit is far above its tolerance."""


class Highs:
    """HiGHS through MathOpt on the plain node-level program: exact on small problems, not fast.

    It exists as an independent witness: nothing of its model is shared with the CP-SAT solver.
    Rows and bounds are floating point inside HiGHS, so every solution is rounded and verified on
    integers, and where the numbers are large, optimality is confirmed by a second solve that asks
    for one unit more. ``stopped`` is looked at between solves only: MathOpt gives no way to
    interrupt HiGHS. ``workers`` is ignored (one thread).
    """

    name = "highs"

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        """Return the best plan found; see :meth:`solvers.base.Solver.solve`."""
        run = _Run(problem, parameters, incumbent, on_plan)
        if _pair_count(problem) > LARGEST_PROBLEM:
            return run.result(
                f"highs: more than {LARGEST_PROBLEM} pairs of group and node, not tried"
            )
        run.solve()
        return run.result()


def _pair_count(problem: CompiledProblem) -> int:
    per_kind = problem.eligible.sum(axis=1)
    return int(per_kind[problem.group_kind].sum())


class _Run:
    """State of one solve."""

    def __init__(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        incumbent: Plan | None,
        on_plan: OnPlan | None,
    ) -> None:
        self.problem = problem
        self.parameters = parameters
        self.on_plan = on_plan
        self.notes: list[str] = []
        self.counts: dict[str, int] = {}
        self.bounds: list[int | None] = [None] * len(problem.tiers)
        self.plan = EMPTY_PLAN if incumbent is None else incumbent
        self.values = tier_values(problem, self.plan)

    def result(self, *notes: str) -> SolverResult:
        return SolverResult(
            plan=self.plan,
            bounds=tuple(self.bounds),
            notes=(*self.notes, *notes),
            counts=self.counts,
        )

    def solve(self) -> None:
        rules = PlacementRules(self.problem)
        if rules.mip.rounded:
            self.notes.append(
                "highs: demands rounded up and capacities down to keep numbers exact; no bounds"
            )
        for index, tier in enumerate(self.problem.tiers):
            if rules.mip.variable_count > LARGEST_PROBLEM:
                self.notes.append(
                    f"highs: more than {LARGEST_PROBLEM} variables, stopped before {tier.kind}"
                )
                break
            terms = merged(tier_terms(rules, tier))
            if self.parameters.remaining_s() <= 0.0:
                break
            self._solve_tier(rules, index, terms)
            self._hold(rules, index, terms)
            self.counts = {
                "variables": rules.mip.variable_count,
                "constraints": rules.mip.row_count,
            }

    def _signed(self, index: int, value: int) -> int:
        """Tier values as the program has them: more is better."""
        return value if self.problem.tiers[index].maximise else -value

    def _solve_tier(self, rules: PlacementRules, index: int, terms: Terms) -> None:
        if not terms:
            self._claim(rules, index, 0)
            return
        divisor = math.gcd(*(a for a, _ in terms))
        small = [(a // divisor, v) for a, v in terms]
        result = rules.mip.maximise(
            small, time_limit_s=self.parameters.remaining_s(), seed=self.parameters.seed
        )
        if result.values is not None:
            self._offer(rules.plan(result.values))
        if result.status is MipStatus.INFEASIBLE:
            # The plan at hand satisfies every row, so this is a numerical failure.
            self.notes.append(f"highs: lost the {self.problem.tiers[index].kind} tier numerically")
            return
        largest = sum(abs(a) * rules.mip.upper[v] for a, v in small)
        reached = self._signed(index, self.values[index])
        proven = False
        if result.status is MipStatus.OPTIMAL and result.values is not None:
            if largest <= SMALL_OBJECTIVE:
                proven = reached == divisor * sum(a * result.values[v] for a, v in small)
            else:
                proven = self._confirm(rules, index, small, divisor)
                reached = self._signed(index, self.values[index])
        if proven:
            self._claim(rules, index, reached)
        elif math.isfinite(result.dual_bound):
            # Floating point may be off by a relative 1e-9: round away from the plan.
            margin = 1e-6 + 1e-9 * max(abs(result.dual_bound), float(largest))
            bound = divisor * math.floor(result.dual_bound + margin)
            self._claim(rules, index, max(bound, reached))

    def _confirm(self, rules: PlacementRules, index: int, small: Terms, divisor: int) -> bool:
        """Whether no plan is even one unit better: a feasibility question, safe from pruning.

        A plan that turns up is taken, and the question asked again.
        """
        while self.parameters.remaining_s() > 0.0:
            reached = self._signed(index, self.values[index]) // divisor
            row = rules.mip.at_most([(-a, v) for a, v in small], -(reached + 1))
            result = rules.mip.maximise(
                small, time_limit_s=self.parameters.remaining_s(), seed=self.parameters.seed
            )
            rules.mip.remove(row)
            if result.status is MipStatus.INFEASIBLE:
                return True
            if result.values is None or not self._offer(rules.plan(result.values)):
                return False
        return False

    def _hold(self, rules: PlacementRules, index: int, terms: Terms) -> None:
        """Keep the tier at what the best plan reaches; half a unit of room for floating point."""
        if terms:
            divisor = math.gcd(*(a for a, _ in terms))
            reached = self._signed(index, self.values[index]) // divisor
            rules.mip.at_most([(-(a // divisor), v) for a, v in terms], 0.5 - reached)

    def _claim(self, rules: PlacementRules, index: int, bound: int) -> None:
        if not rules.mip.rounded:
            self.bounds[index] = self._signed(index, bound)

    def _offer(self, plan: Plan) -> bool:
        """Take the plan if it is feasible on integers and better; tell whether it was taken."""
        if plan_faults(self.problem, plan):
            self.notes.append("highs: a solution was wrong by rounding and was dropped")
            return False
        values = tier_values(self.problem, plan)
        if not is_better(self.problem, values, self.values):
            return False
        self.plan, self.values = plan, values
        if self.on_plan is not None:
            self.on_plan(plan, tuple(self.bounds))
        return True
