"""``placement solve``: a problem in, the answer out."""

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from placement.cli.arguments import ClusterFile, JobsFile, PolicyFile, read_problem
from placement.cli.failures import CommandError, ExitStatus, complain

if TYPE_CHECKING:
    from placement.answer import Answer
    from placement.cli.watch import SolveNow
    from placement.engine import SolveOptions
    from placement.problem import Problem

EPILOG = """\b
Examples:
  placement solve examples/quickstart.yaml
  placement solve examples/fifty-servers.yaml --compare greedy
  placement solve --cluster cluster.yaml --jobs jobs.yaml --policy policy.yaml
  placement solve problem.yaml --time-limit 500ms --format json > answer.json
  cat problem.json | placement solve - --format yaml
  placement solve problem.yaml --server 127.0.0.1:50551

Ctrl-C ends the solve with the best answer so far; a second one ends it without.

Exit status: 0 an answer (also when jobs wait), 2 bad input, 1 anything else.
"""


class Format(StrEnum):
    """How the answer is written to standard output."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def _solvers_like(incomplete: str) -> list[str]:
    from solvers.registry import solver_names

    return [name for name in solver_names() if name.startswith(incomplete)]


def solve(
    problem: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROBLEM",
            help="Problem files, YAML or JSON, merged into one; - is standard input.",
            show_default=False,
        ),
    ] = None,
    cluster: ClusterFile = None,
    jobs: JobsFile = None,
    policy: PolicyFile = None,
    solver: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Solver; placement doctor lists them.",
            autocompletion=_solvers_like,
        ),
    ] = "auto",
    time_limit: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Such as 5s or 500ms; without it that of the policy."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of what is random.")] = 0,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Threads; without it one per core."),
    ] = None,
    reproducible: Annotated[
        bool,
        typer.Option(
            "--reproducible", help="Same input, seed and version: same answer, byte for byte."
        ),
    ] = False,
    format_: Annotated[
        Format, typer.Option("--format", help="What is written to standard output.")
    ] = Format.TABLE,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Save the answer too: JSON, or YAML if FILE ends in .yaml or .yml."
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="SOLVER",
            help="Show beside it what this solver would have done.",
            autocompletion=_solvers_like,
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Solve on this server (see placement serve)."),
    ] = None,
    server_wait: Annotated[
        str, typer.Option(metavar="TIME", help="How long to try a server that is not there.")
    ] = "5s",
) -> None:
    """Decide which pending jobs start now, and where.

    The answer goes to standard output, messages and progress go to standard error.
    """
    if compare is not None and format_ is not Format.TABLE:
        raise typer.BadParameter("only with --format table", param_hint="--compare")
    if output is not None and not Path(output).absolute().parent.is_dir():
        raise typer.BadParameter(f"{output}: no such directory", param_hint="--output")
    limit_ms = None if time_limit is None else _milliseconds(time_limit, "--time-limit")
    if limit_ms == 0:
        raise typer.BadParameter("0 leaves no time to solve in", param_hint="--time-limit")
    patience_ms = _milliseconds(server_wait, "--server-wait")
    the_problem = read_problem(problem or [], cluster, jobs, policy, supported_only=server is None)
    for name, hint in ((solver, "--solver"), (compare, "--compare")):
        if name is not None and server is None:
            _check_solver(name, hint)

    from placement.engine import SolveOptions

    def options(name: str) -> SolveOptions:
        return SolveOptions(
            solver=name,
            time_limit_ms=limit_ms,
            seed=seed,
            workers=workers,
            reproducible=reproducible,
        )

    def solved(name: str) -> "Answer":
        if server is None:
            return _solved_here(the_problem, options(name))
        return _solved_there(server, patience_ms / 1000, the_problem, options(name))

    answer = solved(solver)
    _print_answer(the_problem, answer, format_)
    if output is not None:
        _save(answer, Path(output))
    if compare is not None:
        _print_comparison(the_problem, answer, solved(compare))


def _milliseconds(text: str, option: str) -> int:
    from placement.quantities import parse_milliseconds

    try:
        return parse_milliseconds(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _check_solver(name: str, hint: str) -> None:
    from solvers.registry import solver_names

    if name not in solver_names():
        known = ", ".join(solver_names())
        raise typer.BadParameter(f"no solver {name!r}; there are {known}", param_hint=hint)


def _solved_here(problem: "Problem", options: "SolveOptions") -> "Answer":
    from placement.cli.watch import OnAnswer
    from placement.engine import solve as solve_here
    from solvers.registry import make_solver

    # Imports what the solver needs now: seconds of import are no seconds of solving.
    make_solver(options.solver)

    def solve_now(on_answer: OnAnswer, stopped: Callable[[], bool]) -> "Answer":
        return solve_here(problem, options, on_answer=on_answer, stopped=stopped)

    return _watched(solve_now, f"solving with {options.solver}")


def _solved_there(
    server: str, patience_s: float, problem: "Problem", options: "SolveOptions"
) -> "Answer":
    from placement.cli.remote import solve_there
    from placement.cli.watch import OnAnswer

    def solve_now(on_answer: OnAnswer, stopped: Callable[[], bool]) -> "Answer":
        return solve_there(
            server, problem, options, patience_s=patience_s, on_answer=on_answer, stopped=stopped
        )

    return _watched(solve_now, f"solving with {options.solver} on {server}")


def _watched(solve_now: "SolveNow", what: str) -> "Answer":
    from placement.cli.watch import watch

    watched = watch(solve_now, what)
    if watched.interrupted:
        complain("placement: interrupted; this is the best answer so far")
    return watched.answer


def _print_answer(problem: "Problem", answer: "Answer", format_: Format) -> None:
    if format_ is Format.TABLE:
        from placement.cli.terminal import print_for_people
        from placement.render.answer_text import answer_text

        print_for_people(answer_text(problem, answer))
        return
    from placement.answer_file import answer_to_json, answer_to_yaml

    write = answer_to_json if format_ is Format.JSON else answer_to_yaml
    sys.stdout.write(write(answer))


def _print_comparison(problem: "Problem", answer: "Answer", other: "Answer") -> None:
    from placement.cli.terminal import print_for_people
    from placement.render.comparison import comparison

    print_for_people("", comparison(problem, answer, other))


def _save(answer: "Answer", path: Path) -> None:
    from placement.answer_file import answer_to_json, answer_to_yaml

    write = answer_to_yaml if path.suffix in (".yaml", ".yml") else answer_to_json
    try:
        path.write_text(write(answer), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}", ExitStatus.FAILED) from None
