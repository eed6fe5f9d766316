"""The scale benchmark: its instances are what they claim, its times mean what they say."""

import json
from collections import Counter

import pytest

from benchmarks import scale
from benchmarks.instances import Document, cluster_document
from benchmarks.scale import main
from benchmarks.scale_trace import Moment, Recorder, reached_s
from placement.compiled.compile import compile_problem
from placement.compiled.feasibility import plan_faults
from placement.problem_file import problem_from_document
from solvers.base import SolveParameters
from solvers.greedy import Greedy
from solvers.plain import Plain
from tests.oracle.brute_force import best_plan
from tests.solvers.small_problems import small_document


def asked_gpus(document: Document) -> int:
    total = 0
    for job in document["jobs"]:
        for group in job["tasks"]:
            count = group["count"]
            most = count["max"] if isinstance(count, dict) else count
            total += most * group.get("gpus", 0)
    return total


def idle_gpus(document: Document) -> list[int]:
    busy: Counter[str] = Counter()
    for job in document["cluster"]["running"]:
        busy[job["tasks"][0]["node"]] += job["tasks"][0].get("gpus", 0)
    return [8 - busy[node["name"]] for node in document["cluster"]["nodes"]]


@pytest.mark.parametrize(("nodes", "jobs"), [(50, 40), (500, 200)])
@pytest.mark.parametrize("seed", [1, 2])
def test_instances_are_full_of_choices(nodes: int, jobs: int, seed: int) -> None:
    document = cluster_document(nodes, seed)
    idle = idle_gpus(document)
    racks = Counter(node["domain"] for node in document["cluster"]["nodes"])
    assert (len(idle), len(document["jobs"])) == (nodes, jobs)
    assert set(idle) == set(range(9))
    assert 8 <= min(racks.values()) <= max(racks.values()) <= 16
    assert 1.15 <= asked_gpus(document) / sum(idle) <= 1.35
    assert {job["priority"] for job in document["jobs"]} == {0, 1, 2}
    kinds = {job["name"].split("-")[0] for job in document["jobs"]}
    assert kinds == {"single", "train", "tune", "serve", "elastic", "prepare"}
    assert {"rack"} <= {
        job["topology"].get("required")
        for job in document["jobs"]
        if isinstance(job.get("topology"), dict)
    }
    compiled = compile_problem(problem_from_document(document))
    assert compiled.warnings == ()


def test_instances_depend_on_nothing_but_their_arguments() -> None:
    assert cluster_document(20, 7) == cluster_document(20, 7)
    assert cluster_document(20, 7) != cluster_document(20, 8)


def moment(clock_s: float, value: int, bound: int) -> Moment:
    return Moment(clock_s, (value, 5), (bound, 5))


@pytest.mark.parametrize(
    ("moments", "gap", "expected"),
    [
        pytest.param([moment(1, 50, 100), moment(2, 100, 100)], 0.0, 2, id="proven at the end"),
        pytest.param([moment(1, 99, 100), moment(2, 100, 100)], 0.01, 1, id="within one percent"),
        pytest.param([moment(1, 98, 100)], 0.01, None, id="never"),
        pytest.param(
            [moment(1, 100, 100), moment(2, 90, 100), moment(3, 100, 100)],
            0.0,
            3,
            id="reached, lost, reached again",
        ),
        pytest.param([moment(1, 0, 0)], 0.0, 1, id="nothing to do"),
    ],
)
def test_time_to_a_gap(moments: list[Moment], gap: float, expected: float | None) -> None:
    assert reached_s(moments, [0, 1], gap) == expected


def test_the_recorder_notes_what_the_solver_tells_and_changes_nothing() -> None:
    compiled = compile_problem(problem_from_document(cluster_document(8, 1)))
    parameters = SolveParameters(deadline_s=float("inf"))
    recorder = Recorder(Greedy())
    told: list[object] = []
    result = recorder.solve(compiled, parameters, on_plan=lambda plan, _: told.append(plan))
    plain = Greedy().solve(compiled, parameters)
    assert result.plan.count.tolist() == plain.plan.count.tolist()
    assert len(recorder.moments) == len(told) + 1
    clocks = [moment.clock_s for moment in recorder.moments]
    assert clocks == sorted(clocks)


@pytest.mark.parametrize("seed", range(30))
def test_the_plain_model_finds_the_best_work(seed: int) -> None:
    """Whatever the classes of the counting model are compared with must itself be right."""
    problem = problem_from_document(small_document(seed))
    compiled = compile_problem(problem)
    parameters = SolveParameters(deadline_s=float("inf"), workers=1)
    if compiled.share_units.any():
        with pytest.raises(ValueError, match="shares"):
            Plain().solve(compiled, parameters)
        return
    recorder = Recorder(Plain())
    result = recorder.solve(compiled, parameters)
    assert plan_faults(compiled, result.plan) == []
    best = best_plan(problem).values
    first_tier_values = recorder.moments[-1].values[0]
    assert first_tier_values == best[0] == result.bounds[0]


def test_one_object_per_line_and_instance(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--sizes", "6,8", "--seeds", "1-2", "--time-limit", "20", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["nodes"], line["seed"]) for line in lines] == [(6, 1), (6, 2), (8, 1), (8, 2)]
    for line in lines:
        assert line["variables"] > 0
        assert line["first_s"] <= line["work_gap_1pct_s"] <= line["work_proven_s"]
        assert line["work_gap"] == 0.0
        assert line["plain"]["work_gap"] == 0.0
        assert line["plain"]["work"] >= line["work"]
        assert line["plain"]["work"][0] == line["work"][0]


def test_contradicting_proofs_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    ours = {"nodes": 4, "seed": 1, "work_proven_s": 1.0, "work": [0.5, 0.2]}
    for work, agree in [
        ([0.5, 0.2], True),
        ([0.5, 0.3], True),
        ([0.5, 0.1], False),
        ([0.6, 0.2], False),
        ([0.4, 0.9], False),
    ]:
        assert scale._agree(ours, {"work_proven_s": 2.0, "work": work}) is agree
        assert bool(capsys.readouterr().err) is not agree
    assert scale._agree(ours, {"work_proven_s": None, "work": [0.4]})


def test_the_table_has_a_row_for_each_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--sizes", "6", "--seeds", "3", "--time-limit", "20", "--no-plain"]) == 0
    header, row = (line.split() for line in capsys.readouterr().out.splitlines())
    assert header[:3] == ["nodes", "jobs", "seed"]
    assert row[:4] == ["6", "9", "3", "auto"]
