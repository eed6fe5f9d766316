"""The front's side of the fork server: starts it, anew if it dies, and has it fork children."""

import asyncio
import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from placement.service.frames import FrameKind, read_frame, write_frame
from placement.service.logs import event
from placement.service.solve_child import ChildOptions

_LOG = logging.getLogger(__name__)
_SOURCE_ROOT = Path(__file__).resolve().parents[2]
_MOST_MESSAGE_BYTES = 65_536
_FIRST_BACKOFF_S = 0.1
_LONGEST_BACKOFF_S = 5.0
_STABLE_S = 10.0
"""A fork server that lived so long is started anew without a long pause."""
_START_TIMEOUT_S = 60.0
_FORK_TIMEOUT_S = 5.0
_STREAM_BUFFER_BYTES = 2**20

_ENVIRONMENT = {
    # Threads in the fork server would not survive the fork.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # Each arena reserves address space, which the memory limit counts.
    "MALLOC_ARENA_MAX": "2",
}


class ForkServerError(Exception):
    """No child could be had."""


class Child:
    """One solve in its own process.

    Attributes
    ----------
    pid
        Its process id, also that of its process group.
    exit_code
        Exit code, minus the signal that ended it; None while it runs, or if nobody knows.
    """

    def __init__(self, identity: int, owner: "ForkServer", connection: socket.socket) -> None:
        self.identity = identity
        self.pid: int | None = None
        self.exit_code: int | None = None
        self.exited = asyncio.Event()
        self.forked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._connection = connection
        self._writer: asyncio.StreamWriter | None = None

    async def solve(
        self, options: ChildOptions, problem: bytes, *, most_bytes: int
    ) -> AsyncIterator[tuple[FrameKind, bytes]]:
        """Send the problem and yield what comes back, until the child has gone.

        Raises
        ------
        FrameError
            The child sends what is no frame.
        """
        reader, writer = await asyncio.open_connection(
            sock=self._connection, limit=_STREAM_BUFFER_BYTES
        )
        self._writer = writer
        with contextlib.suppress(ConnectionError):
            await write_frame(writer, FrameKind.OPTIONS, options.to_bytes())
            await write_frame(writer, FrameKind.PROBLEM, problem)
        while (frame := await read_frame(reader, most_bytes=most_bytes)) is not None:
            yield frame

    def kill(self) -> None:
        """End the child and its process group; harmless if it has ended."""
        self._owner.kill(self)
        if self._writer is None:
            self._connection.close()
        else:
            self._writer.close()


class ForkServer:
    """Starts the fork server, and again, with growing pauses, whenever it dies.

    Attributes
    ----------
    solver_names
        Solvers that the children know; known once :attr:`ready` is set.
    ready
        Set while there is a fork server that answers.
    lost
        Set when it has died, until it is started anew.
    """

    def __init__(self, entry: str, modules: tuple[str, ...], memory_bytes: int) -> None:
        self.solver_names: tuple[str, ...] = ()
        self.ready = asyncio.Event()
        self._entry = entry
        self._modules = modules
        self._memory_bytes = memory_bytes
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._children: dict[int, Child] = {}
        self._count = 0
        self._keeper: asyncio.Task[None] | None = None
        self.lost = asyncio.Event()

    async def start(self) -> None:
        """Start and wait until it answers.

        Raises
        ------
        ForkServerError
            It does not come up.
        """
        self._spawn()
        if not await self._comes_up(_START_TIMEOUT_S):
            self._bury()
            raise ForkServerError("the fork server does not start; see its messages above")
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """End the fork server and all children."""
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        self._bury()

    @property
    def pid(self) -> int | None:
        """Process id of the fork server."""
        return None if self._process is None else self._process.pid

    async def fork(self) -> Child:
        """Fork one child.

        Raises
        ------
        ForkServerError
            There is no fork server, or it does not answer.
        """
        await self.ready.wait()
        control = self._control
        if control is None:
            raise ForkServerError("there is no fork server")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._count += 1
        child = Child(self._count, self, ours)
        self._children[child.identity] = child
        message = {"op": "fork", "id": child.identity, "memory_bytes": self._memory_bytes}
        try:
            socket.send_fds(control, [json.dumps(message).encode()], [theirs.fileno()])
        except OSError as error:
            child.kill()
            self._forget(child, None)
            self._lose()
            raise ForkServerError(f"the fork server takes no more: {error}") from error
        finally:
            theirs.close()
        try:
            async with asyncio.timeout(_FORK_TIMEOUT_S):
                await asyncio.shield(child.forked)
        except TimeoutError as error:
            # Children of a fork server that hangs end with it.
            self._lose()
            raise ForkServerError("the fork server does not answer") from error
        except asyncio.CancelledError:
            child.kill()
            raise
        return child

    def kill(self, child: Child) -> None:
        """Have the child killed, unless it has ended."""
        if child.exited.is_set() or self._control is None:
            return
        try:
            self._control.send(json.dumps({"op": "kill", "id": child.identity}).encode())
        except OSError:
            self._lose()

    def _spawn(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        path = os.pathsep.join(filter(None, [str(_SOURCE_ROOT), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-P", "-m", "placement.service.fork_server"]
        command += ["--control", str(theirs.fileno()), "--entry", self._entry]
        command += [f"--preload={module}" for module in self._modules]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            # Solvers that print must not mix with what the server prints.
            stdout=sys.stderr.fileno(),
            env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": path},
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
        theirs.close()
        self._control = ours
        self.lost.clear()
        asyncio.get_running_loop().add_reader(ours, self._hear)

    def _hear(self) -> None:
        """Take all messages that have come."""
        while self._control is not None:
            try:
                data = self._control.recv(_MOST_MESSAGE_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._lose()
                return
            self._take(json.loads(data))

    def _take(self, message: dict[str, Any]) -> None:
        if message["event"] == "ready":
            self.solver_names = tuple(message["solvers"])
            self.ready.set()
            return
        child = self._children.get(message["id"])
        if child is None:
            return
        if message["event"] == "forked":
            child.pid = message["pid"]
            if not child.forked.done():
                child.forked.set_result(None)
        else:
            self._forget(child, message["code"])

    def _forget(self, child: Child, code: int | None) -> None:
        self._children.pop(child.identity, None)
        child.exit_code = code
        child.exited.set()
        if not child.forked.done():
            child.forked.set_exception(ForkServerError("no process could be forked"))
            child.forked.exception()

    def _lose(self) -> None:
        """The fork server has died, or is as good as dead."""
        self._bury()
        self.lost.set()

    def _bury(self) -> None:
        """End the fork server; the kernel ends its children with it."""
        self.ready.clear()
        control, self._control = self._control, None
        if control is not None:
            asyncio.get_running_loop().remove_reader(control)
            control.close()
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
        for child in list(self._children.values()):
            self._forget(child, None)

    async def _keep(self) -> None:
        """Start the fork server anew whenever it is lost."""
        backoff_s = _FIRST_BACKOFF_S
        while True:
            await self.lost.wait()
            event(_LOG, logging.ERROR, "fork server lost", restart_in_s=backoff_s)
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, _LONGEST_BACKOFF_S)
            self._spawn()
            if not await self._comes_up(_START_TIMEOUT_S):
                self._lose()
                continue
            event(_LOG, logging.INFO, "fork server ready", pid=self.pid)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_STABLE_S):
                    await self.lost.wait()
            if not self.lost.is_set():
                backoff_s = _FIRST_BACKOFF_S

    async def _comes_up(self, timeout_s: float) -> bool:
        """Whether the fork server answers in time; False as soon as it dies."""
        waits = {asyncio.create_task(one.wait()) for one in (self.ready, self.lost)}
        try:
            await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return self.ready.is_set()
