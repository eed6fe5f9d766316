"""The lexicographic solve: tier by tier, each held at what it reached, everything verified."""

import math

from placement.compiled.feasibility import plan_faults
from placement.compiled.problem import EMPTY_PLAN, CompiledProblem, Plan
from placement.compiled.values import is_better, tier_values
from solvers.base import OnPlan, SolveParameters, SolverResult
from solvers.highs.mip import BASE, MipStatus, Terms, digits_of, merged, value_of
from solvers.highs.rules import PlacementRules
from solvers.highs.tiers import tier_terms

LARGEST_PROBLEM = 20_000
"""Most (group, node) pairs and variables; beyond, the solver does not try."""


BOUND_MARGIN = 1e-3
"""Added to a bound of HiGHS before it is rounded down; numbers are small, so this is generous."""


class Highs:
    """HiGHS through MathOpt on the plain node-level program: exact on small problems, not fast.

    It exists as an independent witness: nothing of its model is shared with the CP-SAT solver.
    Numbers too large for floating point are written in digits (see :mod:`solvers.highs.mip`), and
    every solution is rounded and verified on integers. ``stopped`` is looked at between solves
    only: MathOpt gives no way to interrupt HiGHS. ``workers`` is ignored (one thread).
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
        for index, tier in enumerate(self.problem.tiers):
            if rules.mip.variable_count > LARGEST_PROBLEM:
                self.notes.append(
                    f"highs: more than {LARGEST_PROBLEM} variables, stopped before {tier.kind}"
                )
                break
            if self.parameters.remaining_s() <= 0.0:
                break
            self._solve_tier(rules, index)
            self.counts = {
                "variables": rules.mip.variable_count,
                "constraints": rules.mip.row_count,
            }

    def _signed(self, index: int, value: int) -> int:
        """Tier values as the program has them: more is better."""
        return value if self.problem.tiers[index].maximise else -value

    def _solve_tier(self, rules: PlacementRules, index: int) -> None:
        """Solve one tier, digit by digit, and hold it at what the best plan reaches."""
        terms = merged(tier_terms(rules, self.problem.tiers[index]))
        if not terms:
            self.bounds[index] = 0
            return
        divisor = math.gcd(*(a for a, _ in terms))
        digits = rules.mip.digits([(a // divisor, v) for a, v in terms])
        proven = True
        for position, digit in enumerate(digits):
            if proven:
                proven = self._solve_digit(rules, index, divisor, digits, position)
            rules.mip.equal(digit, self._reached(index, divisor, len(digits))[position])
        if proven:
            self.bounds[index] = self.values[index]

    def _reached(self, index: int, divisor: int, count: int) -> list[int]:
        """Digits of what the best plan reaches in a tier."""
        return digits_of(self._signed(index, self.values[index]) // divisor, count)

    def _solve_digit(
        self,
        rules: PlacementRules,
        index: int,
        divisor: int,
        digits: list[Terms],
        position: int,
    ) -> bool:
        """Maximise one digit, those before it being held; tell whether the best plan has the most.

        If not, what HiGHS knows becomes the bound of the tier.
        """
        digit = digits[position]
        result = rules.mip.maximise(
            digit, time_limit_s=self.parameters.remaining_s(), seed=self.parameters.seed
        )
        if result.values is not None:
            self._offer(rules.plan(result.values))
        reached = self._reached(index, divisor, len(digits))
        kind = self.problem.tiers[index].kind
        if result.status is MipStatus.OPTIMAL and result.values is not None:
            if sum(a * result.values[v] for a, v in digit) == reached[position]:
                return True
            self.notes.append(f"highs: tier {kind}: an optimum does not stand up to integers")
        elif result.status is not MipStatus.STOPPED:
            # The plan at hand satisfies every row, so infeasible is a failure as well.
            self.notes.append(f"highs: tier {kind}: failed ({result.status.value})")
        elif math.isfinite(result.dual_bound):
            # Nothing is known of the digits that follow.
            best = max(math.floor(result.dual_bound + BOUND_MARGIN), reached[position])
            bound = value_of([*reached[:position], best]) + 1
            bound = bound * BASE ** (len(digits) - position - 1) - 1
            self.bounds[index] = self._signed(index, bound * divisor)
        return False

    def _offer(self, plan: Plan) -> None:
        """Take the plan if it is feasible on integers and better."""
        if plan_faults(self.problem, plan):
            self.notes.append("highs: a solution was wrong by rounding and was dropped")
            return
        values = tier_values(self.problem, plan)
        if not is_better(self.problem, values, self.values):
            return
        self.plan, self.values = plan, values
        if self.on_plan is not None:
            self.on_plan(plan, tuple(self.bounds))
