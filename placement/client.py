"""A small typed client of the service: a problem in, checked answers out.

::

    from placement.client import solve

    answer = solve("127.0.0.1:50551", problem, RequestOptions(solver="cp-sat"), timeout_s=5)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

from placement.answer import Answer
from placement.faults import Fault, InvalidProblemError, UnsupportedProblemError
from placement.problem import Problem
from placement.service import codec
from placement.v1 import placement_service_pb2, placement_service_pb2_grpc

MOST_MESSAGE_BYTES = 256 * 2**20
"""Largest answer that is taken; a server sends what its own limit allows."""

_DETAIL_BYTES = 256 * 1024
_METADATA_BYTES = 2 * _DETAIL_BYTES


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """How to solve; the limits of the server hold beside them.

    Attributes
    ----------
    solver
        Name of a solver.
    time_limit_ms
        Time for solving, milliseconds; None: that of the problem's policy.
    seed
        Seed of what is random.
    workers
        Threads; None: as the server is set.
    reproducible
        Whether the same request, seed and version give the same answer, byte for byte.
    """

    solver: str = "auto"
    time_limit_ms: int | None = None
    seed: int = 0
    workers: int | None = None
    reproducible: bool = False


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """One answer of a stream.

    Attributes
    ----------
    answer
        A checked answer, better than the one before.
    final
        Whether it is the last.
    """

    answer: Answer
    final: bool


class ServiceError(Exception):
    """A call failed for another reason than its problem.

    Attributes
    ----------
    code
        gRPC status code, such as ``UNAVAILABLE``.
    reason
        Reason that the server gave (``docs/service.md``); None: the server was not reached, or
        says nothing.
    message
        For people.
    """

    def __init__(self, code: str, reason: str | None, message: str) -> None:
        kind = code if reason is None else f"{code} ({reason})"
        super().__init__(f"{kind}: {message}")
        self.code = code
        self.reason = reason
        self.message = message


def solve(
    target: str,
    problem: Problem,
    options: RequestOptions = RequestOptions(),
    timeout_s: float | None = None,
) -> Answer:
    """Have a server solve a problem.

    Parameters
    ----------
    target
        Address of the server, ``HOST:PORT``.
    problem
        The problem.
    options
        How to solve.
    timeout_s
        Deadline of the call from now on, seconds; the server answers before it. None: none, the
        time limit alone counts.

    Raises
    ------
    InvalidProblemError
        The server refuses the problem; :class:`UnsupportedProblemError` if it is well formed but
        asks for what the server does not honour.
    ServiceError
        The call failed otherwise.
    """
    request = placement_service_pb2.SolveRequest()
    _fill(request, problem, options)
    with _channel(target) as channel:
        stub = placement_service_pb2_grpc.PlacementServiceStub(channel)
        try:
            response = stub.Solve(request, timeout=timeout_s)
        except grpc.RpcError as error:
            raise _translated(error) from None
    return codec.answer_from_wire(response.answer)


def solve_stream(
    target: str,
    problem: Problem,
    options: RequestOptions = RequestOptions(),
    timeout_s: float | None = None,
) -> Iterator[StreamedAnswer]:
    """Have a server solve a problem; yield each better answer as it is found.

    Closing the iterator ends the solve. Parameters and exceptions are those of :func:`solve`.
    """
    request = placement_service_pb2.SolveStreamRequest()
    _fill(request, problem, options)
    with _channel(target) as channel:
        stub = placement_service_pb2_grpc.PlacementServiceStub(channel)
        call = stub.SolveStream(request, timeout=timeout_s)
        try:
            for response in call:
                yield StreamedAnswer(codec.answer_from_wire(response.answer), response.final)
        except grpc.RpcError as error:
            raise _translated(error) from None
        finally:
            call.cancel()


def _channel(target: str) -> grpc.Channel:
    return grpc.insecure_channel(
        target,
        options=[
            ("grpc.max_receive_message_length", MOST_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MOST_MESSAGE_BYTES),
            # Room for all field violations of a large problem.
            ("grpc.max_metadata_size", _METADATA_BYTES),
            ("grpc.absolute_max_metadata_size", _METADATA_BYTES),
        ],
    )


def _fill(
    request: placement_service_pb2.SolveRequest | placement_service_pb2.SolveStreamRequest,
    problem: Problem,
    options: RequestOptions,
) -> None:
    request.problem.CopyFrom(codec.problem_to_wire(problem))
    wire = request.options
    wire.solver = options.solver
    if options.time_limit_ms is not None:
        wire.time_limit_duration.FromMilliseconds(options.time_limit_ms)
    wire.seed = options.seed
    wire.worker_count = options.workers or 0
    wire.reproducible = options.reproducible
    wire.max_error_detail_bytes = _DETAIL_BYTES


def _translated(error: Any) -> Exception:
    """The exception of this library for one of gRPC, which is the failed call too."""
    info = error_details_pb2.ErrorInfo()
    violations = error_details_pb2.BadRequest()
    for detail in _status(error).details:
        # Unpack does nothing to a detail of another type.
        detail.Unpack(info)
        detail.Unpack(violations)
    message = error.details() or "no details"
    faults = [
        Fault(codec.document_place(violation.field), violation.description)
        for violation in violations.field_violations
    ]
    if faults and info.reason == "UNSUPPORTED_FIELD":
        return UnsupportedProblemError(faults)
    if faults:
        return InvalidProblemError(faults)
    return ServiceError(error.code().name, info.reason or None, message)


def _status(error: Any) -> status_pb2.Status:
    """Rich status of a failed call; without details if it has none."""
    try:
        return rpc_status.from_call(error) or status_pb2.Status()
    except ValueError:
        return status_pb2.Status()
