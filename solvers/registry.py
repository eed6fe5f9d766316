"""Solvers by name; imported when asked for, so that naming them costs nothing."""

from collections.abc import Callable
from importlib import import_module

from solvers.base import Solver

_BUILT_IN = {
    "auto": ("solvers.auto", "Auto"),
    "cp-sat": ("solvers.cp_sat", "CpSat"),
    "configurations": ("solvers.configurations", "Configurations"),
    "greedy": ("solvers.greedy", "Greedy"),
    "highs": ("solvers.highs", "Highs"),
    "first-fit": ("solvers.baselines", "FirstFit"),
    "best-fit": ("solvers.baselines", "BestFit"),
    "fgd": ("solvers.baselines", "Fgd"),
}
BASELINES = ("first-fit", "best-fit", "fgd")
"""Solvers for comparison: their plan is shown as it is, without greedy as its floor."""

_registered: dict[str, Callable[[], Solver]] = {}


class UnknownSolverError(ValueError):
    """No solver has this name."""


def solver_names() -> tuple[str, ...]:
    """All names, those built in first."""
    return (*_BUILT_IN, *_registered)


def register(name: str, make: Callable[[], Solver]) -> None:
    """Add a solver under a name of its own.

    Raises
    ------
    ValueError
        If the name is taken.
    """
    if name in solver_names():
        raise ValueError(f"there is a solver named {name} already")
    _registered[name] = make


def make_solver(name: str) -> Solver:
    """Make the solver of this name.

    Raises
    ------
    UnknownSolverError
        If there is none; the message lists all names.
    """
    if name in _registered:
        return _registered[name]()
    if name not in _BUILT_IN:
        raise UnknownSolverError(f"no solver {name!r}; there are {', '.join(solver_names())}")
    module, attribute = _BUILT_IN[name]
    solver: Solver = getattr(import_module(module), attribute)()
    return solver
