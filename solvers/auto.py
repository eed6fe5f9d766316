"""Chooses the way by what the problem looks like."""

from placement.compiled.problem import CompiledProblem, Plan
from solvers.base import OnPlan, SolveParameters, SolverResult
from solvers.cp_sat import CpSat


class Auto:
    """Exact counting with greedy as its floor."""

    name = "auto"

    def solve(
        self,
        problem: CompiledProblem,
        parameters: SolveParameters,
        *,
        incumbent: Plan | None = None,
        on_plan: OnPlan | None = None,
    ) -> SolverResult:
        """See :class:`solvers.base.Solver`."""
        return CpSat().solve(problem, parameters, incumbent=incumbent, on_plan=on_plan)
