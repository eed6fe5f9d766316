"""The methods of ``placement.v1.PlacementService``: bytes in, bytes out.

Requests are parsed here and not by gRPC, off the event loop, so that garbage is answered like any
other bad input.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar, TypeVarTuple, cast

import grpc
from grpc_status import rpc_status

from placement.service import codec
from placement.service.config import ServerConfig
from placement.service.errors import CallError, Reason
from placement.service.fork_client import ForkServer
from placement.service.incumbent import CheckedAnswer
from placement.service.logs import event
from placement.service.requests import Request, read_request
from placement.service.supervise import Deadlines, SolveTask, Supervisor
from placement.v1 import placement_service_pb2

_LOG = logging.getLogger(__name__)

_SERVICE = placement_service_pb2.DESCRIPTOR.services_by_name["PlacementService"]
SERVICE_NAME: str = _SERVICE.full_name

_REPLY_SHARE = 0.05
_LEAST_REPLY_S = 0.03
_MOST_REPLY_S = 1.0
"""Part of the caller's time that is kept for the way back."""

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")

Context = grpc.aio.ServicerContext[bytes, bytes]


class PlacementServicer:
    """Serves the calls.

    Attributes
    ----------
    draining
        Set when the server shuts down: calls answer with what they have, new ones are refused.
    idle
        Set while no call is served.
    """

    def __init__(self, config: ServerConfig, forks: ForkServer, executor: Executor) -> None:
        self.draining = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()
        self._config = config
        self._forks = forks
        self._executor = executor
        self._slots = asyncio.Semaphore(config.concurrent_solves)
        self._calls = 0

    def handler(self) -> grpc.GenericRpcHandler:
        """The methods, by name, on bytes."""
        return grpc.method_handlers_generic_handler(
            SERVICE_NAME,
            {
                "Solve": grpc.unary_unary_rpc_method_handler(self.solve),
                "SolveStream": grpc.unary_stream_rpc_method_handler(self.solve_stream),
            },
        )

    async def solve(self, data: bytes, context: Context) -> bytes:
        """Serve ``Solve``."""
        response = b""
        async with self._call("Solve", context):
            kind = placement_service_pb2.SolveRequest
            async with aclosing(self._answers(kind, data, context)) as answers:
                async for checked, last in answers:
                    if last:
                        response = await self._run(_solve_response, checked)
            self._check_size(response)
        return response

    async def solve_stream(self, data: bytes, context: Context) -> AsyncIterator[bytes]:
        """Serve ``SolveStream``."""
        async with self._call("SolveStream", context):
            kind = placement_service_pb2.SolveStreamRequest
            async with aclosing(self._answers(kind, data, context)) as answers:
                async for checked, last in answers:
                    response = await self._run(_stream_response, checked, last)
                    self._check_size(response)
                    yield response

    @asynccontextmanager
    async def _call(self, method: str, context: Context) -> AsyncIterator[None]:
        """Count and log a call, and end it with a status if it fails."""
        started_s = time.monotonic()
        self._calls += 1
        self.idle.clear()
        outcome = "OK"
        try:
            yield
        except CallError as error:
            outcome = error.reason.value
            await context.abort_with_status(rpc_status.to_status(error.to_status()))
        except (asyncio.CancelledError, GeneratorExit):
            outcome = "CANCELLED"
            raise
        except Exception:
            outcome = Reason.INTERNAL.value
            _LOG.exception("call failed")
            failure = CallError(Reason.INTERNAL, "the server failed; see its log")
            await context.abort_with_status(rpc_status.to_status(failure.to_status()))
        finally:
            self._calls -= 1
            if not self._calls:
                self.idle.set()
            taken_s = round(time.monotonic() - started_s, 3)
            event(_LOG, logging.INFO, "call", method=method, outcome=outcome, seconds=taken_s)

    async def _answers(
        self, kind: type[Request], data: bytes, context: Context
    ) -> AsyncGenerator[tuple[CheckedAnswer, bool], None]:
        """Yield better and better answers to a request; the flag tells the last."""
        call_end_s = _call_end_s(context)
        if self.draining.is_set():
            raise CallError(Reason.SHUTTING_DOWN, "the server shuts down")
        try:
            async with asyncio.timeout_at(call_end_s):
                await self._slots.acquire()
        except TimeoutError:
            message = "the deadline passed in the queue of the server"
            raise CallError(Reason.NO_ANSWER_IN_TIME, message) from None
        try:
            names = self._forks.solver_names
            request = await self._run(read_request, kind, data, self._config, names)
            options = request.options
            deadlines = Deadlines.of(
                time.monotonic(),
                options.time_limit_ms / 1000,
                call_end_s,
                reproducible=options.reproducible,
            )
            task = SolveTask(
                problem=request.problem,
                problem_bytes=request.problem_bytes,
                options=options,
                deadlines=deadlines,
                most_bytes=self._config.max_message_bytes,
                detail_bytes=request.detail_bytes,
            )
            supervisor = Supervisor(task, self._forks, self._executor, self.draining)
            async with aclosing(supervisor.answers()) as answers:
                async for answer in answers:
                    yield answer
        finally:
            self._slots.release()

    async def _run(self, function: Callable[[*_Arguments], _T], *arguments: *_Arguments) -> _T:
        """Run off the event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, function, *arguments)

    def _check_size(self, response: bytes) -> None:
        if len(response) > self._config.max_message_bytes:
            raise CallError(
                Reason.ANSWER_TOO_LARGE,
                f"the answer has {len(response)} bytes, the limit is "
                f"{self._config.max_message_bytes}",
            )


def _call_end_s(context: Context) -> float | None:
    """When the answer must be on its way, ``time.monotonic()``; None: no deadline."""
    # The stubs know no call without a deadline.
    remaining_s = cast("float | None", context.time_remaining())
    if remaining_s is None:
        return None
    reply_s = min(max(_REPLY_SHARE * remaining_s, _LEAST_REPLY_S), _MOST_REPLY_S)
    return time.monotonic() + remaining_s - reply_s


def _solve_response(checked: CheckedAnswer) -> bytes:
    answer = codec.answer_to_wire(checked.answer, checked.values)
    return placement_service_pb2.SolveResponse(answer=answer).SerializeToString(deterministic=True)


def _stream_response(checked: CheckedAnswer, final: bool) -> bytes:
    answer = codec.answer_to_wire(checked.answer, checked.values)
    response = placement_service_pb2.SolveStreamResponse(answer=answer, final=final)
    return response.SerializeToString(deterministic=True)
