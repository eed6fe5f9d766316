"""Solving on a server, with the same progress and the same Ctrl-C as at home."""

import queue
import threading
import time
from collections.abc import Callable

from placement.answer import Answer
from placement.cli.failures import CommandError
from placement.cli.watch import OnAnswer
from placement.client import RequestOptions, ServiceError, StreamedAnswer, solve_stream
from placement.engine import SolveOptions
from placement.problem import Problem

RETRY_S = 0.25

POLL_S = 0.1


def solve_there(
    server: str,
    problem: Problem,
    options: SolveOptions,
    *,
    patience_s: float,
    on_answer: OnAnswer,
    stopped: Callable[[], bool],
) -> Answer:
    """Have a server solve the problem; see :func:`placement.engine.solve`.

    Parameters
    ----------
    server
        ``HOST:PORT``.
    patience_s
        How long a server that cannot be reached is tried, seconds: it may be starting.

    Raises
    ------
    InvalidProblemError
        The server refuses the problem.
    CommandError
        It cannot be reached, or the call failed.
    """
    arrived: queue.SimpleQueue[StreamedAnswer | Exception | None] = queue.SimpleQueue()
    reader = threading.Thread(
        target=_read,
        args=(arrived, server, problem, options, patience_s),
        name="stream",
        daemon=True,
    )
    reader.start()
    best: Answer | None = None
    while best is None or not stopped():
        try:
            item = arrived.get(timeout=POLL_S)
        except queue.Empty:
            continue
        if isinstance(item, ServiceError):
            raise CommandError(f"server {server}: {item}")
        if isinstance(item, Exception):
            raise item
        if item is None:
            break
        best = item.answer
        on_answer(best)
    if best is None:
        raise CommandError(f"server {server}: the stream ended without an answer")
    return best


def _read(
    arrived: "queue.SimpleQueue[StreamedAnswer | Exception | None]",
    server: str,
    problem: Problem,
    options: SolveOptions,
    patience_s: float,
) -> None:
    """Put every answer into the queue, then the failure, or None at the end."""
    request = RequestOptions(
        solver=options.solver,
        time_limit_ms=options.time_limit_ms,
        seed=options.seed,
        workers=options.workers,
        reproducible=options.reproducible,
    )
    give_up_s = time.monotonic() + patience_s
    try:
        while True:
            heard = False
            try:
                for answer in solve_stream(server, problem, request):
                    heard = True
                    arrived.put(answer)
                break
            except ServiceError as error:
                # Without a reason no server has spoken: nobody listens there, or not yet.
                unreached = error.code == "UNAVAILABLE" and error.reason is None
                if heard or not unreached or time.monotonic() >= give_up_s:
                    raise
            time.sleep(RETRY_S)
        arrived.put(None)
    except Exception as error:
        arrived.put(error)
