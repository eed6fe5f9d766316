"""What the cluster can still take: assemblable sets before and after."""

from typing import Any

from rich.console import Group
from rich.text import Text

from placement.answer import Answer
from placement.render.layout import plain_table, section

GIB = 2**30


def sets_section(answer: Answer) -> Group | None:
    """Count the sets of the target mix that fit before and after; None without a target."""
    before = {set_name(entry): entry for entry in answer.fragmentation.before.sets}
    after = {set_name(entry): entry for entry in answer.fragmentation.after.sets}
    names = list(dict.fromkeys([*before, *after]))
    if not names:
        return None
    table = plain_table("set", ">weight", ">before", ">after")
    for name in names:
        entry = after.get(name) or before[name]
        table.add_row(
            Text(name),
            Text(f"{entry.get('weight_milli', 1000) / 1000:g}"),
            Text(_count(before.get(name))),
            Text(_count(after.get(name))),
        )
    return section("Could still be placed, each set by itself", table)


def set_name(entry: dict[str, Any]) -> str:
    """Write a set as people say it: ``4 nodes with 8 GPUs in one rack``."""
    parts = []
    if entry.get("gpus"):
        model = f"{entry['model']} " if entry.get("model") else ""
        parts.append(f"{entry['gpus']} {model}{'GPU' if entry['gpus'] == 1 else 'GPUs'}")
    if entry.get("cpu_millicores"):
        parts.append(f"{entry['cpu_millicores'] / 1000:g} cores")
    if entry.get("memory_bytes"):
        parts.append(f"{entry['memory_bytes'] / GIB:g} GiB")
    nodes = entry.get("nodes", 1)
    place = f" in one {entry['level']}" if entry.get("level") else ""
    return f"{nodes} {'node' if nodes == 1 else 'nodes'} with {', '.join(parts)}{place}"


def _count(entry: dict[str, Any] | None) -> str:
    return "-" if entry is None else str(entry.get("count", "-"))
