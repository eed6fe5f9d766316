"""Results as JSON lines, as a table beside the published figures, and placements as CSV."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import TextIO

from benchmarks.openb.outcome import Outcome
from benchmarks.openb.trace import Published

PLACEMENT_COLUMNS = ("seed", "arrival", "pod", "node", "gpus")


def json_line(outcome: Outcome) -> str:
    """One JSON object for one run."""
    row = {
        "trace": outcome.trace,
        "seed": outcome.seed,
        "mode": outcome.mode,
        "policy": outcome.policy,
        "allocation": outcome.allocation,
        "ceiling": outcome.ceiling,
        "seconds": outcome.seconds,
        "allocation_at_130": outcome.allocation_at_130,
    }
    if outcome.peak_rss_mib is not None:
        row["peak_rss_mib"] = outcome.peak_rss_mib
    return json.dumps(row)


def table(outcomes: Sequence[Outcome], published: Mapping[tuple[str, str], Published]) -> str:
    """Means over the seeds beside the published figures.

    Parameters
    ----------
    outcomes
        All runs.
    published
        By trace and policy; may lack some.

    Returns
    -------
    str
        One line per trace, mode and policy, in the order of their first runs; percent of all GPUs.
    """
    groups: dict[tuple[str, str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.trace, outcome.mode, outcome.policy), []).append(outcome)
    head = (
        "trace", "mode", "policy", "runs",
        "@100", "published", "diff", "ceiling",
        "@130", "published", "diff", "seconds",
    )  # fmt: skip
    lines = [head]
    for (trace, mode, policy), runs in groups.items():
        # The study's policies are online; what another mode reaches is another experiment.
        figures = published.get((trace, policy)) if mode == "online" else None
        mean = _mean(run.allocation for run in runs)
        mean_130 = _mean(run.allocation_at_130 for run in runs)
        lines.append(
            (
                trace,
                mode,
                policy,
                str(len(runs)),
                *_compared(mean, figures.allocation if figures else None),
                _percent(_mean(run.ceiling for run in runs)),
                *_compared(mean_130, figures.allocation_at_130 if figures else None),
                f"{fmean(run.seconds for run in runs):.2f}",
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 3 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def write_placements(file: TextIO, outcomes: Iterable[Outcome]) -> None:
    """Write every decision as CSV: `PLACEMENT_COLUMNS`.

    GPU indices are separated by spaces; an empty node says that the pod was dropped.

    Parameters
    ----------
    file
        Opened with ``newline=""``.
    outcomes
        Runs that kept their decisions.
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(PLACEMENT_COLUMNS)
    for outcome in outcomes:
        for decision in outcome.decisions:
            gpus = " ".join(map(str, decision.gpus))
            writer.writerow((outcome.seed, decision.arrival, decision.pod, decision.node, gpus))


def _mean(values: Iterable[float | None]) -> float | None:
    """None if any is missing: a mean over some of the seeds would compare unlike things."""
    known = list(values)
    present = [value for value in known if value is not None]
    return fmean(present) if present and len(present) == len(known) else None


def _difference(value: float) -> str:
    """Adding 0 turns -0.0 into 0.0."""
    return f"{round(value, 2) + 0.0:+.2f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _compared(value: float | None, published: float | None) -> tuple[str, str, str]:
    diff = "-" if value is None or published is None else _difference(value - published)
    return _percent(value), _percent(published), diff
