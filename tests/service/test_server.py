"""The server process: what it says of itself, bad bytes, its end, and the end of its parts."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from placement.client import RequestOptions, ServiceError, solve, solve_stream
from placement.resolve import problem_from_document
from placement.service.config import ServerConfig
from placement.service.server import BindError, check_address
from tests.service.conftest import STUBS
from tests.service.documents import FOUR_JOBS
from tests.service.servers import ROOT, Server, eventually, running

PROBLEM = problem_from_document(FOUR_JOBS)
SERVICE = "placement.v1.PlacementService"
HANG = RequestOptions(solver="stub-hang")


def health(server: Server, service: str) -> int:
    with grpc.insecure_channel(server.target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        return stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10).status


def lives(server: Server) -> bool:
    """Whether the server still solves."""
    answer = solve(server.target, PROBLEM, RequestOptions(solver="greedy"), timeout_s=30)
    return len(answer.decisions) == 4


@pytest.mark.parametrize("service", ["", SERVICE])
def test_health_says_serving(server: Server, service: str) -> None:
    assert health(server, service) == health_pb2.HealthCheckResponse.SERVING


def test_reflection_describes_the_service(server: Server) -> None:
    with grpc.insecure_channel(server.target) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert {SERVICE, "grpc.health.v1.Health"} <= set(database.get_services())
        described = database.FindFileContainingSymbol(SERVICE)
    (service,) = described.service
    assert [method.name for method in service.method] == ["Solve", "SolveStream"]


GARBAGE = [
    b"\xff" * 100,
    b"\x0a\xff\xff\xff\xff\x0f",  # a length beyond the message
    b"\x0a\x05\x12\x03\x0a\x01\xff",  # text that is not UTF-8
    b"\x08\x01" * 1000,  # fields of another type
    b"",
    os.urandom(4096),
]


@pytest.mark.parametrize("method", ["Solve", "SolveStream"])
@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_in_a_call_is_an_invalid_argument(server: Server, method: str, data: bytes) -> None:
    with grpc.insecure_channel(server.target) as channel, pytest.raises(grpc.RpcError) as caught:
        if method == "Solve":
            channel.unary_unary(f"/{SERVICE}/{method}")(data, timeout=10)
        else:
            list(channel.unary_stream(f"/{SERVICE}/{method}")(data, timeout=10))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "Traceback" not in caught.value.details()
    assert lives(server)


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x00" * 1000,
        PREFACE + b"\xff" * 1000,
        PREFACE + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00" + b"\x00\xff\xff\x01\x05\x00\x00\x00\x01",
        b"",
    ],
    ids=range(5),
)
def test_garbage_on_the_socket_hurts_nobody(server: Server, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(data)
        assert lives(server)


def test_unknown_methods_are_unimplemented(server: Server) -> None:
    with grpc.insecure_channel(server.target) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(f"/{SERVICE}/Guess")(b"", timeout=10)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_the_front_and_the_fork_server_share_no_native_code(server: Server) -> None:
    """Tests that the process that serves maps no OR-tools, and the one that forks no gRPC."""
    assert lives(server)
    front = Path(f"/proc/{server.process.pid}/maps").read_text()
    forks = Path(f"/proc/{server.fork_server()}/maps").read_text()
    assert "cygrpc" in front
    assert "ortools" not in front
    assert "ortools" in forks
    assert "cygrpc" not in forks


def test_importing_the_server_brings_no_solver() -> None:
    program = (
        "import sys, placement.service.server, placement.client\n"
        "bad = {'ortools', 'solvers', 'placement.engine', 'placement.compiled', 'pandas'}\n"
        "print(*sorted(bad & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_the_fork_server_has_one_thread(server: Server) -> None:
    """Tests that nothing is lost in a fork: other threads would not come along."""
    tasks = Path(f"/proc/{server.fork_server()}/task")
    assert len(list(tasks.iterdir())) == 1


def test_a_message_over_the_limit_is_refused(server: Server) -> None:
    data = b"x" * (STUBS["max_message_bytes"] + 1)
    with grpc.insecure_channel(server.target) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(f"/{SERVICE}/Solve")(data, timeout=10)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert lives(server)


def test_a_dead_fork_server_is_started_anew(server: Server) -> None:
    """Tests that a call in flight is answered, children die, and the next calls are solved."""
    before = server.fork_server()
    with ThreadPoolExecutor() as pool:
        call = pool.submit(solve, server.target, PROBLEM, HANG, 30)
        assert eventually(lambda: bool(server.solve_pids()))
        time.sleep(0.3)  # the first answer has come
        os.kill(before, signal.SIGKILL)
        answer = call.result()
    assert any("process was lost" in note for note in answer.solver.notes)
    assert lives(server)
    assert server.fork_server() != before
    assert eventually(lambda: server.solve_pids() == set())
    serving = health_pb2.HealthCheckResponse.SERVING
    assert eventually(lambda: health(server, SERVICE) == serving)


@pytest.mark.slow
def test_a_hung_fork_server_is_replaced(server: Server) -> None:
    """Tests that a fork server that is there but does nothing is found out."""
    before = server.fork_server()
    os.kill(before, signal.SIGSTOP)
    assert lives(server)
    assert server.fork_server() != before


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_shutdown_answers_what_is_running(number: int) -> None:
    """Tests that calls in flight get their best answer at once, and nothing is left.

    One solve has nothing yet: greedy answers for it.
    """
    silent = RequestOptions(solver="raw-no-answer")
    with running(**{**STUBS, "concurrent_solves": 3}) as one, ThreadPoolExecutor() as pool:
        unary = pool.submit(solve, one.target, PROBLEM, HANG, 60)
        fallen = pool.submit(solve, one.target, PROBLEM, silent, 60)
        stream = pool.submit(list, solve_stream(one.target, PROBLEM, HANG, 60))
        assert eventually(lambda: len(one.solve_pids()) == 3)
        begun = time.monotonic()
        assert one.stop(number) == 0
        assert time.monotonic() - begun < ServerConfig().grace_s
        assert [streamed.final for streamed in stream.result()][-1:] == [True]
        for answer in (unary.result(), fallen.result(), stream.result()[-1].answer):
            assert any("shuts down" in note for note in answer.solver.notes)
            assert len(answer.decisions) == 4
        assert one.pids() == set()


def test_new_calls_are_refused_during_shutdown() -> None:
    """Tests that health says so and calls are told to go elsewhere while others still run."""
    settings = {**STUBS, "entry": "tests.service.stubs:hang_always", "grace_s": 2.0}
    with running(**settings) as one, ThreadPoolExecutor() as pool:
        call = pool.submit(solve, one.target, PROBLEM, RequestOptions(), 60)
        assert eventually(lambda: bool(one.solve_pids()))
        one.process.send_signal(signal.SIGTERM)
        broken = health_pb2.HealthCheckResponse.NOT_SERVING
        assert eventually(lambda: health(one, SERVICE) == broken, 2)
        with pytest.raises(ServiceError) as caught:
            solve(one.target, PROBLEM, timeout_s=2)
        assert (caught.value.code, caught.value.reason) == ("UNAVAILABLE", "SHUTTING_DOWN")
        assert one.stop(signal.SIGTERM) == 0
        assert one.pids() == set()
        with pytest.raises(ServiceError):
            call.result()


def test_a_killed_front_leaves_nothing() -> None:
    with running(**STUBS) as one, ThreadPoolExecutor() as pool:
        call = pool.submit(solve, one.target, PROBLEM, HANG, 60)
        assert eventually(lambda: bool(one.solve_pids()))
        one.stop(signal.SIGKILL)
        assert eventually(lambda: one.pids() == set(), 2)
        with pytest.raises(ServiceError) as caught:
            call.result()
    assert caught.value.code == "UNAVAILABLE"


def start_and_fail(**settings: object) -> str:
    """Start a server that cannot; its messages."""
    command = [sys.executable, "-m", "tests.service.run_server", json.dumps(settings)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr


def test_a_taken_port_is_said(server: Server) -> None:
    assert "cannot listen on 127.0.0.1" in start_and_fail(port=server.port)


def test_a_solver_module_that_fails_is_said() -> None:
    assert "fork server does not start" in start_and_fail(port=0, solver_modules=["no.such"])


def test_others_are_not_served_by_accident() -> None:
    assert "--insecure" in start_and_fail(host="0.0.0.0", port=0)


@pytest.mark.parametrize(
    ("host", "insecure", "allowed"),
    [
        ("127.0.0.1", False, True),
        ("localhost", False, True),
        ("::1", False, True),
        ("127.8.8.8", False, True),
        ("0.0.0.0", False, False),
        ("::", False, False),
        ("10.1.2.3", False, False),
        ("0.0.0.0", True, True),
        ("no.such.host.invalid", False, False),
        ("no.such.host.invalid", True, False),
    ],
)
def test_only_loopback_goes_without_saying(host: str, insecure: bool, allowed: bool) -> None:
    config = ServerConfig(host=host, insecure=insecure)
    if allowed:
        check_address(config)
    else:
        with pytest.raises(BindError, match=r"host|--insecure"):
            check_address(config)
