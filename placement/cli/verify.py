"""``placement verify``: says whether an answer is legal, and true about itself."""

import sys
from typing import Annotated

import typer

from placement.cli.arguments import ClusterFile, JobsFile, PolicyFile, read_problem
from placement.cli.failures import ExitStatus, one_line

EPILOG = """\b
Examples:
  placement solve problem.yaml --format json > answer.json
  placement verify problem.yaml answer.json
  placement verify cluster.yaml jobs.yaml policy.yaml answer.yaml
  placement solve problem.yaml --format json | placement verify problem.yaml -

Exit status: 0 no violations, 1 violations (one per line), 2 a file cannot be understood.
"""


def verify(
    *,
    problem: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROBLEM",
            help="Problem files, YAML or JSON, merged into one; - is standard input.",
            show_default=False,
        ),
    ] = None,
    answer: Annotated[
        str,
        typer.Argument(metavar="ANSWER", help="The answer, JSON or YAML.", show_default=False),
    ],
    cluster: ClusterFile = None,
    jobs: JobsFile = None,
    policy: PolicyFile = None,
) -> None:
    """Check an answer against its problem.

    Every rule is checked and every tier of the objective recomputed, by code that shares nothing
    with the solvers.
    """
    files = problem or []
    if [*files, answer].count("-") > 1:
        raise typer.BadParameter("standard input can be read only once", param_hint="-")
    the_problem = read_problem(files, cluster, jobs, policy)

    from placement.answer_file import load_answer
    from placement.check import check_answer

    the_answer = load_answer(answer)
    violations = check_answer(the_problem, the_answer)
    for violation in violations:
        typer.echo(one_line(str(violation), sys.stdout.encoding))
    if violations:
        raise typer.Exit(ExitStatus.FAILED)
    tiers = len(the_answer.objective)
    typer.echo(f"ok: {len(the_answer.decisions)} decisions, {tiers} tiers; no violations")
