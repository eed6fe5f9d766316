"""Time and size of solving generated clusters, beside the plain model of the same instance.

Times count from the call of the engine, compilation included (``compile_s`` says how much of it
that is); those of the plain model count from its build plus the same compilation.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from benchmarks.instances import cluster_document
from benchmarks.scale_trace import Moment, Recorder, reached_s, work_tiers
from placement.answer import Answer
from placement.compiled.compile import compile_problem
from placement.compiled.problem import CompiledProblem
from placement.engine import SolveOptions, solve
from placement.problem import Problem
from placement.problem_file import problem_from_document
from solvers.base import SolveParameters
from solvers.plain import Plain
from solvers.registry import make_solver, register

ONE_PERCENT = 0.01

Record = dict[str, Any]

_COLUMNS = (
    ("nodes", "nodes"),
    ("jobs", "jobs"),
    ("seed", "seed"),
    ("model", "model"),
    ("variables", "variables"),
    ("constraints", "rows"),
    ("first_s", "first s"),
    ("work_gap_1pct_s", "<= 1 % s"),
    ("work_proven_s", "work 0 s"),
    ("all_proven_s", "all 0 s"),
    ("work_gap", "work gap"),
    ("gap", "gap"),
)


def main(argv: Sequence[str]) -> int:
    """Run the benchmark.

    Parameters
    ----------
    argv
        Arguments without the names of program and benchmark.

    Returns
    -------
    int
        Exit status: 1 if two proofs about the same instance contradict each other.
    """
    arguments = _parse(argv)
    recorder = Recorder(make_solver(arguments.solver))
    recorded_name = f"scale-{os.getpid()}-{id(recorder)}"
    register(recorded_name, lambda: recorder)
    # Loads OR-tools, so that the first instance does not pay for it.
    _measure(_problem(8, 0), recorder, recorded_name, 1.0, arguments.workers)
    if not arguments.json:
        print(_row([title for _, title in _COLUMNS]))
    agree = True
    for nodes in arguments.sizes:
        for seed in arguments.seeds:
            problem = _problem(nodes, seed)
            record: Record = {
                "nodes": nodes,
                "jobs": len(problem.jobs),
                "seed": seed,
                "workers": arguments.workers,
                "time_limit_s": arguments.time_limit,
                "cpus": os.cpu_count(),
                "python": platform.python_version(),
                "ortools": version("ortools"),
                **_measure(
                    problem, recorder, recorded_name, arguments.time_limit, arguments.workers
                ),
            }
            if not arguments.no_plain:
                record["plain"] = _measure_plain(problem, arguments.time_limit, arguments.workers)
                agree &= _agree(record, record["plain"])
            _print(record, as_json=arguments.json)
    return 0 if agree else 1


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--sizes", type=_numbers, default=[50, 500], help="nodes: 50,500")
    parser.add_argument("--seeds", type=_range, default=range(1, 2), help="of instances: A-B")
    parser.add_argument("--time-limit", type=float, default=30.0, metavar="S", help="per solve")
    parser.add_argument("--workers", type=int, default=2, help="threads of a solver")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--no-plain", action="store_true", help="leave the plain model out")
    parser.add_argument("--json", action="store_true", help="one object per line and instance")
    return parser.parse_args(argv)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _problem(nodes: int, seed: int) -> Problem:
    return problem_from_document(cluster_document(nodes, seed))


def _measure(
    problem: Problem, recorder: Recorder, name: str, limit_s: float, workers: int
) -> Record:
    compiled, compile_s = _compiled(problem)
    answers: list[float] = []

    def told(_: Answer) -> None:
        answers.append(time.monotonic())

    options = SolveOptions(solver=name, time_limit_ms=int(limit_s * 1000), workers=workers)
    started = time.monotonic()
    answer = solve(problem, options, on_answer=told)
    seconds = time.monotonic() - started
    counts = answer.solver.counts
    return {
        "model": recorder.name,
        "variables": counts.get("variables"),
        "constraints": counts.get("constraints"),
        "compile_s": round(compile_s, 3),
        "first_s": round(answers[0] - started, 3),
        **_times(compiled, recorder.moments, started),
        "status": answer.status.value,
        "seconds": round(seconds, 3),
        "notes": list(answer.solver.notes),
    }


def _measure_plain(problem: Problem, limit_s: float, workers: int) -> Record:
    compiled, compile_s = _compiled(problem)
    recorder = Recorder(Plain())
    started = time.monotonic() - compile_s
    parameters = SolveParameters(deadline_s=started + limit_s, workers=workers)
    result = recorder.solve(compiled, parameters)
    seconds = time.monotonic() - started
    first = next((m.clock_s for m in recorder.moments if any(m.values)), None)
    times = _times(compiled, recorder.moments, started)
    del times["all_proven_s"], times["gap"]  # it knows the work tiers only
    return {
        "model": "plain",
        "variables": result.counts["variables"],
        "constraints": result.counts["constraints"],
        "first_s": None if first is None else round(first - started, 3),
        **times,
        "seconds": round(seconds, 3),
    }


def _compiled(problem: Problem) -> tuple[CompiledProblem, float]:
    started = time.monotonic()
    compiled = compile_problem(problem)
    return compiled, time.monotonic() - started


def _times(compiled: CompiledProblem, moments: Sequence[Moment], started: float) -> Record:
    work = work_tiers(compiled)
    everything = range(len(compiled.tiers))
    last = moments[-1]

    def since(clock_s: float | None) -> float | None:
        return None if clock_s is None else round(clock_s - started, 3)

    return {
        "work_gap_1pct_s": since(reached_s(moments, work, ONE_PERCENT)),
        "work_proven_s": since(reached_s(moments, work, 0.0)),
        "all_proven_s": since(reached_s(moments, everything, 0.0)),
        "work": [last.values[tier] / compiled.tiers[tier].unit for tier in work],
        "work_gap": last.gap(work),
        "gap": last.gap(everything),
    }


def _agree(ours: Record, plain: Record) -> bool:
    """Whether two proofs about the same instance are compatible.

    The first work tier must be equal. Further ones may be better in the plain model, which does
    not care who has waited longest in the priorities above, but not worse.
    """
    if ours["work_proven_s"] is None or plain["work_proven_s"] is None:
        return True
    agree = bool(ours["work"][:1] == plain["work"][:1] and ours["work"] <= plain["work"])
    if not agree:
        print(
            f"{ours['nodes']} nodes, seed {ours['seed']}: proven optima differ: "
            f"{ours['work']} and {plain['work']}",
            file=sys.stderr,
        )
    return agree


def _print(record: Record, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(record), flush=True)
        return
    place = {key: record[key] for key in ("nodes", "jobs", "seed")}
    for measured in (record, record.get("plain")):
        if measured is not None:
            shown = {**measured, **place}
            print(_row([_text(shown.get(key)) for key, _ in _COLUMNS]), flush=True)


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _row(cells: Sequence[str]) -> str:
    return " ".join(f"{cell:>11}" for cell in cells)
