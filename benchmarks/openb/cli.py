"""Arguments of ``python -m benchmarks openb``."""

import argparse
import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, cast

from benchmarks.openb import online
from benchmarks.openb.outcome import Outcome
from benchmarks.openb.policies import BASELINES, POLICIES
from benchmarks.openb.report import json_line, table, write_placements
from benchmarks.openb.trace import Published, Trace, read_published, read_trace

MODES = ("online", "batch", "offline")
"""Each but ``online`` is a module ``benchmarks.openb.<mode>`` with a `RunMode` called ``run``."""

PUBLISHED_SEEDS = tuple(range(42, 52))
"""Of the arrivals behind the published figures."""


class RunMode(Protocol):
    """What the module of a mode other than ``online`` offers as ``run``."""

    def __call__(
        self,
        trace: Trace,
        *,
        time_limit_s: float,
        seeds: Sequence[int],
        policies: Sequence[str],
        arrivals_path: Path | None,
        jobs: int,
        ceilings: bool,
        keep_decisions: bool,
    ) -> Iterable[Outcome]:
        """Run and yield results.

        Parameters
        ----------
        trace
            The trace.
        time_limit_s
            Seconds for one solve.
        seeds
            Recorded arrival orders, or seeds of a solver; empty: the mode's own choice.
        policies
            Names as given; empty: the mode's own choice.
        arrivals_path
            Recorded arrival orders; None: not given.
        jobs
            Processes; 0: one per core.
        ceilings
            Whether to compute `Outcome.ceiling`.
        keep_decisions
            Whether results list every placement.
        """


def main(argv: Sequence[str]) -> int:
    """Run the benchmark.

    Parameters
    ----------
    argv
        Arguments.

    Returns
    -------
    int
        0; 2 if something asked for is not there.
    """
    parser = _parser()
    args = parser.parse_args(argv)
    try:
        return _run(args)
    except (ValueError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2


def _run(args: argparse.Namespace) -> int:
    published = _published(args)
    outcomes: list[Outcome] = []
    for outcome in _outcomes(args):
        outcomes.append(outcome)
        if args.json:
            print(json_line(outcome), flush=True)
    if not args.json:
        print(table(outcomes, published))
    if args.placements:
        with args.placements.open("w", newline="", encoding="utf-8") as file:
            write_placements(file, outcomes)
    return 0


def _outcomes(args: argparse.Namespace) -> Iterator[Outcome]:
    policies: tuple[str, ...] = args.policy
    keep_decisions = args.placements is not None
    if keep_decisions and (len(policies) > 1 or len(args.trace) > 1):
        raise ValueError("--placements takes one trace and one policy: its rows name neither")
    for trace_name in args.trace:
        if args.mode == "online":
            if args.arrivals is None:
                raise ValueError("--mode online needs --arrivals")
            yield from online.run(
                args.data,
                trace_name,
                args.arrivals,
                seeds=args.seeds or PUBLISHED_SEEDS,
                policies=policies or BASELINES,
                jobs=args.jobs,
                ceilings=args.ceiling,
                keep_decisions=keep_decisions,
            )
        else:
            yield from _run_mode(args.mode)(
                read_trace(args.data, trace_name),
                time_limit_s=args.time_limit,
                seeds=args.seeds,
                policies=policies,
                arrivals_path=args.arrivals,
                jobs=args.jobs,
                ceilings=args.ceiling,
                keep_decisions=keep_decisions,
            )


def _run_mode(mode: str) -> RunMode:
    module_name = f"benchmarks.openb.{mode}"
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        raise ValueError(f"mode {mode!r}: there is no module {module_name}") from None
    return cast("RunMode", module.run)


def _published(args: argparse.Namespace) -> dict[tuple[str, str], Published]:
    """The figures: the file named, or the usual one beside the arrivals if it is there."""
    if args.published is not None:
        return dict(read_published(args.published))
    if args.arrivals is not None:
        beside: Path = args.arrivals.with_name("published_allocation.csv")
        if beside.exists():
            return dict(read_published(beside))
    return {}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks openb",
        description="Replay Alibaba's GPU cluster trace under scheduling policies.",
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder with the trace's CSV files")
    add(
        "--trace",
        type=_names,
        default=("default",),
        metavar="NAME[,NAME...]",
        help="openb_pod_list_NAME.csv (default: default)",
    )
    add("--arrivals", type=Path, metavar="FILE", help=".npz with the recorded arrival orders")
    add(
        "--seeds",
        type=_seeds,
        default=(),
        metavar="A-B",
        help="recorded orders to replay, as in 42-51 or 42,45 (default: 42-51); in mode offline "
        "random seeds of the solver (default: 0)",
    )
    add(
        "--policy",
        type=_policies,
        default=(),
        metavar="NAME[,NAME...]",
        help=f"{', '.join(POLICIES)}; all: {', '.join(BASELINES)} (default: all in mode online, "
        "the mode's own otherwise)",
    )
    add(
        "--published",
        type=Path,
        metavar="FILE",
        help="CSV of published figures (default: published_allocation.csv beside the arrivals)",
    )
    add("--mode", choices=MODES, default="online", help="default: online")
    add(
        "--time-limit",
        type=float,
        default=55.0,
        metavar="S",
        help="seconds per solve, in modes that solve (default: 55)",
    )
    add("--jobs", type=int, default=0, metavar="N", help="processes (default: one per core)")
    add(
        "--ceiling",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="compute a proven upper bound on the allocation of each run (default: yes)",
    )
    add("--json", action="store_true", help="one JSON object per run instead of the table")
    add(
        "--placements",
        type=Path,
        metavar="FILE",
        help="write seed,arrival,pod,node,gpus; an empty node means dropped",
    )
    return parser


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    if not names:
        raise argparse.ArgumentTypeError("no name given")
    return names


def _policies(text: str) -> tuple[str, ...]:
    names = tuple(
        policy for name in _names(text) for policy in (BASELINES if name == "all" else (name,))
    )
    for name in names:
        if name not in POLICIES:
            known = ", ".join(POLICIES)
            raise argparse.ArgumentTypeError(f"no policy {name!r}; there are: {known}")
    return tuple(dict.fromkeys(names))


def _seeds(text: str) -> tuple[int, ...]:
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not match:
            raise argparse.ArgumentTypeError(f"{part!r} is neither a seed nor a range A-B")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise argparse.ArgumentTypeError(f"range {part!r} is empty")
        seeds.extend(range(first, last + 1))
    return tuple(dict.fromkeys(seeds))
