"""Arguments and options that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from placement.cli.failures import CommandError, ExitStatus

if TYPE_CHECKING:
    from placement.problem import Problem

ClusterFile = Annotated[
    str | None, typer.Option("--cluster", metavar="FILE", help="File with the cluster snapshot.")
]
JobsFile = Annotated[
    str | None, typer.Option("--jobs", metavar="FILE", help="File with the pending jobs.")
]
PolicyFile = Annotated[
    str | None, typer.Option("--policy", metavar="FILE", help="File with the policy.")
]


def read_problem(files: Sequence[str], *parts: str | None) -> "Problem":
    """Read a problem from its files; ``-`` is standard input.

    Raises
    ------
    InvalidProblemError
        With every fault of the input.
    CommandError
        If there is nothing to read.
    """
    from placement.problem_file import load_problem

    paths = [*files, *(part for part in parts if part is not None)]
    if not paths:
        raise CommandError("name a problem file, or - for standard input", ExitStatus.BAD_INPUT)
    if paths.count("-") > 1:
        raise CommandError("standard input (-) can be read only once", ExitStatus.BAD_INPUT)
    return load_problem([path if path == "-" else Path(path) for path in paths])
