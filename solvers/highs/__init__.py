"""The independent second exact solver: HiGHS on one integer per task group and node."""

from solvers.highs.solver import Highs

__all__ = ["Highs"]
