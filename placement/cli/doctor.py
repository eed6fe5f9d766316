"""``placement doctor``: says whether this installation is sound."""

import importlib.metadata
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import typer

from placement.cli.failures import ExitStatus

EPILOG = """\b
Examples:
  placement doctor
  python -m placement doctor

Exit status: 0 sound, 1 not.
"""

DISTRIBUTION = "placement-engine"

DEPENDENCIES = ("ortools", "protobuf", "grpcio", "numpy", "pydantic", "PyYAML", "rich", "typer")

_TINY: dict[str, object] = {
    "now": "2026-01-01T00:00:00Z",
    "cluster": {
        "levels": ["rack"],
        "shapes": {"s": {"cpu": 8, "memory": "8Gi", "gpus": {"model": "A100", "count": 2}}},
        "nodes": [{"name": "n[1-2]", "shape": "s", "domain": "r1"}],
    },
    "jobs": [
        {"name": "pair", "tasks": [{"name": "w", "count": 2, "gpus": 2, "cpu": 1}]},
        {"name": "late", "gpus": 1},
    ],
}
"""Two nodes, a gang that fills them, and a job that then waits."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at."""

    what: str
    found: str
    sound: bool = True


def doctor() -> None:
    """Say whether this installation is sound.

    Reports versions, looks for a foreign package named placement, and solves a tiny problem.
    """
    sound = True
    for finding in _findings():
        sound = sound and finding.sound
        mark = "ok " if finding.sound else "BAD"
        typer.echo(f"{mark}  {finding.what:<14} {finding.found}")
    if not sound:
        raise typer.Exit(ExitStatus.FAILED)


def _findings() -> Iterator[Finding]:
    yield Finding("python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    yield from (_version(name) for name in (DISTRIBUTION, *DEPENDENCIES))
    yield _package()
    solvers = _solvers()
    yield solvers
    if solvers.sound:
        yield from (_self_test(name) for name in ("cp-sat", "greedy"))


def _version(name: str) -> Finding:
    try:
        return Finding(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "not installed", sound=False)


def _package() -> Finding:
    """Whether another distribution (openstack-placement) brings a package of the same name."""
    import placement

    here = Path(placement.__file__ or "").parent
    others = sorted(
        {
            distribution.name
            for distribution in importlib.metadata.distributions()
            if distribution.name != DISTRIBUTION and _brings_placement(distribution)
        }
    )
    if others:
        return Finding(
            "package",
            f"{', '.join(others)} also installs a package `placement` at {here}; "
            "use an environment of its own",
            sound=False,
        )
    return Finding("package", f"placement at {here}")


def _brings_placement(distribution: importlib.metadata.Distribution) -> bool:
    files = distribution.files or ()
    return any(file.parts[:1] == ("placement",) for file in files)


def _solvers() -> Finding:
    try:
        from solvers.registry import solver_names

        return Finding("solvers", ", ".join(solver_names()))
    except Exception as error:
        return Finding("solvers", f"{type(error).__name__}: {error}", sound=False)


def _self_test(solver: str) -> Finding:
    what = f"test {solver}"
    try:
        from placement.answer import Action
        from placement.check import check_answer
        from placement.engine import SolveOptions, solve
        from placement.problem_file import problem_from_document

        problem = problem_from_document(_TINY)
        answer = solve(problem, SolveOptions(solver=solver, time_limit_ms=5000, workers=1))
        started = {d.job for d in answer.decisions if d.action is Action.START}
        violations = check_answer(problem, answer)
    except Exception as error:
        return Finding(what, f"{type(error).__name__}: {error}", sound=False)
    if violations:
        return Finding(what, f"{len(violations)} violations, such as {violations[0]}", sound=False)
    if started != {"pair"}:
        return Finding(what, f"starts {sorted(started)} where pair alone is right", sound=False)
    return Finding(what, f"right and checked, {answer.status.value}")
