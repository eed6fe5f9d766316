"""Servers for tests: real processes on real sockets, every process of them accounted for."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_MARK = "PLACEMENT_TEST_MARK"
_START_S = 60.0


class Server:
    """A running server.

    Attributes
    ----------
    target
        ``HOST:PORT``.
    process
        The front.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._mark = uuid.uuid4().hex
        self._lines: queue.Queue[str] = queue.Queue()
        self.log: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.service.run_server", json.dumps(settings)],
            cwd=ROOT,
            env={**os.environ, _MARK: self._mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._threads = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        line = self._lines.get(timeout=_START_S)
        assert line.startswith("listening on "), line
        self.target = line.removeprefix("listening on ").strip()

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("end of output")

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                self.log.append(json.loads(line))
            except ValueError:
                # Native code writes as it likes when it aborts.
                self.log.append({"event": "not json", "line": line})

    @property
    def port(self) -> int:
        return int(self.target.rpartition(":")[2])

    def pids(self) -> set[int]:
        """Every live process that comes from this server, the front included."""
        found = set()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                marked = f"{_MARK}={self._mark}".encode() in (entry / "environ").read_bytes()
                if marked and _state(entry) != "Z":
                    found.add(int(entry.name))
        return found

    def fork_server(self) -> int:
        """Process id of the fork server."""
        (pid,) = (pid for pid in self.pids() if _parent(pid) == self.process.pid)
        return pid

    def solve_pids(self) -> set[int]:
        """Every process that solves, or comes from one that did."""
        return {
            pid
            for pid in self.pids()
            if pid != self.process.pid and _parent(pid) != self.process.pid
        }

    def stop(self, number: int = signal.SIGTERM, timeout_s: float = 30) -> int:
        """End the server by a signal; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout_s)
        for thread in self._threads:
            thread.join(5)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()
        return code


@contextlib.contextmanager
def running(**settings: Any) -> Iterator[Server]:
    """A server that is ended at the end, if it has not ended by then."""
    server = Server({"port": 0, **settings})
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop(signal.SIGKILL)


def eventually(condition: Callable[[], bool], timeout_s: float = 10) -> bool:
    """Whether the condition comes to hold in time."""
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def _state(entry: Path) -> str:
    return (entry / "stat").read_text().rpartition(")")[2].split()[0]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
