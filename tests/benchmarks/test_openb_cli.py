"""Arguments, JSON lines, the table and placements, on a trace of three nodes."""

import csv
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.openb.outcome import Outcome
from benchmarks.openb.report import json_line, table
from benchmarks.openb.trace import Arrivals, Published, Trace
from tests.benchmarks.openb_files import node, pod, trace, write_arrivals, write_lines, write_trace

ROOT = Path(__file__).parents[2]
KEYS = ["trace", "seed", "mode", "policy", "allocation", "ceiling", "seconds", "allocation_at_130"]


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """Four GPUs of which no pod may use the last: at 100 % three are allocated, later 3.6."""
    tiny = trace(
        [node("n1"), node("n2", gpus=1), node("n3", gpus=1, model="G2")],
        [pod("a", models="T4"), pod("b", milli=600), pod("c", gpus=0)],
    )
    write_trace(tmp_path, tiny)
    runs = [
        Arrivals(seed, np.array([0, 0, 2, 0, 0, 1, 1]), np.array(ranks))
        for seed, ranks in ((42, [0, 1, 2]), (43, [2, 1, 0]))
    ]
    write_arrivals(tmp_path / "arrivals.npz", tiny, runs)
    write_lines(
        tmp_path / "published_allocation.csv",
        "trace,policy,allocation_at_100,allocation_at_130",
        "tiny,05-BestFit,74.50,90.25",
    )
    return [
        *("openb", "--data", str(tmp_path), "--trace", "tiny", "--jobs", "1"),
        *("--arrivals", str(tmp_path / "arrivals.npz"), "--mode", "online"),
    ]


def run(capsys: pytest.CaptureFixture[str], arguments: Sequence[str]) -> tuple[str, str]:
    assert main(arguments) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_json_is_one_object_per_run(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = run(capsys, [*arguments, "--seeds", "42-43", "--policy", "best-fit,fgd", "--json"])
    rows = [json.loads(line) for line in out.splitlines()]
    assert [list(row) for row in rows] == [KEYS] * 4
    assert [(row["policy"], row["seed"]) for row in rows] == [
        ("best-fit", 42),
        ("best-fit", 43),
        ("fgd", 42),
        ("fgd", 43),
    ]
    for row in rows:
        assert (row["trace"], row["mode"], row["seconds"] > 0) == ("tiny", "online", True)
        assert (row["allocation"], row["allocation_at_130"]) == (75.0, 90.0)
        assert row["ceiling"] == 75.0


def test_the_ceiling_is_null_when_not_computed(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = run(capsys, [*arguments, "--seeds", "42", "--policy", "fgd", "--json", "--no-ceiling"])
    assert json.loads(out)["ceiling"] is None


def test_the_table_compares_means_with_the_figures_beside_the_arrivals(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = run(capsys, [*arguments, "--seeds", "42,43", "--policy", "all"])
    lines = [line.split() for line in out.splitlines()]
    assert [line[2] for line in lines[1:]] == [
        "random",
        "dotprod",
        "gpu-clustering",
        "gpu-packing",
        "best-fit",
        "fgd",
    ]
    best_fit = lines[5]
    assert best_fit[3:8] == ["2", "75.00", "74.50", "+0.50", "75.00"]
    assert best_fit[8:11] == ["90.00", "90.25", "-0.25"]
    assert lines[6][5:7] == ["-", "-"]


def test_placements_name_seed_arrival_pod_node_and_gpus(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "placements.csv"
    run(capsys, [*arguments, "--seeds", "42", "--policy", "best-fit", "--placements", str(file)])
    rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
    assert rows == [
        ["seed", "arrival", "pod", "node", "gpus"],
        ["42", "0", "a", "n2", "0"],
        ["42", "1", "a", "n1", "0"],
        ["42", "2", "c", "n2", ""],
        ["42", "3", "a", "n1", "1"],
        ["42", "4", "a", "", ""],
        ["42", "5", "b", "n3", "0"],
        ["42", "6", "b", "", ""],
    ]


def test_processes_give_what_one_process_gives(arguments: list[str]) -> None:
    def rows(jobs: str) -> list[dict[str, object]]:
        command = [sys.executable, "-m", "benchmarks", *arguments, "--jobs", jobs, "--json"]
        output = subprocess.run(
            [*command, "--seeds", "42-43", "--policy", "all"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        ).stdout
        return [json.loads(line) | {"seconds": 0} for line in output.splitlines()]

    assert rows("2") == rows("1")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--seeds", "44"], "no arrivals for trace 'tiny' and seed 44"),
        (["--trace", "absent"], "openb_pod_list_absent.csv"),
        (["--placements", "x.csv"], "one trace and one policy"),
        (["--mode", "batch"], "there is no module benchmarks.openb.batch"),
    ],
)
def test_what_is_not_there_is_named(
    arguments: list[str],
    extra: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A module that is None cannot be imported, whether or not somebody has written it.
    monkeypatch.setitem(sys.modules, "benchmarks.openb.batch", None)
    selection = ["--seeds", "42", "--policy", "fgd,best-fit"]
    assert main([*arguments, *selection, *extra]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--policy", "best"], "no policy 'best'"),
        (["--seeds", "51-42"], "range '51-42' is empty"),
        (["--seeds", "a"], "neither a seed nor a range"),
        (["--mode", "sideways"], "invalid choice"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    arguments: list[str], extra: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*arguments, *extra])
    assert message in capsys.readouterr().err


def test_a_mode_of_its_own_is_run_with_the_trace_and_its_limit(
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcome = Outcome("tiny", "offline", "engine", None, 93.5, None, 96.5, 1.25)

    def run_offline(trace: Trace, *, time_limit_s: float, **rest: object) -> list[Outcome]:
        assert (trace.name, time_limit_s, rest["policies"]) == ("tiny", 2.5, ())
        return [outcome]

    module = SimpleNamespace(run=run_offline)
    monkeypatch.setitem(sys.modules, "benchmarks.openb.offline", module)
    out, _ = run(capsys, [*arguments, "--mode", "offline", "--time-limit", "2.5", "--json"])
    assert out == json_line(outcome) + "\n"
    assert json.loads(out)["seed"] is None


def test_a_mean_over_some_of_the_runs_is_not_shown() -> None:
    runs = [
        Outcome("t", "online", "fgd", seed, 90.0, at, None, 1.0)
        for seed, at in enumerate((91.0, None))
    ]
    published = {("t", "fgd"): Published(90.0, 91.0)}
    cells = table(runs, published).splitlines()[1].split()
    assert cells[4:] == ["90.00", "90.00", "+0.00", "-", "-", "91.00", "-", "1.00"]


def test_benchmarks_are_listed_and_unknown_ones_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["--help"]) == 0
    assert "openb" in capsys.readouterr().out
    assert main([]) == 2
    assert main(["speed"]) == 2
    assert "no benchmark 'speed'" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "benchmarks.scale", None)
    assert main(["scale"]) == 2
    assert "no module benchmarks.scale" in capsys.readouterr().err
