"""Watching a solve from the main thread: progress, and Ctrl-C that keeps the best so far."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from placement.answer import Action, Answer
from placement.render.layout import number, percent
from placement.render.tiers import tier_name

OnAnswer = Callable[[Answer], None]
"""Told of each better answer."""

SolveNow = Callable[[OnAnswer, Callable[[], bool]], Answer]
"""Solves; told whom to tell, and whom to ask whether to stop."""

QUIET_S = 1.0
"""Progress is shown for what takes longer than this, seconds."""

POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Watched:
    """The answer, and whether Ctrl-C ended the solve before its time."""

    answer: Answer
    interrupted: bool


@dataclass(slots=True)
class _Solve:
    """What the solving thread and the main thread share."""

    done: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)
    latest: Answer | None = None
    answer: Answer | None = None
    error: BaseException | None = None


def watch(solve_now: SolveNow, what: str) -> Watched:
    """Solve in a thread; show progress on a terminal; the first Ctrl-C or SIGTERM asks to stop.

    The solve runs beside the main thread because Python handles signals in the main thread only,
    which must not sit in a solver's native code.

    Parameters
    ----------
    solve_now
        Called once, in the other thread; whatever it raises is raised here.
    what
        What is being done, for the progress line.

    Raises
    ------
    KeyboardInterrupt
        On the second Ctrl-C.
    """
    shared = _Solve()

    def told(answer: Answer) -> None:
        shared.latest = answer

    def run() -> None:
        try:
            shared.answer = solve_now(told, shared.stop.is_set)
        except BaseException as error:
            shared.error = error
        finally:
            shared.done.set()

    thread = threading.Thread(target=run, name="solve", daemon=True)
    with _stopping_signals(shared.stop):
        started_s = time.monotonic()
        thread.start()
        _wait_quietly(shared, started_s + QUIET_S)
        if not shared.done.is_set() and sys.stderr.isatty():
            _show_progress(shared, what, started_s)
        while not shared.done.wait(POLL_S):
            pass
    thread.join()
    if shared.error is not None:
        raise shared.error
    assert shared.answer is not None
    return Watched(answer=shared.answer, interrupted=shared.stop.is_set())


def _wait_quietly(shared: _Solve, until_s: float) -> None:
    # Short waits: a signal is handled between them.
    while not shared.done.wait(min(POLL_S, max(0.0, until_s - time.monotonic()))):
        if time.monotonic() >= until_s:
            return


def _show_progress(shared: _Solve, what: str, started_s: float) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, markup=False)
    with console.status(Text(what)) as status:
        while not shared.done.wait(POLL_S):
            elapsed_s = time.monotonic() - started_s
            line = progress_line(what, elapsed_s, shared.latest, shared.stop.is_set())
            status.update(Text(line, no_wrap=True, overflow="ellipsis"))


def progress_line(what: str, elapsed_s: float, latest: Answer | None, stopping: bool) -> str:
    """Say how far a solve is: the first tier that is not yet proven optimal, else the last."""
    parts = [f"{elapsed_s:.0f} s", "stopping" if stopping else what]
    if latest is not None:
        started = sum(decision.action is Action.START for decision in latest.decisions)
        parts.append(f"{started} of {len(latest.decisions)} jobs start")
        open_tier = next((tier for tier in latest.objective if tier.gap > 0), None)
        if open_tier is None:
            parts.append("all tiers proven" if latest.objective else "")
        else:
            parts.append(
                f"{tier_name(open_tier)}: {number(open_tier.value)}, bound "
                f"{number(open_tier.bound)}, gap {percent(open_tier.gap)}"
            )
    return "; ".join(part for part in parts if part)


@contextmanager
def _stopping_signals(stop: threading.Event) -> Iterator[None]:
    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    previous = {
        which: signal.signal(which, ask_to_stop) for which in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for which, handler in previous.items():
            signal.signal(which, handler)
