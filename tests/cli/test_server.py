"""Tests of ``placement serve`` and ``solve --server``, over a real socket."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cli.command import EXAMPLES, ROOT, environment, run

QUICKSTART = EXAMPLES / "quickstart.yaml"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of a server that takes calls; it must end by itself when told to."""
    process = subprocess.Popen(
        [sys.executable, "-m", "placement", "serve", "--port", "0", "--workers", "1"],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    words = process.stdout.readline().split()
    assert words[:2] == ["listening", "on"]
    yield words[2]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_server_answers_as_the_command_does(server: str) -> None:
    """Tests the same problem there and here: the same decisions and values, and they verify."""
    options = ("--format", "json", "--time-limit", "60s", "--reproducible")
    there = run("solve", QUICKSTART, "--server", server, *options)
    assert (there.returncode, there.stderr) == (0, "")
    assert run("verify", QUICKSTART, "-", stdin=there.stdout).returncode == 0
    here = run("solve", QUICKSTART, *options)
    for key in ("status", "objective", "decisions", "fragmentation"):
        assert json.loads(there.stdout)[key] == json.loads(here.stdout)[key]


def test_what_the_server_refuses_is_bad_input(server: str) -> None:
    """Tests an unknown solver and a field that is not honoured: named, exit 2."""
    done = run("solve", QUICKSTART, "--server", server, "--solver", "magic")
    assert done.returncode == 2
    assert "solver" in done.stderr
    assert "cp-sat" in done.stderr
    text = QUICKSTART.read_text() + "policy: {fairness: strict}\n"
    done = run("solve", "-", "--server", server, stdin=text)
    assert done.returncode == 2
    assert done.stderr.startswith("policy.fairness: ")
    assert done.stdout == ""


def test_a_server_that_is_not_there_is_one_line() -> None:
    """Tests a port on which nobody listens."""
    done = run("solve", QUICKSTART, "--server", "127.0.0.1:1", "--server-wait", "0")
    assert done.returncode == 1
    assert done.stderr.startswith("placement: server 127.0.0.1:1: UNAVAILABLE")
    assert len(done.stderr.splitlines()) == 1


def test_an_address_that_others_can_reach_needs_a_word() -> None:
    """Tests that an unencrypted port is not opened to the network by accident."""
    done = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 1
    assert "--insecure" in done.stderr


def test_a_port_in_use_is_told() -> None:
    """Tests a second server on one port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("serve", "--port", str(port))
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
