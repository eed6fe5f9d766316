"""Arguments and options that several commands share."""

from collections.abc import Sequence
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


def read_problem(
    files: Sequence[str],
    cluster: str | None,
    jobs: str | None,
    policy: str | None,
    *,
    supported_only: bool = True,
) -> "Problem":
    """Read a problem from its files; ``-`` is standard input.

    Parameters
    ----------
    files
        Files of the problem.
    cluster, jobs, policy
        Files of these sections.
    supported_only
        Whether to refuse what this version does not honour; a server may honour more.

    Raises
    ------
    InvalidProblemError
        With every fault of the input.
    CommandError
        If there is nothing to read.
    """
    named = [*files, *(path for path in (cluster, jobs, policy) if path is not None)]
    if not named:
        raise CommandError("name a problem file, or - for standard input", ExitStatus.BAD_INPUT)
    if named.count("-") > 1:
        raise CommandError("standard input (-) can be read only once", ExitStatus.BAD_INPUT)
    from placement.problem_file import load_problem

    return load_problem(
        files, cluster=cluster, jobs=jobs, policy=policy, supported_only=supported_only
    )
