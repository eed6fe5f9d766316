"""The service answers as the engine does, before the deadline, whatever the solver does."""

import subprocess
import sys
import time
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from placement.answer import Action, Answer, Status
from placement.check import check_answer
from placement.client import RequestOptions, ServiceError, solve, solve_stream
from placement.engine import SolveOptions
from placement.engine import solve as solve_here
from placement.faults import InvalidProblemError, UnsupportedProblemError
from placement.objective import tier_values
from placement.resolve import problem_from_document
from placement.service import codec
from placement.v1 import placement_service_pb2, placement_service_pb2_grpc
from tests.service.conftest import STUBS
from tests.service.documents import COMPLETE, FOUR_JOBS, small
from tests.service.servers import ROOT, Server, eventually, running

PROBLEM = problem_from_document(FOUR_JOBS)
STARTED = {"gang", "half", "six"}


def started(answer: Answer) -> set[str]:
    return {one.job for one in answer.decisions if one.action is Action.START}


def values(answer: Answer) -> list[int]:
    return [value.value_units for value in tier_values(PROBLEM, answer)]


@pytest.mark.parametrize("solver", ["greedy", "cp-sat", "auto"])
def test_the_answer_is_that_of_the_engine(server: Server, solver: str) -> None:
    here = solve_here(PROBLEM, SolveOptions(solver=solver, workers=1, reproducible=True))
    there = solve(
        server.target, PROBLEM, RequestOptions(solver=solver, workers=1, reproducible=True)
    )
    assert there == here
    assert started(there) == STARTED


def test_the_same_request_gives_the_same_bytes(server: Server) -> None:
    request = placement_service_pb2.SolveRequest(problem=codec.problem_to_wire(PROBLEM))
    request.options.reproducible = True
    with grpc.insecure_channel(server.target) as channel:
        call = channel.unary_unary("/placement.v1.PlacementService/Solve")
        data = request.SerializeToString()
        assert call(data) == call(data)


def test_values_come_in_exact_units(server: Server) -> None:
    request = placement_service_pb2.SolveRequest(problem=codec.problem_to_wire(PROBLEM))
    with grpc.insecure_channel(server.target) as channel:
        stub = placement_service_pb2_grpc.PlacementServiceStub(channel)
        answer = stub.Solve(request).answer
    assert answer.objective
    for tier in answer.objective:
        assert tier.value_units / tier.units_per_one == tier.value
    assert [tier.maximise for tier in answer.objective if tier.tier == "work"] == [True, True]


def test_a_stream_ends_with_its_best_answer(server: Server) -> None:
    """Tests that all answers are checked, never get worse, and only the last is marked."""
    streamed = list(solve_stream(server.target, PROBLEM, RequestOptions(solver="cp-sat")))
    assert [one.final for one in streamed] == [False] * (len(streamed) - 1) + [True]
    for one in streamed:
        assert not check_answer(PROBLEM, one.answer)
    assert started(streamed[-1].answer) == STARTED
    assert streamed[-1].answer.status is Status.OPTIMAL


def test_a_stream_brings_answers_as_they_are_found(server: Server) -> None:
    """Tests that the first answer is there while the solver still works (it never ends)."""
    stream = solve_stream(server.target, PROBLEM, RequestOptions(solver="stub-hang"), timeout_s=60)
    first = next(iter(stream))
    assert not first.final
    assert started(first.answer) == STARTED
    assert server.solve_pids()
    stream.close()  # type: ignore[attr-defined]  # a generator
    assert eventually(lambda: not server.solve_pids(), 1.0)


SPOILT = [
    ("stub-overfull", None),
    ("stub-lying-bounds", None),
    ("stub-abort", "signal 6"),
    ("stub-memory", "out of memory"),
    ("stub-raises", "RuntimeError"),
    ("raw-overfull", "wrong answer"),
    ("raw-lying-bound", "bound"),
    ("raw-good-then-overfull", "wrong answer"),
    ("raw-exit", "exit status 0"),
    ("raw-abort", "signal 6"),
    ("raw-memory", "out of memory"),
    ("raw-garbage", "frame"),
    ("raw-flood", None),
]


@pytest.mark.parametrize(("solver", "note"), SPOILT)
def test_a_bad_solver_never_reaches_the_caller(
    server: Server, solver: str, note: str | None
) -> None:
    """Tests that the answer is right, no worse than greedy's, and says what happened."""
    answer = solve(server.target, PROBLEM, RequestOptions(solver=solver), timeout_s=30)
    assert check_answer(PROBLEM, answer) == ()
    greedy = solve_here(PROBLEM, SolveOptions(solver="greedy"))
    assert values(answer) == values(greedy)
    for tier, value in zip(answer.objective, tier_values(PROBLEM, answer), strict=True):
        bound, reached = tier.bound, value.reported
        assert bound >= reached if value.maximise else bound <= reached
    notes = "; ".join(answer.solver.notes)
    if note is not None:
        assert note in notes
    assert "secret" not in notes
    assert eventually(lambda: not server.solve_pids(), 1.0)


@pytest.mark.parametrize("solver", ["stub-hang", "raw-no-answer", "raw-family"])
def test_a_hung_solver_is_ended_before_the_deadline(server: Server, solver: str) -> None:
    """Tests that the answer comes in time, and no process outlives its request."""
    begun = time.monotonic()
    answer = solve(server.target, PROBLEM, RequestOptions(solver=solver), timeout_s=1.0)
    assert time.monotonic() - begun < 1.0
    assert started(answer) == STARTED
    assert any("cut short" in note for note in answer.solver.notes)
    assert eventually(lambda: not server.solve_pids(), 1.0)


def test_the_time_limit_holds_without_a_deadline(server: Server) -> None:
    options = RequestOptions(solver="stub-hang", time_limit_ms=300)
    assert started(solve(server.target, PROBLEM, options)) == STARTED


def test_the_policy_sets_the_time_limit(server: Server) -> None:
    problem = problem_from_document({**FOUR_JOBS, "policy": {"time_limit": "300ms"}})
    answer = solve(server.target, problem, RequestOptions(solver="stub-hang"))
    assert started(answer) == STARTED


def test_no_time_at_all_is_said(server: Server) -> None:
    with pytest.raises(ServiceError) as caught:
        solve(server.target, PROBLEM, timeout_s=0.001)
    assert caught.value.code == "DEADLINE_EXCEEDED"


@pytest.mark.parametrize("solver", ["stub-hang", "raw-no-answer", "raw-family"])
def test_a_cancelled_call_ends_its_solve(server: Server, solver: str) -> None:
    request = placement_service_pb2.SolveRequest(problem=codec.problem_to_wire(PROBLEM))
    request.options.solver = solver
    with grpc.insecure_channel(server.target) as channel:
        stub = placement_service_pb2_grpc.PlacementServiceStub(channel)
        call = stub.Solve.future(request, timeout=60)
        assert eventually(lambda: bool(server.solve_pids()))
        call.cancel()
        assert eventually(lambda: not server.solve_pids(), 1.0)


def test_a_caller_that_goes_ends_its_solve(server: Server) -> None:
    """Tests that a client that is killed, and so cannot cancel, does not keep a solve going."""
    program = (
        "from placement.client import RequestOptions, solve\n"
        "from placement.resolve import problem_from_document\n"
        "from tests.service.documents import FOUR_JOBS\n"
        "options = RequestOptions(solver='stub-hang')\n"
        f"solve({server.target!r}, problem_from_document(FOUR_JOBS), options)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) as client:
        assert eventually(lambda: bool(server.solve_pids()), 30)
        client.kill()
        assert eventually(lambda: not server.solve_pids(), 1.0)


def test_calls_wait_for_a_slot(server: Server) -> None:
    """Tests that more calls than slots are all answered, and never more solve at once."""
    request = placement_service_pb2.SolveRequest(problem=codec.problem_to_wire(PROBLEM))
    with grpc.insecure_channel(server.target) as channel:
        stub = placement_service_pb2_grpc.PlacementServiceStub(channel)
        calls = [stub.Solve.future(request, timeout=60) for _ in range(6)]
        answers = [codec.answer_from_wire(call.result().answer) for call in calls]
    assert [started(answer) for answer in answers] == [STARTED] * 6


def test_a_call_that_waits_too_long_is_told(server: Server) -> None:
    hang = placement_service_pb2.SolveRequest(problem=codec.problem_to_wire(PROBLEM))
    hang.options.solver = "stub-hang"
    with grpc.insecure_channel(server.target) as channel:
        stub = placement_service_pb2_grpc.PlacementServiceStub(channel)
        calls = [stub.Solve.future(hang, timeout=60) for _ in range(STUBS["concurrent_solves"])]
        assert eventually(lambda: len(server.solve_pids()) == len(calls))
        with pytest.raises(ServiceError) as caught:
            solve(server.target, PROBLEM, timeout_s=0.5)
        for call in calls:
            call.cancel()
    assert caught.value.code == "DEADLINE_EXCEEDED"
    assert eventually(lambda: not server.solve_pids(), 1.0)


def test_all_faults_come_back_as_those_of_the_document(server: Server) -> None:
    """Tests that a client gets every fault, named as in its problem file."""
    message = codec.problem_to_wire(PROBLEM)
    message.jobs[0].tasks[0].cpu_millicores = -1
    message.jobs[1].with_jobs.add(job="nobody", level="rack")
    message.cluster.nodes[1].shape = "hgy"
    request = placement_service_pb2.SolveRequest(problem=message)
    request.options.solver = "magic"
    request.options.worker_count = -1
    with grpc.insecure_channel(server.target) as channel:
        stub = placement_service_pb2_grpc.PlacementServiceStub(channel)
        with pytest.raises(grpc.RpcError) as caught:
            stub.Solve(request)
    status = details(caught.value)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert status["reason"] == "INVALID_PROBLEM"
    assert set(status["fields"]) == {
        "options.solver",
        "options.worker_count",
        "problem.cluster.nodes[1].shape",
        "problem.jobs[0].tasks[0].cpu_millicores",
        "problem.jobs[1].with_jobs[0].job",
    }


def details(error: Any) -> dict[str, Any]:
    """Reason and fields of a failed call."""
    status = rpc_status.from_call(error)
    assert status is not None
    info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in status.details:
        detail.Unpack(info)
        detail.Unpack(request)
    assert info.domain == "placement-engine"
    return {
        "reason": info.reason,
        "fields": [violation.field for violation in request.field_violations],
        **info.metadata,
    }


def test_faults_have_the_names_of_files_in_the_client(server: Server) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        solve(server.target, PROBLEM, RequestOptions(solver="magic"))
    assert [fault.path for fault in caught.value.faults] == ["options.solver"]


def test_what_is_not_honoured_yet_is_refused(server: Server) -> None:
    with pytest.raises(UnsupportedProblemError) as caught:
        solve(server.target, problem_from_document(COMPLETE))
    paths = {fault.path for fault in caught.value.faults}
    assert {"jobs[0].tasks[1].slices", "policy.preemption.enabled"} <= paths


def test_faults_fit_into_what_clients_take(server: Server) -> None:
    """Tests that a hundred faults reach a client with gRPC's default limits, counted."""
    jobs = [{"name": f"job-{index}-{'x' * 100}", "gpus": 1} for index in range(150)]
    message = codec.problem_to_wire(problem_from_document(small(jobs)))
    for job in message.jobs:
        job.with_jobs.add(job="nobody", level="rack")
    with grpc.insecure_channel(server.target) as channel:
        stub = placement_service_pb2_grpc.PlacementServiceStub(channel)
        with pytest.raises(grpc.RpcError) as caught:
            stub.Solve(placement_service_pb2.SolveRequest(problem=message))
    status = details(caught.value)
    assert int(status["violation_count"]) >= 100
    assert 10 < len(status["fields"]) == int(status["violations_listed"])


def test_when_nothing_works_the_error_says_so_plainly() -> None:
    """Tests that a server without any working solver lives on and shows no insides."""
    with running(**{**STUBS, "entry": "tests.service.stubs:abort_always"}) as broken:
        for _ in range(2):
            with pytest.raises(ServiceError) as caught:
                solve(broken.target, PROBLEM, timeout_s=30)
            assert (caught.value.code, caught.value.reason) == ("INTERNAL", "SOLVER_FAILED")
            assert "signal 6" in caught.value.message
            assert "Traceback" not in caught.value.message
        assert broken.stop() == 0
        assert broken.pids() == set()
