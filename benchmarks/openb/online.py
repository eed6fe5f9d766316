"""The replay: each arrival is placed at once or dropped, and stays."""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.openb.cluster import Cluster, Placement
from benchmarks.openb.metrics import allocation_at
from benchmarks.openb.outcome import Decision, Outcome
from benchmarks.openb.pods import PodKinds, pod_kinds
from benchmarks.openb.policies import PolicyFactory, policy_factory
from benchmarks.openb.trace import Arrivals, IntArray, Trace, read_arrivals, read_trace

LOADS = (100, 130)
"""Percent of all GPUs asked for, at which allocation is reported."""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """Course of one run.

    Attributes
    ----------
    arrived_milli, allocated_milli
        ``[arrivals]`` thousandths of a GPU asked for (by dropped pods too) and allocated, after
        each arrival.
    placements
        Per arrival; None: dropped.
    seconds
        Wall time.
    """

    arrived_milli: IntArray
    allocated_milli: IntArray
    placements: Sequence[Placement | None]
    seconds: float


def replay(trace: Trace, kinds: PodKinds, arrivals: Arrivals, factory: PolicyFactory) -> Replay:
    """Replay one arrival order.

    Parameters
    ----------
    trace
        The trace.
    kinds
        `pod_kinds` of it.
    arrivals
        The order.
    factory
        The policy.

    Raises
    ------
    ValueError
        The policy places a pod where it does not fit.
    """
    started = time.perf_counter()
    cluster = Cluster(trace, kinds, arrivals)
    policy = factory(cluster, arrivals.seed)
    coming = kinds.of_pod[arrivals.pods]
    placements: list[Placement | None] = []
    for kind in coming.tolist():
        placement = policy.decide(kind)
        if placement is not None:
            cluster.take(kind, placement)
            policy.placed(kind, placement)
        placements.append(placement)
    milli = kinds.total_milli[coming]
    placed = np.array([placement is not None for placement in placements], dtype=bool)
    return Replay(
        arrived_milli=np.cumsum(milli),
        allocated_milli=np.cumsum(np.where(placed, milli, 0)),
        placements=placements,
        seconds=time.perf_counter() - started,
    )


def run_one(
    trace: Trace,
    kinds: PodKinds,
    arrivals: Arrivals,
    policy: str,
    factory: PolicyFactory,
    *,
    keep_decisions: bool = False,
) -> Outcome:
    """Replay one arrival order and measure it.

    Parameters
    ----------
    trace, kinds, arrivals, factory
        As for `replay`.
    policy
        Name of the policy, for the result.
    keep_decisions
        Whether the result lists every placement.
    """
    course = replay(trace, kinds, arrivals, factory)
    allocation, at_130 = (
        allocation_at(course.arrived_milli, course.allocated_milli, trace.gpu_capacity_milli, load)
        for load in LOADS
    )
    return Outcome(
        trace=trace.name,
        mode="online",
        policy=policy,
        seed=arrivals.seed,
        allocation=allocation,
        allocation_at_130=at_130,
        ceiling=None,
        seconds=course.seconds,
        decisions=_decisions(trace, arrivals, course.placements) if keep_decisions else (),
    )


def run(
    data: Path,
    trace_name: str,
    arrivals_path: Path,
    *,
    seeds: Sequence[int],
    policies: Sequence[str],
    jobs: int = 0,
    ceilings: bool = False,
    keep_decisions: bool = False,
) -> Iterator[Outcome]:
    """Replay every seed under every policy, in parallel processes.

    Parameters
    ----------
    data
        Folder with the trace.
    trace_name
        Its name.
    arrivals_path
        Recorded arrival orders.
    seeds, policies
        What to run.
    jobs
        Processes; 0: one per core; 1: none but this one.
    ceilings
        Whether to compute them.
    keep_decisions
        Whether results list every placement.

    Yields
    ------
    Outcome
        Policy by policy, within it seed by seed.
    """
    bounded = [(data, trace_name, arrivals_path, seed) for seed in seeds if ceilings]
    tasks = [
        (data, trace_name, arrivals_path, seed, policy, keep_decisions)
        for policy in policies
        for seed in seeds
    ]
    jobs = min(jobs or os.cpu_count() or 1, len(tasks))
    # Fresh processes: a fork would copy whatever threads and locks the caller holds.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) if jobs > 1 else None
    with pool or nullcontext():
        mapped = pool.map if pool else map
        ceiling_of_seed = dict(mapped(_ceiling_task, bounded))
        for outcome in mapped(_run_task, tasks):
            assert outcome.seed is not None
            yield replace(outcome, ceiling=ceiling_of_seed.get(outcome.seed))


def _ceiling_task(task: tuple[Path, str, Path, int]) -> tuple[int, float | None]:
    # Imported here, so that replays alone do not need the solver.
    from benchmarks.openb.bounds import load_ceiling

    data, trace_name, arrivals_path, seed = task
    trace, kinds = _prepared(data, trace_name)
    arrivals = read_arrivals(arrivals_path, trace, seed)
    return seed, load_ceiling(trace, kinds, arrivals, LOADS[0])


def _run_task(task: tuple[Path, str, Path, int, str, bool]) -> Outcome:
    data, trace_name, arrivals_path, seed, policy, keep_decisions = task
    trace, kinds = _prepared(data, trace_name)
    arrivals = read_arrivals(arrivals_path, trace, seed)
    factory = _factory(data, trace_name, policy)
    return run_one(trace, kinds, arrivals, policy, factory, keep_decisions=keep_decisions)


@cache
def _prepared(data: Path, trace_name: str) -> tuple[Trace, PodKinds]:
    trace = read_trace(data, trace_name)
    return trace, pod_kinds(trace)


@cache
def _factory(data: Path, trace_name: str, policy: str) -> PolicyFactory:
    """Kept per process, so that the runs it does share the policy's caches."""
    return policy_factory(policy, *_prepared(data, trace_name))


def _decisions(
    trace: Trace, arrivals: Arrivals, placements: Sequence[Placement | None]
) -> tuple[Decision, ...]:
    order = np.argsort(arrivals.node_ranks)
    return tuple(
        Decision(
            arrival=number,
            pod=trace.pods[pod].name,
            node=trace.nodes[order[placement.node]].sn if placement else "",
            gpus=placement.gpus if placement else (),
        )
        for number, (pod, placement) in enumerate(
            zip(arrivals.pods.tolist(), placements, strict=True)
        )
    )
