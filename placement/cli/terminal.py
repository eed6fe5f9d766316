"""Writing for people: to a terminal as wide as it is, elsewhere plain and of one width."""

import sys

from rich.console import Console, RenderableType

PLAIN_WIDTH = 100
"""Columns when standard output is not a terminal, whatever the terminal around it."""


def print_for_people(*parts: RenderableType) -> None:
    """Print to standard output; colours only on a terminal that wants them."""
    terminal = sys.stdout.isatty()
    console = Console(
        file=sys.stdout,
        width=None if terminal else PLAIN_WIDTH,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        with console.capture() as captured:
            console.print(part, soft_wrap=isinstance(part, str))
        encoding = sys.stdout.encoding or "utf-8"
        text = captured.get().encode(encoding, "backslashreplace").decode(encoding)
        # Trailing blanks of table cells are of no use in a file or a diff.
        sys.stdout.write("\n".join(line.rstrip() for line in text.split("\n")))
    sys.stdout.flush()
