"""The floor: a constructive solver that every answer at least reaches."""

from solvers.greedy.solver import Greedy

__all__ = ["Greedy"]
