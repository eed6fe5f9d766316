"""One request: children solve, the front checks, keeps the best answer and the deadline.

Whatever a child does (wrong answers, lies, silence, a crash, too much memory), the caller gets the
best answer that passed the check. If a child ends without one, or half of the time passes without
one, a second child solves with ``greedy``.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncGenerator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

from placement.faults import Fault
from placement.problem import Problem
from placement.service import codec
from placement.service.errors import CallError, Reason, invalid
from placement.service.fork_client import Child, ForkServer, ForkServerError
from placement.service.frames import FrameError, FrameKind
from placement.service.incumbent import CheckedAnswer, Incumbent, WrongAnswerError, examine
from placement.service.logs import event
from placement.service.solve_child import ChildOptions

FALLBACK_SOLVER = "greedy"

_LOG = logging.getLogger(__name__)
_HANDOVER_SHARE = 0.1
_LONGEST_HANDOVER_S = 2.0
"""Part of the time that is kept for sending and checking the last answer."""
_LEAST_GRACE_S = 1.0
_GRACE_SHARE = 0.1
"""Time beyond its limit after which a solver counts as hung, where the caller has it."""
_FALLBACK_SHARE = 0.5
"""Part of the time after which a solver without any answer gets company."""
_REPRODUCIBLE_FACTOR = 20
"""Wall-clock time per limit in reproducible mode; as in the engine."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Times of one request, seconds of ``time.monotonic()``.

    Attributes
    ----------
    hard_s
        The answer is returned by now, children are killed.
    solve_s
        Children should have sent their result by now.
    """

    hard_s: float
    solve_s: float

    @staticmethod
    def of(
        now_s: float, limit_s: float, call_end_s: float | None, *, reproducible: bool = False
    ) -> "Deadlines":
        """Deadlines of a request.

        Parameters
        ----------
        now_s
            The time now.
        limit_s
            Time that the request allows for solving.
        call_end_s
            When the answer must be on its way to the caller; None: no deadline.
        reproducible
            Whether the limit is not one of wall-clock time; that only guards against runaways.
        """
        if reproducible:
            limit_s *= _REPRODUCIBLE_FACTOR
        # Beyond its limit a solver gets a grace before it counts as hung.
        hard_s = now_s + limit_s + _LEAST_GRACE_S + _GRACE_SHARE * limit_s
        if call_end_s is not None:
            hard_s = min(hard_s, call_end_s)
        handover_s = min(_HANDOVER_SHARE * (hard_s - now_s), _LONGEST_HANDOVER_S)
        return Deadlines(hard_s=hard_s, solve_s=min(now_s + limit_s, hard_s - handover_s))


@dataclass(frozen=True, slots=True)
class SolveTask:
    """What is to be solved.

    Attributes
    ----------
    problem
        The problem, which answers are checked against.
    problem_bytes
        The same as a message, for children.
    options
        For children; their time limit is set by the deadlines.
    deadlines
        When to stop.
    most_bytes
        Largest answer.
    detail_bytes
        Most bytes of error detail.
    """

    problem: Problem
    problem_bytes: bytes
    options: ChildOptions
    deadlines: Deadlines
    most_bytes: int
    detail_bytes: int


class Supervisor:
    """Runs the solves of one request."""

    def __init__(
        self, task: SolveTask, forks: ForkServer, checkers: Executor, draining: asyncio.Event
    ) -> None:
        self._task = task
        self._forks = forks
        self._checkers = checkers
        self._draining = draining
        self._incumbent = Incumbent()
        self._changed = asyncio.Event()
        self._answered = asyncio.Event()
        self._failures: list[str] = []
        self._cut_short: list[str] = []
        self._refusal: CallError | None = None

    async def answers(self) -> AsyncGenerator[tuple[CheckedAnswer, bool], None]:
        """Yield better and better answers; the flag tells the last. Stale ones are left out.

        Closing the iterator, or cancelling, kills what runs.

        Raises
        ------
        CallError
            No answer passed the check, or the engine refuses the problem.
        """
        work = asyncio.create_task(self._work())
        sent: CheckedAnswer | None = None
        try:
            while True:
                change = asyncio.create_task(self._changed.wait())
                try:
                    await asyncio.wait({work, change}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    change.cancel()
                self._changed.clear()
                best = self._incumbent.best
                if work.done():
                    await work
                    if best is None:
                        raise self._failure()
                    yield best.with_notes(self._notes()), True
                    return
                if best is not None and best is not sent:
                    sent = best
                    yield best, False
        finally:
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work

    def _notes(self) -> list[str]:
        """What went otherwise than asked for."""
        return [*self._failures, *self._cut_short]

    def _failure(self) -> CallError:
        if self._refusal is not None:
            return self._refusal
        if self._draining.is_set():
            return CallError(Reason.SHUTTING_DOWN, "the server shuts down")
        if time.monotonic() >= self._task.deadlines.hard_s:
            reasons = "".join(f"; {failure}" for failure in self._failures)
            return CallError(Reason.NO_ANSWER_IN_TIME, f"no checked answer in time{reasons}")
        return CallError(Reason.SOLVER_FAILED, "; ".join(self._failures) or "the solver failed")

    async def _work(self) -> None:
        """Solve until the result is there, or time is up, or the server shuts down."""
        solve = asyncio.create_task(self._solve())
        drain = asyncio.create_task(self._answered_while_draining())
        try:
            await asyncio.wait(
                {solve, drain},
                timeout=max(0.0, self._task.deadlines.hard_s - time.monotonic()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if solve.done():
                solve.result()
            elif drain.done():
                self._cut_short.append("cut short: the server shuts down")
            else:
                self._cut_short.append("cut short: the solver did not stop in time")
        finally:
            for one in (solve, drain):
                one.cancel()
            await asyncio.gather(solve, drain, return_exceptions=True)

    async def _answered_while_draining(self) -> None:
        """Return as soon as the server shuts down and there is an answer."""
        await self._draining.wait()
        await self._answered.wait()

    async def _solve(self) -> None:
        """The solver asked for; greedy beside it if it is late, after it if it fails."""
        patience_s = _FALLBACK_SHARE * (self._task.deadlines.solve_s - time.monotonic())
        wanted = asyncio.create_task(self._attempt(self._task.options.solver))
        hurry = asyncio.create_task(self._draining.wait())
        running: list[asyncio.Task[Any]] = [wanted, hurry]
        try:
            await asyncio.wait(
                {wanted, hurry}, timeout=max(0.0, patience_s), return_when=asyncio.FIRST_COMPLETED
            )
            if not self._answered.is_set() and self._refusal is None:
                fallback = asyncio.create_task(self._attempt(FALLBACK_SOLVER))
                running.append(fallback)
                await asyncio.wait({wanted, fallback}, return_when=asyncio.FIRST_COMPLETED)
                if not self._answered.is_set():
                    await asyncio.wait({wanted, fallback})
            await wanted
        finally:
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _attempt(self, solver: str) -> None:
        """Solve in one child; its answers are checked while it goes on."""
        until_s = self._task.deadlines.solve_s
        options = replace(self._task.options, solver=solver, until_s=until_s)
        try:
            child = await self._forks.fork()
        except ForkServerError as error:
            self._failures.append(f"{solver}: {error}")
            return
        unchecked = _Latest()
        checking = asyncio.create_task(self._check(unchecked))
        problem, most = self._task.problem_bytes, self._task.most_bytes
        ended = False
        try:
            async for kind, payload in child.solve(options, problem, most_bytes=most):
                if kind is FrameKind.ERROR:
                    self._take_error(solver, payload)
                else:
                    unchecked.put(payload, final=kind is FrameKind.FINAL)
                ended = kind is not FrameKind.ANSWER
                if ended:
                    break
        except FrameError as error:
            self._failures.append(f"{solver}: {error}")
            ended = True
        except asyncio.CancelledError:
            checking.cancel()
            raise
        finally:
            child.kill()
            unchecked.close()
        await checking
        if not ended:
            self._failures.append(f"{solver}: {await _obituary(child)}")

    async def _check(self, unchecked: "_Latest") -> None:
        """Check answers as they come; those that newer ones overtook are left out."""
        loop = asyncio.get_running_loop()
        checked: bytes | None = None
        while (taken := await unchecked.get()) is not None:
            data, final = taken
            if data == checked:
                continue
            checked = data
            try:
                found = await loop.run_in_executor(
                    self._checkers, _examine, self._task.problem, data
                )
                if self._incumbent.offer(found, final=final):
                    self._changed.set()
                    self._answered.set()
            except WrongAnswerError as error:
                self._failures.append(f"a wrong answer was dropped: {error}")
                event(_LOG, logging.ERROR, "wrong answer dropped", rules=error.rules)

    def _take_error(self, solver: str, payload: bytes) -> None:
        try:
            error = json.loads(payload)
            kind, message = str(error["kind"]), str(error["message"])
            faults = [Fault(str(one["path"]), str(one["message"])) for one in error["faults"]]
        except (ValueError, KeyError, TypeError):
            self._failures.append(f"{solver}: sent an error that cannot be read")
            return
        if kind in ("invalid", "unsupported") and faults:
            self._refusal = invalid(
                codec.wire_faults(faults),
                unsupported=kind == "unsupported",
                detail_bytes=self._task.detail_bytes,
            )
        else:
            self._failures.append(f"{solver}: {message}")


class _Latest:
    """A place for one answer: a newer one takes it, so that a flood fills no memory."""

    def __init__(self) -> None:
        self._data: tuple[bytes, bool] | None = None
        self._closed = False
        self._changed = asyncio.Event()

    def put(self, data: bytes, *, final: bool) -> None:
        """Leave an answer, in place of one that was not taken."""
        self._data = data, final
        self._changed.set()

    def close(self) -> None:
        """Nothing more comes."""
        self._closed = True
        self._changed.set()

    async def get(self) -> tuple[bytes, bool] | None:
        """The latest answer that was not taken, and whether it is the result; None: no more."""
        while self._data is None and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        data, self._data = self._data, None
        return data


def _examine(problem: Problem, data: bytes) -> CheckedAnswer:
    """Check one answer.

    Raises
    ------
    WrongAnswerError
        It is wrong, or it brings the check to fall.
    """
    try:
        return examine(problem, codec.answer_from_bytes(data))
    except WrongAnswerError:
        raise
    except codec.MalformedMessageError as error:
        raise WrongAnswerError(str(error), ["malformed"]) from None
    except Exception as error:
        _LOG.exception("check failed")
        raise WrongAnswerError(f"the check failed ({type(error).__name__})", ["check"]) from error


async def _obituary(child: Child) -> str:
    """How a child ended that sent no result."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await child.exited.wait()
    code = child.exit_code
    if code is None:
        return "the solver process was lost"
    if code < 0:
        return f"the solver process was ended by signal {-code}"
    return f"the solver process ended with exit status {code}"
