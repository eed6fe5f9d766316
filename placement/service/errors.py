"""Errors as clients see them: a gRPC status with google.rpc details, a reason for each kind."""

from collections.abc import Sequence
from enum import StrEnum, unique

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc import (  # type: ignore[import-untyped]
    error_details_pb2,
    status_pb2,
)

from placement.faults import Fault

DOMAIN = "placement-engine"
"""Domain of all reasons in google.rpc.ErrorInfo."""

DETAIL_BYTES = 4096
"""Error detail sent if a request does not say: clients take 8 KiB of metadata by default."""

MOST_DETAIL_BYTES = 2**20

_MOST_IN_MESSAGE = 3


@unique
class Reason(StrEnum):
    """Why a call failed; part of the interface."""

    MALFORMED_REQUEST = "MALFORMED_REQUEST"
    INVALID_PROBLEM = "INVALID_PROBLEM"
    UNSUPPORTED_FIELD = "UNSUPPORTED_FIELD"
    NO_ANSWER_IN_TIME = "NO_ANSWER_IN_TIME"
    SOLVER_FAILED = "SOLVER_FAILED"
    ANSWER_TOO_LARGE = "ANSWER_TOO_LARGE"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    INTERNAL = "INTERNAL"


_CODES = {
    Reason.MALFORMED_REQUEST: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.INVALID_PROBLEM: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.UNSUPPORTED_FIELD: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.NO_ANSWER_IN_TIME: grpc.StatusCode.DEADLINE_EXCEEDED,
    Reason.SOLVER_FAILED: grpc.StatusCode.INTERNAL,
    Reason.ANSWER_TOO_LARGE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.SHUTTING_DOWN: grpc.StatusCode.UNAVAILABLE,
    Reason.INTERNAL: grpc.StatusCode.INTERNAL,
}


class CallError(Exception):
    """A call ends with this status.

    Attributes
    ----------
    reason
        Kind of the error.
    message
        For people.
    faults
        What is wrong with the request; places name fields of it.
    detail_bytes
        Most bytes that the faults may take.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        faults: Sequence[Fault] = (),
        *,
        detail_bytes: int = DETAIL_BYTES,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.faults = tuple(faults)
        self.detail_bytes = detail_bytes

    def to_status(self) -> status_pb2.Status:
        """As google.rpc.Status."""
        code: int = _CODES[self.reason].value[0]
        info = error_details_pb2.ErrorInfo(reason=self.reason.value, domain=DOMAIN)
        details: list[Message] = [info]
        if self.faults:
            violations = self._violations()
            info.metadata["violation_count"] = str(len(self.faults))
            info.metadata["violations_listed"] = str(len(violations))
            details.append(error_details_pb2.BadRequest(field_violations=violations))
        return status_pb2.Status(code=code, message=self.message, details=map(_packed, details))

    def _violations(self) -> list[error_details_pb2.BadRequest.FieldViolation]:
        """As many as there is room for, the first first; at least one."""
        result: list[error_details_pb2.BadRequest.FieldViolation] = []
        room = self.detail_bytes
        for fault in self.faults:
            violation = error_details_pb2.BadRequest.FieldViolation(
                field=fault.path, description=fault.message, reason=self.reason.value
            )
            room -= violation.ByteSize() + 4
            if room < 0 and result:
                break
            result.append(violation)
        return result


def invalid(
    faults: Sequence[Fault], *, unsupported: bool = False, detail_bytes: int = DETAIL_BYTES
) -> CallError:
    """The error of a request with these faults."""
    shown = "; ".join(str(fault)[:200] for fault in faults[:_MOST_IN_MESSAGE])
    more = len(faults) - _MOST_IN_MESSAGE
    return CallError(
        Reason.UNSUPPORTED_FIELD if unsupported else Reason.INVALID_PROBLEM,
        shown + (f"; and {more} more" if more > 0 else ""),
        faults,
        detail_bytes=detail_bytes,
    )


def _packed(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
