"""A request from bytes: parsed, validated, with the limits of the server applied."""

import time
from dataclasses import dataclass

from placement.faults import Fault, InvalidProblemError, UnsupportedProblemError
from placement.problem import Problem
from placement.service import codec
from placement.service.config import ServerConfig
from placement.service.errors import (
    DETAIL_BYTES,
    MOST_DETAIL_BYTES,
    CallError,
    Reason,
    invalid,
)
from placement.service.solve_child import ChildOptions
from placement.support import unsupported_faults
from placement.v1 import placement_service_pb2

Request = placement_service_pb2.SolveRequest | placement_service_pb2.SolveStreamRequest

DEFAULT_SOLVER = "auto"
_NANOS = 10**9
_NANOS_PER_MS = 10**6


@dataclass(frozen=True, slots=True)
class ValidRequest:
    """A request that can be solved.

    Attributes
    ----------
    problem
        The problem.
    problem_bytes
        The same as ``placement.v1.Problem``.
    options
        For the child; the time limit is that of request, policy and server, not of the call.
    detail_bytes
        Most bytes of error detail that the caller takes.
    """

    problem: Problem
    problem_bytes: bytes
    options: ChildOptions
    detail_bytes: int


def read_request(
    kind: type[Request], data: bytes, config: ServerConfig, solver_names: tuple[str, ...]
) -> ValidRequest:
    """Read a request.

    Raises
    ------
    CallError
        It is no request, or it is invalid; all faults are named.
    """
    try:
        request = codec.parse(kind, data)
    except codec.MalformedMessageError as error:
        raise CallError(Reason.MALFORMED_REQUEST, str(error)) from None
    options = request.options
    # Those in the problem are found with its other faults.
    faults = [
        fault for fault in codec.unknown_fields(request, "") if not fault.path.startswith("problem")
    ]
    faults += _option_faults(options, solver_names)
    detail_bytes = min(options.max_error_detail_bytes, MOST_DETAIL_BYTES)
    if detail_bytes <= 0:
        detail_bytes = DETAIL_BYTES
    now_unix_s = int(time.time())
    try:
        if not request.HasField("problem"):
            raise InvalidProblemError([Fault("problem", "required")])
        problem = codec.problem_from_wire(request.problem, now_unix_s=now_unix_s)
    except InvalidProblemError as error:
        unsupported = isinstance(error, UnsupportedProblemError) and not faults
        everything = [*faults, *error.faults]
        raise invalid(everything, unsupported=unsupported, detail_bytes=detail_bytes) from None
    if faults:
        raise invalid(faults, detail_bytes=detail_bytes)
    refused = codec.wire_faults(unsupported_faults(problem))
    if refused:
        raise invalid(refused, unsupported=True, detail_bytes=detail_bytes)
    limit_ms = problem.policy.time_limit_ms
    if options.HasField("time_limit_duration"):
        limit = options.time_limit_duration
        limit_ms = (limit.seconds * _NANOS + limit.nanos) // _NANOS_PER_MS
    workers = options.worker_count or config.workers
    return ValidRequest(
        problem=problem,
        problem_bytes=codec.problem_to_bytes(request.problem),
        options=ChildOptions(
            solver=options.solver or DEFAULT_SOLVER,
            time_limit_ms=min(limit_ms, config.time_limit_ms),
            seed=options.seed,
            workers=min(workers, config.workers),
            reproducible=options.reproducible,
            now_unix_s=now_unix_s,
        ),
        detail_bytes=detail_bytes,
    )


def _option_faults(
    options: placement_service_pb2.SolveOptions, solver_names: tuple[str, ...]
) -> list[Fault]:
    faults: list[Fault] = []
    if options.solver and options.solver not in solver_names:
        faults.append(Fault("options.solver", f"unknown; one of {', '.join(solver_names)}"))
    if options.HasField("time_limit_duration"):
        limit = options.time_limit_duration
        nanos = limit.seconds * _NANOS + limit.nanos
        if nanos <= 0:
            faults.append(Fault("options.time_limit_duration", "not positive"))
        elif nanos % _NANOS_PER_MS or not 0 <= limit.nanos < _NANOS:
            faults.append(Fault("options.time_limit_duration", "not whole milliseconds"))
    if options.seed < 0 or options.seed > 2**31 - 1:
        faults.append(Fault("options.seed", "not between 0 and 2147483647"))
    if options.worker_count < 0:
        faults.append(Fault("options.worker_count", "negative"))
    if not 0 <= options.max_error_detail_bytes <= MOST_DETAIL_BYTES:
        faults.append(
            Fault("options.max_error_detail_bytes", f"not between 0 and {MOST_DETAIL_BYTES}")
        )
    return faults
