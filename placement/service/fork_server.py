"""The fork server: imports OR-tools once, then forks one child per solve.

``python -m placement.service.fork_server`` is started by the front as a fresh interpreter, so that
it never holds gRPC, which does not survive a fork; a fork from here costs some 40 ms, a cold start
of the solver a second. It talks JSON over a SOCK_SEQPACKET socket:

======================================= ==================================================
front to fork server                    meaning
======================================= ==================================================
``{"op": "fork", "id", "memory_bytes"}``  fork a child; its socket comes along as descriptor
``{"op": "kill", "id"}``                  end the child and all of its process group
======================================= ==================================================

and back: ``ready`` with the solver names, ``forked`` with the pid, ``exited`` with the exit code
(minus the signal, if one ended it). When the front goes, all children are killed.
"""

import argparse
import contextlib
import ctypes
import gc
import importlib
import json
import logging
import os
import resource
import selectors
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from placement.service.logs import event, set_up
from placement.service.solve_child import Entry, run_child

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_MESSAGE_BYTES = 4096
_PR_SET_PDEATHSIG = 1
_LOG = logging.getLogger(__name__)
_CHILD_NICENESS = 5
"""Children yield to the front, which has deadlines to keep."""


class _ForkServer:
    """Holds the children that were forked and not reaped yet."""

    def __init__(self, control: socket.socket, entry: Entry) -> None:
        self._control = control
        self._entry = entry
        self._pid_of: dict[int, int] = {}
        self._wakeup, self._signalled = socket.socketpair()

    def serve(self, solver_names: tuple[str, ...]) -> None:
        """Fork and kill as told, until the front goes."""
        self._wakeup.setblocking(False)
        self._signalled.setblocking(False)
        signal.set_wakeup_fd(self._signalled.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        self._tell(event="ready", solvers=solver_names)
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._wakeup, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._control:
                        if not self._obey():
                            return
                    else:
                        with contextlib.suppress(BlockingIOError):
                            self._wakeup.recv(4096)
                        self._reap()

    def kill_all(self) -> None:
        """End every child."""
        for pid in self._pid_of.values():
            _kill_group(pid)

    def _obey(self) -> bool:
        """Do what one message says; False when the front has gone."""
        data, descriptors, _, _ = socket.recv_fds(self._control, _MOST_MESSAGE_BYTES, 1)
        if not data:
            return False
        message = json.loads(data)
        if message["op"] == "fork":
            self._fork(message["id"], message["memory_bytes"], descriptors[0])
        else:
            pid = self._pid_of.get(message["id"])
            if pid is not None:
                _kill_group(pid)
        return True

    def _fork(self, identity: int, memory_bytes: int, descriptor: int) -> None:
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(descriptor)
            self._tell(event="exited", id=identity, code=None, reason=str(error))
            return
        if pid == 0:
            self._become_child(server, memory_bytes, descriptor)
        os.close(descriptor)
        self._pid_of[identity] = pid
        # Also done by the child itself: whoever comes first, a kill finds the group.
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._tell(event="forked", id=identity, pid=pid)

    def _become_child(self, server: int, memory_bytes: int, descriptor: int) -> None:
        """Run the solve in the new process; never returns."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._control.close()
            self._wakeup.close()
            self._signalled.close()
            _die_with_parent(server)
            with contextlib.suppress(OSError):
                os.setsid()
            os.nice(_CHILD_NICENESS)
            _limit(memory_bytes)
            code = run_child(socket.socket(fileno=descriptor), self._entry)
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        """Collect children that have ended, and whatever they left in their process group."""
        for identity, pid in list(self._pid_of.items()):
            # Without reaping: the number stays taken until its group is killed.
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if os.waitid(os.P_PID, pid, options) is None:
                continue
            _kill_group(pid)
            _, status = os.waitpid(pid, 0)
            del self._pid_of[identity]
            self._tell(event="exited", id=identity, code=os.waitstatus_to_exitcode(status))

    def _tell(self, **message: object) -> None:
        with contextlib.suppress(OSError):
            self._control.send(json.dumps(message).encode())


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _die_with_parent(server: int) -> None:
    """Have the kernel end this process when the fork server goes."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != server:
        os._exit(1)


def _limit(memory_bytes: int) -> None:
    """No core files; no more memory than told beyond what is mapped already."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _load_entry(name: str) -> Entry:
    module, _, function = name.partition(":")
    entry: Callable[..., object] = getattr(importlib.import_module(module), function)
    return entry  # type: ignore[return-value]  # named by the operator, checked by running it


def _load_solvers() -> tuple[str, ...]:
    """Import every solver now, so that no child has to; the names of those that there are."""
    registry = importlib.import_module("solvers.registry")
    loaded: list[str] = []
    for name in registry.solver_names():
        try:
            registry.make_solver(name)
        except ImportError as error:
            event(_LOG, logging.ERROR, "solver left out", solver=name, error=str(error))
        else:
            loaded.append(name)
    return tuple(loaded)


def main() -> None:
    """Serve the front whose socket is given."""
    parser = argparse.ArgumentParser(description="Forks solves; started by the server.")
    parser.add_argument("--control", type=int, required=True, help="descriptor of the socket")
    parser.add_argument("--entry", required=True, help="module:function that solves")
    parser.add_argument("--preload", action="append", default=[], help="module to import first")
    arguments = parser.parse_args()
    set_up()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A service manager signals every process; the front decides when children end.
        signal.signal(number, signal.SIG_IGN)
    for module in arguments.preload:
        importlib.import_module(module)
    entry = _load_entry(arguments.entry)
    names = _load_solvers()
    if "grpc" in sys.modules:
        sys.exit("the fork server must not import gRPC: it does not survive a fork")
    gc.collect()
    gc.freeze()
    server = _ForkServer(socket.socket(fileno=arguments.control), entry)
    try:
        server.serve(names)
    finally:
        server.kill_all()


if __name__ == "__main__":
    main()
