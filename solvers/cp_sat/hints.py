"""Values of variables that follow from a plan."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from placement.compiled.leftover import Leftover, leftover
from placement.compiled.problem import CompiledProblem, Plan


@dataclass(eq=False)
class Hint:
    """A plan, and the values by variable index that are known of it so far."""

    problem: CompiledProblem
    plan: Plan
    values: dict[int, int] = field(default_factory=dict)
    _left: Leftover | None = None

    def total(self, variables: Iterable[cp_model.IntVar]) -> int:
        """Sum of the values of the variables."""
        return sum(self.values[variable.index] for variable in variables)

    def left(self) -> Leftover:
        """What the plan leaves free."""
        if self._left is None:
            self._left = leftover(self.problem, self.plan)
        return self._left


Derivation = Callable[[Hint], int]
"""How the value of a variable follows from a plan and the variables made before it."""


def any_of(variables: list[cp_model.IntVar]) -> Derivation:
    """1 if any of the variables is positive."""
    return lambda hint: int(hint.total(variables) > 0)
