"""Two answers to one problem, side by side."""

from rich.console import Group, RenderableType
from rich.text import Text

from placement.answer import Action, Answer, TierResult
from placement.problem import Problem
from placement.render.jobs import request
from placement.render.layout import number, plain_table, section
from placement.render.tiers import tier_name

MOST_ROWS = 40


def comparison(problem: Problem, answer: Answer, other: Answer) -> RenderableType:
    """Show what only one of the two answers starts, and the values of their tiers.

    Parameters
    ----------
    problem
        What both answer.
    answer, other
        Named by their solvers in what is shown; ``other`` is the one held against ``answer``.
    """
    name, other_name = answer.solver.name, other.solver.name
    if name == other_name:
        other_name = f"{other_name} (2)"
    parts: list[RenderableType] = [
        Text(
            f"Beside it, {other_name}: {_summary(problem, other)}; {name}: "
            f"{_summary(problem, answer)}",
            style="bold",
        )
    ]
    only = _started(answer) - _started(other)
    other_only = _started(other) - _started(answer)
    if only or other_only:
        parts += [Text(""), _differences(problem, (name, only), (other_name, other_only))]
    else:
        parts += [Text("Both start the same jobs.")]
    if answer.objective:
        parts += [Text(""), _tiers(answer, other, name, other_name)]
    return Group(*parts)


def _started(answer: Answer) -> frozenset[str]:
    return frozenset(d.job for d in answer.decisions if d.action is Action.START)


def _summary(problem: Problem, answer: Answer) -> str:
    gpus = {
        (task.node, gpu)
        for decision in answer.decisions
        if decision.action is Action.START
        for task in decision.tasks
        for gpu in task.gpus
    }
    started = len(_started(answer))
    return f"{started} of {len(problem.jobs)} jobs on {len(gpus)} GPUs"


def _differences(problem: Problem, *sides: tuple[str, frozenset[str]]) -> Group:
    table = plain_table("job", ">priority", "asks", "started by")
    rows = [(job, name) for job in problem.jobs for name, started in sides if job.name in started]
    for job, name in rows[:MOST_ROWS]:
        table.add_row(Text(job.name), Text(str(job.priority)), Text(request(job)), Text(name))
    if len(rows) > MOST_ROWS:
        table.add_row(Text(f"... {len(rows) - MOST_ROWS} more"), *[Text("")] * 3)
    return section("Started by one only", table)


def _tiers(answer: Answer, other: Answer, name: str, other_name: str) -> Group:
    """Tiers side by side; from the first one that differs on, lower ones compare no more."""
    table = plain_table("tier", f">{name}", f">{other_name}", "")
    values = {_key(tier): tier.value for tier in other.objective}
    decided = False
    for tier in answer.objective:
        value = values.get(_key(tier))
        differs = value is not None and number(value) != number(tier.value)
        note = "<- decides" if differs and not decided else ""
        decided = decided or differs
        table.add_row(
            Text(tier_name(tier)),
            Text(number(tier.value)),
            Text("-" if value is None else number(value)),
            Text(note, style="bold"),
        )
    return section("Objective side by side", table)


def _key(tier: TierResult) -> tuple[str, int | None, str | None]:
    return tier.tier, tier.priority, tier.level
