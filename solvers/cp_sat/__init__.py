"""The exact solver on OR-tools CP-SAT: a counting model over cells of nodes."""

from solvers.cp_sat.solver import CpSat

__all__ = ["CpSat"]
