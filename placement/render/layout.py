"""How the tables of an answer look, and how numbers are written in them."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


def plain_table(*columns: str) -> Table:
    """Make a table without lines.

    Parameters
    ----------
    columns
        Headings; one that begins with ``>`` is set to the right.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for column in columns:
        right = column.startswith(">")
        heading = column.removeprefix(">").upper()
        table.add_column(Text(heading), justify="right" if right else "left", overflow="fold")
    return table


def section(title: str, body: RenderableType, note: str = "") -> Group:
    """Put a title above, and a note below if there is one."""
    parts = [Text(title, style="bold"), body]
    return Group(*parts, *([Text(note, style="dim")] if note else []))


def number(value: float) -> str:
    """Write a tier's value: up to six significant digits, no trailing zeros."""
    return f"{value:.6g}"


def percent(fraction: float) -> str:
    """Write a gap: ``0 %``, ``0.13 %``; a positive gap never reads as none."""
    if fraction == 0:
        return "0 %"
    return f"{100 * fraction:.3g} %" if fraction >= 1e-6 else "<0.0001 %"


def gpus(milli: int) -> str:
    """Write thousandths of a GPU: ``8``, ``0.5``."""
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli / 1000:g}"
