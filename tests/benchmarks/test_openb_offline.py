"""Mode offline: all pods at once through the engine; a tiny trace, and (slow) the real one."""

import csv
import json
import os
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from tests.benchmarks.openb_files import node, pod, trace, write_trace

SHARED = Path(os.environ.get("PLACEMENT_SHARED") or Path(__file__).parents[3] / "shared") / "data"


def test_all_pods_at_once_are_solved_with_their_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # In order of arrival the two small ones could block the GPU that "whole" needs.
    tiny = trace(
        [node("n1"), node("n2", gpus=1, model="G2")],
        [
            pod("small", milli=600),
            pod("rest", milli=400),
            pod("whole", gpus=2),
            pod("cpu", gpus=0),
            pod("too-much", milli=900),
        ],
    )
    write_trace(tmp_path, tiny)
    placements = tmp_path / "placements.csv"
    arguments = ["openb", "--data", str(tmp_path), "--trace", "tiny", "--mode", "offline"]
    arguments += ["--policy", "engine", "--time-limit", "20", "--json"]
    assert main([*arguments, "--placements", str(placements)]) == 0
    (row,) = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (row["trace"], row["mode"], row["policy"]) == ("tiny", "offline", "engine")
    assert row["allocation"] == row["ceiling"] == 100.0
    with placements.open() as file:
        placed = {entry["pod"]: (entry["node"], entry["gpus"]) for entry in csv.DictReader(file)}
    assert placed["whole"] == ("n1", "0 1")
    assert placed["small"] == placed["rest"] == ("n2", "0")
    assert placed["cpu"][0] != ""
    assert placed["too-much"] == ("", "")


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="no trace files")
def test_the_default_trace_is_allocated_to_95_percent_and_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["openb", "--data", str(SHARED / "openb"), "--trace", "default"]
    arguments += ["--mode", "offline", "--policy", "engine", "--time-limit", "55", "--json"]
    assert main(arguments) == 0
    (row,) = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert 95.0 <= row["allocation"] <= row["ceiling"] <= 96.6
    assert row["peak_rss_mib"] < 4096
