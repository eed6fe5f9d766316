"""Frames between the front and a solve child: length, kind, bytes. Never pickled objects."""

import asyncio
import socket
import struct
from enum import IntEnum

_HEADER = struct.Struct("!BI")


class FrameKind(IntEnum):
    """What a frame carries."""

    OPTIONS = 1
    """To the child: JSON of the options."""
    PROBLEM = 2
    """To the child: ``placement.v1.Problem``."""
    ANSWER = 3
    """From the child: ``placement.v1.Answer``, better than the one before."""
    FINAL = 4
    """From the child: ``placement.v1.Answer``, the result."""
    ERROR = 5
    """From the child: JSON, why there is no result."""


class FrameError(Exception):
    """What came is no frame: the other side is broken."""


def send_frame(connection: socket.socket, kind: FrameKind, payload: bytes) -> None:
    """Send one frame; blocks until the other side has taken it."""
    connection.sendall(_HEADER.pack(kind, len(payload)))
    connection.sendall(payload)


def receive_frame(connection: socket.socket) -> tuple[FrameKind, bytes]:
    """Receive one frame.

    Raises
    ------
    EOFError
        The other side has gone.
    """
    kind, length = _HEADER.unpack(_receive_exactly(connection, _HEADER.size))
    return FrameKind(kind), _receive_exactly(connection, length)


def _receive_exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray(length)
    view = memoryview(data)
    while view:
        count = connection.recv_into(view)
        if count == 0:
            raise EOFError("the front has gone")
        view = view[count:]
    return bytes(data)


async def write_frame(writer: asyncio.StreamWriter, kind: FrameKind, payload: bytes) -> None:
    """Send one frame without blocking the loop."""
    writer.write(_HEADER.pack(kind, len(payload)))
    writer.write(payload)
    await writer.drain()


async def read_frame(
    reader: asyncio.StreamReader, *, most_bytes: int
) -> tuple[FrameKind, bytes] | None:
    """Receive one frame; None when the child has gone.

    Raises
    ------
    FrameError
        An unknown kind, a frame of more than ``most_bytes``, or one that breaks off.
    """
    try:
        header = await reader.readexactly(_HEADER.size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    kind, length = _HEADER.unpack(header)
    if length > most_bytes:
        raise FrameError(f"a frame of {length} bytes, more than {most_bytes}")
    try:
        payload = await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise FrameError("a frame that breaks off") from error
    try:
        return FrameKind(kind), payload
    except ValueError as error:
        raise FrameError(f"a frame of unknown kind {kind}") from error
