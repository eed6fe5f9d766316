"""The whole answer as people read it, top to bottom: what happens, why, and how good it is."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from placement.answer import Action, Answer, SolverReport, Status
from placement.problem import Problem
from placement.render.cluster_map import idle_gpus, map_section
from placement.render.jobs import starts_section, waits_section
from placement.render.layout import percent
from placement.render.leftovers import sets_section
from placement.render.tiers import tiers_section


def answer_text(problem: Problem, answer: Answer) -> RenderableType:
    """Lay out the answer for a terminal, in reading order.

    Parameters
    ----------
    problem
        What was asked; names, requests and the state before come from it.
    answer
        Decisions for the jobs of ``problem``.
    """
    parts: list[RenderableType] = []
    for section in _sections(problem, answer):
        if parts:
            parts.append(Text(""))
        parts.append(section)
    return Group(*parts)


def _sections(problem: Problem, answer: Answer) -> Iterator[RenderableType]:
    idle = idle_gpus(problem, answer)
    yield _headline(answer, sum(idle.before), sum(idle.after))
    sections = (
        starts_section(problem, answer),
        waits_section(problem, answer),
        tiers_section(answer),
        map_section(problem, idle),
        sets_section(answer),
    )
    yield from (part for part in sections if part is not None)
    notes = [*(f"warning: {warning}" for warning in answer.warnings), solver_line(answer.solver)]
    yield Text("\n".join(notes))


def _headline(answer: Answer, idle_before: int, idle_after: int) -> Text:
    count = {
        action: sum(decision.action is action for decision in answer.decisions) for action in Action
    }
    total = len(answer.decisions)
    text = Text()
    text.append(
        answer.status.value,
        style="bold green" if answer.status is Status.OPTIMAL else "bold yellow",
    )
    text.append(f": {count[Action.START]} of {total} jobs start, {count[Action.WAIT]} wait")
    if count[Action.RESERVE]:
        text.append(f", {count[Action.RESERVE]} reserved")
    text.append(f"; idle GPUs {idle_before} -> {idle_after}")
    return text


def solver_line(solver: SolverReport) -> str:
    """Say who found the answer, in what time, and how good it is known to be."""
    parts = [f"solver: {solver.name}"]
    if solver.seconds is not None:
        parts.append(f"{solver.seconds:.2f} s")
    parts.append(f"seed {solver.seed}")
    parts.append(f"largest gap of the work tiers {percent(solver.gap)}")
    return ", ".join(parts) + "".join(f"\nnote: {note}" for note in solver.notes)
