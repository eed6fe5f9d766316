"""Schedulers in use, for comparison: valid plans, no search, no bounds."""

from solvers.baselines.best_fit import BestFit
from solvers.baselines.fgd import Fgd
from solvers.baselines.first_fit import FirstFit

__all__ = ["BestFit", "Fgd", "FirstFit"]
