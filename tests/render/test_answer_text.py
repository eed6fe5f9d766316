"""Tests of the table for people, on answers made by hand."""

from pathlib import Path
from typing import Any

import pytest

from placement.answer import Answer
from placement.answer_file import answer_from_document
from placement.problem import Problem
from placement.problem_file import problem_from_document
from placement.render.answer_text import answer_text
from placement.render.cluster_map import IdleGpus, idle_gpus, map_section
from placement.render.comparison import comparison
from placement.render.jobs import request
from placement.render.layout import number, percent
from tests.render.sample import ANSWER, PROBLEM, answer, problem, shown

GOLDEN = Path(__file__).parent / "answer.txt"


def test_the_whole_answer_reads_as_agreed() -> None:
    """Tests the text of the sample, to the letter; change ``answer.txt`` on purpose only."""
    assert shown(answer_text(problem(), answer())) == GOLDEN.read_text()


def cluster(nodes: list[dict[str, Any]], **more: Any) -> Problem:
    """A problem of these nodes, whose shape ``s`` has eight GPUs, and one job."""
    shapes = {
        "s": {"cpu": 8, "gpus": {"model": "A100", "count": 8}},
        "c": {"cpu": 8},
        "m": {"cpu": 8, "gpus": {"model": "T4", "count": 16}},
    }
    body = {"shapes": shapes, "nodes": nodes, **more}
    jobs = [{"name": "idle", "cpu": 1}]
    return problem_from_document({"now": PROBLEM["now"], "cluster": body, "jobs": jobs})


def nothing() -> Answer:
    """An answer without decisions."""
    return answer_from_document({"decisions": []})


def drawn(the_problem: Problem) -> str:
    """The map of a cluster on which nothing starts."""
    section = map_section(the_problem, idle_gpus(the_problem, nothing()))
    assert section is not None
    return shown(section)


def test_a_cluster_without_levels_is_one_line_per_25_nodes() -> None:
    """Tests the map without topology, longer than a line, with the legend it needs."""
    text = drawn(cluster([{"name": "n[01-26]", "shape": "s"}, {"name": "m1", "shape": "m"}]))
    assert text == (
        "Idle GPUs, one character per node\n"
        "CLUSTER  BEFORE                     AFTER                       IDLE GPUS\n"
        f"all      {'8' * 25}  {'8' * 25}  224 -> 224\n"
        "         8+                         8+\n"
        "+ ten or more\n"
    )


def test_a_cluster_without_gpus_has_no_map() -> None:
    """Tests that nothing is drawn where there is nothing to see."""
    the_problem = cluster([{"name": "c1", "shape": "c"}])
    assert map_section(the_problem, IdleGpus((0,), (0,))) is None


def test_a_large_cluster_is_summarised_by_a_level_with_few_domains() -> None:
    """Tests 600 nodes in 60 racks of 3 blocks: blocks are shown, nodes counted by idle GPUs."""
    nodes = [
        {"name": f"r{rack:02d}n[01-10]", "shape": "s", "domain": f"b{rack // 20}/r{rack:02d}"}
        for rack in range(60)
    ]
    running = [{"job": "x", "tasks": [{"node": "r00n01", "gpus": 3}]}]
    text = drawn(cluster(nodes, levels=["block", "rack"], running=running))
    assert text.splitlines() == [
        "Idle GPUs x nodes that have so many",
        "BLOCK  BEFORE     AFTER         IDLE GPUS",
        "b0     8x199 5x1  8x199 5x1  1597 -> 1597",
        "b1     8x200      8x200      1600 -> 1600",
        "b2     8x200      8x200      1600 -> 1600",
    ]


def test_more_domains_than_fit_are_counted() -> None:
    """Tests 50 racks without a coarser level: 40 lines, and how many were left out."""
    nodes = [{"name": f"r{rack}n1", "shape": "s", "domain": f"r{rack}"} for rack in range(50)]
    lines = drawn(cluster(nodes, levels=["rack"])).splitlines()
    assert len(lines) == 2 + 40 + 1
    assert lines[-1] == "... 10 more"


def test_long_tables_are_cut_and_counted() -> None:
    """Tests 100 jobs: 60 rows, the rest counted."""
    jobs = [{"name": f"j{number}", "gpus": 1} for number in range(100)]
    the_problem = problem_from_document({**PROBLEM, "jobs": jobs})
    waits = [{"job": job["name"], "action": "wait"} for job in jobs]
    text = shown(answer_text(the_problem, answer_from_document({"decisions": waits})))
    assert "... 40 more" in text
    assert "j59 " in text
    assert "j60 " not in text


def test_a_comparison_shows_what_only_one_starts_and_what_decides() -> None:
    """Tests the sample against an answer that starts notebook and big instead of train."""
    decisions = {decision["job"]: decision for decision in ANSWER["decisions"]}
    other = {
        **ANSWER,
        "decisions": [
            {"job": "train", "action": "wait"},
            decisions["sweep"],
            {"job": "notebook", "action": "wait"},
            {
                "job": "[red]big[/red]",
                "action": "start",
                "tasks": [{"group": "task", "rank": 0, "node": "n01", "gpus": [*range(8)]}],
            },
            decisions["prep"],
        ],
        "objective": [
            {"tier": "work", "priority": 10, "value": 0.0, "bound": 0.4, "gap": 1.0},
            {"tier": "work", "priority": 0, "value": 0.14, "bound": 0.15, "gap": 0.06},
        ],
        "solver": {"name": "greedy"},
    }
    text = shown(comparison(problem(), answer(), answer_from_document(other)))
    assert text.splitlines() == [
        "Beside it, greedy: 2 of 5 jobs on 11 GPUs; by-hand: 3 of 5 jobs on 20 GPUs",
        "",
        "Started by one only",
        "JOB             PRIORITY  ASKS                  STARTED BY",
        "train                 10  8 cores + 2 x 8 GPUs  by-hand",
        "notebook               0  0.25 GPU              by-hand",
        "[red]big[/red]         0  4 x 8 H100 GPUs       greedy",
        "",
        "Objective side by side",
        "TIER                BY-HAND  GREEDY",
        "work, priority 10       0.4       0  <- decides",
        "work, priority 0   0.123457    0.14",
        "span, rack                1       -",
    ]


def test_equal_answers_compare_as_equal() -> None:
    """Tests that no difference is invented."""
    text = shown(comparison(problem(), answer(), answer()))
    assert "Both start the same jobs." in text
    assert "decides" not in text


@pytest.mark.parametrize(
    ("job", "asks"),
    [
        ({"gpus": 8}, "8 GPUs"),
        ({"gpus": 1}, "1 GPU"),
        ({"gpus": 0.5}, "0.5 GPU"),
        ({"gpu_memory": "10Gi"}, "10 GiB of a GPU"),
        ({"mig": "1g.10gb"}, "MIG 1g.10gb"),
        ({"cpu": "500m"}, "0.5 cores"),
        ({"memory": "2Gi"}, "2 GiB"),
        ({"nvme": "2Gi"}, "other resources"),
        ({"tasks": [{"count": 4, "gpus": 2, "gpu": {"model": ["H100", "A100"]}}]},
         "4 x 2 H100/A100 GPUs"),
        ({"tasks": [{"count": {"min": 1, "max": 4}, "gpus": 1}]}, "1-4 x 1 GPU"),
        ({"tasks": [{"name": "a", "cpu": 1}, {"name": "b", "count": 3, "gpus": 1}]},
         "1 core + 3 x 1 GPU"),
    ],
)  # fmt: skip
def test_requests_in_a_few_words(job: dict[str, Any], asks: str) -> None:
    """Tests what stands in the column ``asks``."""
    the_problem = problem_from_document({**PROBLEM, "jobs": [{"name": "j", **job}]})
    assert request(the_problem.jobs[0]) == asks


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (percent(0.0), "0 %"),
        (percent(1.0), "100 %"),
        (percent(0.00134), "0.134 %"),
        (percent(1e-9), "<0.0001 %"),
        (number(0.0), "0"),
        (number(25.0), "25"),
        (number(0.123456789), "0.123457"),
        (number(1234567.0), "1.23457e+06"),
    ],
)
def test_numbers(written: str, expected: str) -> None:
    """Tests how values and gaps are written; a gap that is there never reads as none."""
    assert written == expected
