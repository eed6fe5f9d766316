"""The commands, assembled."""

from typing import Annotated

import typer

from placement.cli.doctor import doctor
from placement.cli.schema import schema
from placement.cli.serve import serve
from placement.cli.solve import solve
from placement.cli.verify import verify

app = typer.Typer(
    name="placement",
    # Plain help: rich costs time on every completion and reflows the examples.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"placement {version('placement-engine')}")
        raise typer.Exit


@app.callback(
    epilog="""\b
Examples:
  placement solve examples/quickstart.yaml
  placement solve examples/fifty-servers.yaml --compare greedy
  placement solve problem.yaml --format json > answer.json
  placement verify problem.yaml answer.json

Exit status: 0 an answer (also when jobs wait), 2 bad input, 1 anything else.
"""
)
def placement(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show a traceback when something unexpected fails.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Decide which GPU workloads run on which nodes of a cluster.

    A problem file holds the cluster, the pending jobs and a policy (docs/problem-format.md). The
    answer says who starts where, who waits and why, and how good that provably is.
    """


for command in (solve, verify, serve, schema, doctor):
    app.command(epilog=command.__globals__["EPILOG"])(command)
