"""Mode ``offline``: all pods of a trace at once as pending jobs, solved by the engine."""

import resource
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.openb.outcome import Decision, Outcome
from benchmarks.openb.trace import GPU_MILLI, Pod, Trace
from placement.answer import Action, Answer
from placement.engine import SolveOptions, solve
from placement.problem_file import problem_from_document

ENGINE = "engine"
NOW = "2023-07-01T00:00:00Z"
"""The trace is a snapshot: any instant will do."""

_DIGITS = 10**4


def run(
    trace: Trace,
    *,
    time_limit_s: float,
    seeds: Sequence[int],
    policies: Sequence[str],
    arrivals_path: Path | None,
    jobs: int,
    ceilings: bool,
    keep_decisions: bool,
) -> Iterator[Outcome]:
    """Solve the trace once per seed of the solver; without seeds once.

    ``arrivals_path`` and ``jobs`` play no part: nothing arrives, and a solve uses all cores.

    Parameters
    ----------
    trace
        The trace.
    time_limit_s
        Seconds from the document to the checked answer.
    seeds
        Of the solver.
    policies
        ``engine`` or nothing.
    arrivals_path, jobs
        Not used.
    ceilings
        Whether to report the bound.
    keep_decisions
        Whether results list every placement.

    Raises
    ------
    ValueError
        Another policy is named.
    """
    del arrivals_path, jobs
    if set(policies) - {ENGINE}:
        raise ValueError(f"--mode offline solves by the {ENGINE}, it knows no other policy")
    for seed in seeds or (0,):
        yield _outcome(trace, seed, time_limit_s, ceilings=ceilings, keep=keep_decisions)


def document(trace: Trace) -> dict[str, object]:
    """The trace as a problem file: every pod a job of one task, GPUs as value.

    Parameters
    ----------
    trace
        The trace.
    """
    shapes: dict[str, object] = {}
    nodes = []
    for node in trace.nodes:
        name = f"{node.model}-{node.gpu_count}-{node.cpu_millicores}m-{node.memory_mib}Mi"
        shapes[name] = {
            "cpu": f"{node.cpu_millicores}m",
            "memory": f"{node.memory_mib}Mi",
            "gpus": {"model": node.model, "count": node.gpu_count},
        }
        nodes.append({"name": node.sn, "shape": name})
    return {
        "now": NOW,
        "cluster": {"levels": [], "shapes": shapes, "nodes": nodes},
        "jobs": [_job(pod) for pod in trace.pods],
        "policy": {"value": "gpus"},
    }


def _job(pod: Pod) -> Mapping[str, object]:
    job: dict[str, object] = {
        "name": pod.name,
        "cpu": f"{pod.cpu_millicores}m",
        "memory": f"{pod.memory_mib}Mi",
    }
    if pod.gpu_count:
        share = pod.gpu_milli < GPU_MILLI
        job["gpus"] = pod.gpu_milli / GPU_MILLI if share else pod.gpu_count
    if pod.models:
        job["gpu"] = {"model": list(dict.fromkeys(pod.models))}
    return job


def _outcome(
    trace: Trace, seed: int, time_limit_s: float, *, ceilings: bool, keep: bool
) -> Outcome:
    started = time.monotonic()
    problem = problem_from_document(document(trace))
    left_s = time_limit_s - (time.monotonic() - started)
    limit_ms = max(1, int(1000 * left_s))
    answer = solve(problem, SolveOptions(solver="auto", time_limit_ms=limit_ms, seed=seed))
    seconds = time.monotonic() - started
    placed = {decision.job for decision in answer.decisions if decision.action is Action.START}
    milli = sum(pod.gpu_milli_total for pod in trace.pods if pod.name in placed)
    return Outcome(
        trace=trace.name,
        mode="offline",
        policy=ENGINE,
        seed=seed,
        allocation=100 * milli / trace.gpu_capacity_milli,
        allocation_at_130=None,
        ceiling=_ceiling(trace, answer) if ceilings else None,
        seconds=seconds,
        decisions=tuple(_decisions(trace, answer)) if keep else (),
        peak_rss_mib=_peak_rss_mib(),
    )


def _ceiling(trace: Trace, answer: Answer) -> float | None:
    """Bound of the GPUs allocated, in percent; rounded up, so that it stays a bound."""
    for tier in answer.objective:
        if tier.tier == "work":
            milli = round(tier.bound * GPU_MILLI)
            return -(-100 * _DIGITS * milli // trace.gpu_capacity_milli) / _DIGITS
    return None


def _decisions(trace: Trace, answer: Answer) -> Iterable[Decision]:
    """One per pod, in the order of the trace."""
    for number, (pod, decision) in enumerate(zip(trace.pods, answer.decisions, strict=True)):
        for task in decision.tasks:
            yield Decision(number, pod.name, task.node, task.gpus)
        if not decision.tasks:
            yield Decision(number, pod.name, "", ())


def _peak_rss_mib() -> int:
    """Of this process since it began, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 2**20 if sys.platform == "darwin" else peak // 2**10
