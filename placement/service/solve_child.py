"""One solve in its own process: reads the problem, sends each better answer, then the result."""

import contextlib
import json
import logging
import math
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol

from placement.answer import Answer
from placement.faults import InvalidProblemError, UnsupportedProblemError
from placement.problem import Problem
from placement.service import codec
from placement.service.frames import FrameKind, receive_frame, send_frame

_LOG = logging.getLogger(__name__)

OnAnswer = Callable[[Answer], None]


@dataclass(frozen=True, slots=True)
class ChildOptions:
    """What the front tells a child beside the problem.

    Attributes
    ----------
    solver, seed, workers, reproducible
        As in :class:`placement.engine.SolveOptions`.
    time_limit_ms
        Time for solving that request, policy and server allow, milliseconds.
    until_s
        The result must be sent by now, ``time.monotonic()``, which processes share.
    now_unix_s
        The instant of a problem that names none, so that front and child agree.
    """

    solver: str
    time_limit_ms: int
    seed: int
    workers: int
    reproducible: bool
    now_unix_s: int
    until_s: float = math.inf

    @property
    def limit_ms(self) -> int:
        """Time for solving from now on, milliseconds.

        In reproducible mode the limit is not one of time and does not depend on the clock.
        """
        if self.reproducible or self.until_s == math.inf:
            return self.time_limit_ms
        left_ms = int(1000 * (self.until_s - time.monotonic()))
        return max(1, min(self.time_limit_ms, left_ms))

    def to_bytes(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_bytes(data: bytes) -> "ChildOptions":
        """From JSON."""
        return ChildOptions(**json.loads(data))


class Entry(Protocol):
    """What a child runs."""

    def __call__(self, problem: Problem, options: ChildOptions, on_answer: OnAnswer) -> Answer:
        """Return the result; tell of each better answer before it."""
        ...


def run_child(connection: socket.socket, entry: Entry) -> int:
    """Serve one solve over the socket.

    Returns
    -------
    int
        Exit status of the process: 0 a result was sent, 1 an error was sent.
    """
    try:
        options = ChildOptions.from_bytes(_expect(connection, FrameKind.OPTIONS))
        data = _expect(connection, FrameKind.PROBLEM)
        problem = codec.problem_from_bytes(data, now_unix_s=options.now_unix_s)

        def tell(answer: Answer) -> None:
            send_frame(connection, FrameKind.ANSWER, codec.answer_to_bytes(answer))

        answer = entry(problem, options, tell)
        send_frame(connection, FrameKind.FINAL, codec.answer_to_bytes(answer))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return 1
    except MemoryError:
        return _fail(connection, "memory", "out of memory")
    except InvalidProblemError as error:
        kind = "unsupported" if isinstance(error, UnsupportedProblemError) else "invalid"
        faults = [{"path": fault.path, "message": fault.message} for fault in error.faults]
        return _fail(connection, kind, str(error), faults=faults)
    except Exception as error:
        # The text stays here: it may say more than a caller should know.
        _LOG.exception("solve failed")
        return _fail(connection, "error", f"failed with {type(error).__name__}")
    return 0


def _expect(connection: socket.socket, wanted: FrameKind) -> bytes:
    kind, payload = receive_frame(connection)
    if kind is not wanted:
        raise EOFError(f"expected {wanted.name}, got {kind.name}")
    return payload


def _fail(
    connection: socket.socket, kind: str, message: str, faults: list[dict[str, str]] | None = None
) -> int:
    error = {"kind": kind, "message": message, "faults": faults or []}
    with contextlib.suppress(OSError):
        send_frame(connection, FrameKind.ERROR, json.dumps(error).encode())
    return 1
