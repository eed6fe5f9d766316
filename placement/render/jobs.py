"""Who starts where, and who waits and why."""

from collections import Counter

from rich.console import Group
from rich.text import Text

from placement.answer import Action, Answer, TaskPlacement
from placement.problem import Problem
from placement.render.hostlist import compact_hostlist
from placement.render.layout import gpus, plain_table, section
from placement.workload import Job, TaskGroup

MOST_ROWS = 60
"""Rows of each table; what is left out is counted."""

LONGEST_HOSTLIST = 160
"""Characters of a list of nodes before it is cut."""

GIB = 2**30


def starts_section(problem: Problem, answer: Answer) -> Group | None:
    """Say where each started job goes: one row per task group; None if nothing starts."""
    jobs = {job.name: job for job in problem.jobs}
    started = [d for d in answer.decisions if d.action is Action.START]
    if not started:
        return None
    table = plain_table("job", ">priority", ">tasks", ">gpus", "nodes:gpus")
    rows = 0
    for done, decision in enumerate(started):
        if rows >= MOST_ROWS:
            table.add_row(Text(f"... {len(started) - done} more"), *[Text("")] * 4)
            break
        job = jobs[decision.job]
        for group in job.tasks:
            tasks = [task for task in decision.tasks if task.group == group.name]
            if not tasks:
                continue
            label = job.name if len(job.tasks) == 1 else f"{job.name}/{group.name}"
            table.add_row(
                Text(label),
                Text(str(job.priority)),
                Text(_count(group, len(tasks))),
                Text(_gpus_taken(group, len(tasks))),
                Text(_nodes(tasks)),
            )
            rows += 1
    return section("Starts now", table)


def waits_section(problem: Problem, answer: Answer) -> Group | None:
    """Say who waits and why; None if nobody waits."""
    jobs = {job.name: job for job in problem.jobs}
    waiting = [d for d in answer.decisions if d.action is Action.WAIT]
    if not waiting:
        return None
    table = plain_table("job", ">priority", "asks", "why")
    for decision in waiting[:MOST_ROWS]:
        job = jobs[decision.job]
        why = decision.why.summary if decision.why else ""
        table.add_row(Text(job.name), Text(str(job.priority)), Text(request(job)), Text(why))
    if len(waiting) > MOST_ROWS:
        table.add_row(Text(f"... {len(waiting) - MOST_ROWS} more"), *[Text("")] * 3)
    return section("Waits", table)


def request(job: Job) -> str:
    """Write what a job asks for in a few words: ``16 x 8 GPUs``, ``1-4 x 0.5 GPU``."""
    return " + ".join(_group_request(group) for group in job.tasks)


def _group_request(group: TaskGroup) -> str:
    few, many = group.count.min, group.count.max
    count = f"{many} x " if few == many else f"{few}-{many} x "
    return ("" if few == many == 1 else count) + _task_request(group)


def _task_request(group: TaskGroup) -> str:
    if group.gpu_memory_bytes:
        return f"{group.gpu_memory_bytes / GIB:g} GiB of a GPU"
    if group.gpus_milli:
        unit = "GPU" if group.gpus_milli <= 1000 else "GPUs"
        model = "/".join(group.gpu.model)
        return f"{gpus(group.gpus_milli)} {model + ' ' if model else ''}{unit}"
    if group.mig:
        return f"MIG {group.mig}"
    if group.cpu_millicores:
        return (
            f"{group.cpu_millicores / 1000:g} {'core' if group.cpu_millicores == 1000 else 'cores'}"
        )
    return f"{group.memory_bytes / GIB:g} GiB" if group.memory_bytes else "other resources"


def _count(group: TaskGroup, count: int) -> str:
    elastic = group.count.min != group.count.max
    return f"{count} of {group.count.max}" if elastic else str(count)


def _gpus_taken(group: TaskGroup, count: int) -> str:
    if group.gpu_memory_bytes:
        return f"{count} shares"
    return gpus(group.gpus_milli * count) if group.gpus_milli else "-"


def _nodes(tasks: list[TaskPlacement]) -> str:
    """Nodes in the order of ranks; runs with equally many GPUs per node are one list."""
    held: Counter[str] = Counter()
    for task in tasks:
        held[task.node] += len(task.gpus)
    alike: dict[int, list[str]] = {}
    for node, count in held.items():
        alike.setdefault(count, []).append(node)
    text = "  ".join(
        f"{compact_hostlist(nodes)}:{count}" if count else compact_hostlist(nodes)
        for count, nodes in alike.items()
    )
    return text if len(text) <= LONGEST_HOSTLIST else f"{text[: LONGEST_HOSTLIST - 3]}..."
