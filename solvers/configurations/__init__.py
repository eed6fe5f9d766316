"""Many small independent tasks: whole ways to fill a node are chosen, not tasks one by one."""

from solvers.configurations.solver import Configurations

__all__ = ["Configurations"]
