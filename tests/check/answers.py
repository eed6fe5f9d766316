"""Answers made by hand from who sits where."""

from collections import Counter
from collections.abc import Mapping, Sequence

from placement.answer import (
    Action,
    Answer,
    Decision,
    Fragmentation,
    FragmentationReport,
    SolverReport,
    Status,
    TaskPlacement,
    TierResult,
    Why,
)
from placement.objective import fragmentation_report, tier_values
from placement.problem import Problem

Seat = tuple[str, str, tuple[int, ...]]
"""Group, node, GPU indices of one task; ranks run in the order given."""


def answer_of(problem: Problem, starts: Mapping[str, Sequence[Seat]]) -> Answer:
    """An answer that starts these jobs and says of every tier that it is optimal.

    With names that the problem does not know it has no figures: they cannot be computed.
    """
    nothing = FragmentationReport()
    decisions = tuple(_decision(job.name, starts.get(job.name)) for job in problem.jobs)
    bare = Answer(
        status=Status.OPTIMAL,
        objective=(),
        decisions=decisions,
        fragmentation=Fragmentation(before=nothing, after=nothing),
        solver=SolverReport(name="by hand"),
    )
    try:
        values = tier_values(problem, bare)
    except KeyError:
        return bare
    objective = tuple(
        TierResult(
            tier=value.tier,
            priority=value.priority,
            level=value.level,
            value=value.reported,
            bound=value.reported,
            gap=0.0,
            status=Status.OPTIMAL,
        )
        for value in values
    )
    fragmentation = Fragmentation(
        before=fragmentation_report(problem, None), after=fragmentation_report(problem, bare)
    )
    return bare.model_copy(update={"objective": objective, "fragmentation": fragmentation})


def _decision(job: str, seats: Sequence[Seat] | None) -> Decision:
    if seats is None:
        return Decision(job=job, action=Action.WAIT, why=Why(summary="it waits"))
    on_node: Counter[str] = Counter()
    tasks = []
    for rank, (group, node, gpus) in enumerate(seats):
        tasks.append(
            TaskPlacement(
                group=group, rank=rank, node=node, local_rank=on_node[node], gpus=tuple(gpus)
            )
        )
        on_node[node] += 1
    return Decision(job=job, action=Action.START, tasks=tuple(tasks))
