"""Tests of ``placement solve`` and ``verify`` on files, as users run them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from placement.answer import Action, Answer, Status
from placement.engine import SolveOptions, solve
from placement.problem_file import load_problem
from tests.cli.command import EXAMPLES, ROOT, environment, run

QUICKSTART = EXAMPLES / "quickstart.yaml"
SPLIT = [
    *("--cluster", EXAMPLES / "split" / "cluster.yaml"),
    *("--jobs", EXAMPLES / "split" / "jobs.yaml"),
    *("--policy", EXAMPLES / "split" / "policy.yaml"),
]

STARTS = {
    "quickstart.yaml": {"train", "tune", "tokenize"},
    "two-idle-each.yaml": set(),
    "sixteen-scattered.yaml": set(),
    "sixteen-scattered-singles.yaml": {"sixteen-singles"},
    "small-or-large.yaml": {"large"},
}


def started(answer: dict[str, list[dict[str, str]]]) -> set[str]:
    """Jobs that start."""
    return {d["job"] for d in answer["decisions"] if d["action"] == "start"}


@pytest.mark.parametrize("example", STARTS)
def test_small_examples_are_solved(example: str) -> None:
    """Tests who starts in each example, and that it is proven."""
    problem = load_problem([EXAMPLES / example])
    answer = solve(problem, SolveOptions(time_limit_ms=60_000, workers=1))
    assert started_jobs(answer) == STARTS[example]
    assert answer.status is Status.OPTIMAL


def test_an_answer_is_written_saved_and_verified(tmp_path: Path) -> None:
    """Tests the round: solve a file, save the answer, verify it."""
    saved = tmp_path / "answer.json"
    options = ("--time-limit", "60s", "--workers", "1", "--format", "json")
    done = run("solve", QUICKSTART, *options, "--output", saved)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert started(answer) == STARTS["quickstart.yaml"]
    assert answer["status"] == "optimal"
    assert saved.read_text() == done.stdout
    verified = run("verify", QUICKSTART, saved)
    assert (verified.returncode, verified.stderr) == (0, "")
    assert verified.stdout == "ok: 4 decisions, 7 tiers; no violations\n"


def test_every_example_has_a_test_and_a_header() -> None:
    """Tests that no example is left out, and that each says what it shows."""
    files = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.yaml")}
    split = {"split/cluster.yaml", "split/jobs.yaml", "split/policy.yaml"}
    assert files == {*STARTS, "fifty-servers.yaml", *split}
    listed = (EXAMPLES / "README.md").read_text()
    for name in files:
        assert (EXAMPLES / name).read_text().startswith("# "), name
        assert f"({name})" in listed


def test_greedy_leaves_a_gang_undone_that_can_start() -> None:
    """Tests what the demo shows: all training starts, of which greedy leaves 16 GPUs undone."""
    problem = load_problem([EXAMPLES / "fifty-servers.yaml"])
    greedy = solve(problem, SolveOptions(solver="greedy"))
    assert "pretrain-3b" not in started_jobs(greedy)
    found: list[Answer] = []
    best = solve(
        problem,
        SolveOptions(time_limit_ms=120_000, workers=1),
        on_answer=found.append,
        stopped=lambda: bool(found) and "pretrain-3b" in started_jobs(found[-1]),
    )
    training = {job.name for job in problem.jobs if job.priority == 50}
    assert training <= started_jobs(best)


def started_jobs(answer: Answer) -> set[str]:
    """Jobs that start in an answer."""
    return {decision.job for decision in answer.decisions if decision.action is Action.START}


def test_a_comparison_stands_below_the_answer() -> None:
    """Tests ``--compare``, in a problem in which both do the same."""
    done = run("solve", QUICKSTART, "--solver", "greedy", "--compare", "best-fit")
    assert done.returncode == 0, done.stderr
    assert "\nBeside it, best-fit: 3 of 4 jobs on 20 GPUs; greedy: 3 of 4 jobs" in done.stdout


def test_split_files_are_one_problem(tmp_path: Path) -> None:
    """Tests the parts as options and as arguments, YAML out, and the answer saved as YAML."""
    saved = tmp_path / "answer.yaml"
    done = run("solve", *SPLIT, "--solver", "greedy", "--format", "yaml", "--output", saved)
    assert done.returncode == 0, done.stderr
    assert started(yaml.safe_load(done.stdout)) >= {"serve", "train", "notebook"}
    assert saved.read_text() == done.stdout
    parts = [EXAMPLES / "split" / f"{part}.yaml" for part in ("cluster", "jobs", "policy")]
    assert run("verify", *parts, saved).returncode == 0
    assert run("verify", *SPLIT, saved).returncode == 0


def test_yaml_and_json_say_the_same_and_reproducible_is_byte_for_byte() -> None:
    """Tests the formats against each other, two reproducible runs, and standard input."""
    options = ("--reproducible", "--seed", "7", "--time-limit", "60s")
    as_json = run("solve", QUICKSTART, "--format", "json", *options)
    as_yaml = run("solve", "-", "--format", "yaml", *options, stdin=QUICKSTART.read_bytes())
    assert yaml.safe_load(as_yaml.stdout) == json.loads(as_json.stdout)
    assert "seconds" not in json.loads(as_json.stdout)["solver"]


def test_the_table_is_the_default_also_into_a_pipe() -> None:
    """Tests that no colour codes go where no terminal is, and that the sections are there."""
    done = run("solve", QUICKSTART, "--solver", "greedy")
    assert "\x1b" not in done.stdout
    for title in ("Starts now", "Waits", "Objective", "Idle GPUs", "Could still be placed"):
        assert f"\n{title}" in done.stdout


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"cluster: [", "is not YAML"),
        (b"\xff\xfe\x00\x01", "<stdin>:"),
        (b"", "<stdin>: is empty"),
        (b"[1, 2]", "<stdin>"),
        (QUICKSTART.read_bytes().replace(b"gpus: 4}", b"gpus: -4}"), "jobs[1].gpus: -4 is neg"),
        (QUICKSTART.read_bytes().replace(b"priority", b"priorty"), "priority"),
        (QUICKSTART.read_bytes().replace(b"shape: hgx", b"shape: hxg"), "hxg"),
        (QUICKSTART.read_bytes() + b"    gpu: {same: nvlink}\n", "<stdin>:"),
        (QUICKSTART.read_bytes() + b"policy: {fairness: strict}\n", ":22: policy.fairness"),
    ],
)
def test_bad_input_exits_2_and_names_the_place(text: bytes, place: str) -> None:
    """Tests that what cannot be understood or is not honoured is refused, one line per fault."""
    done = run("solve", "-", stdin=text)
    assert done.returncode == 2
    assert place in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_verify_refuses_what_cannot_be_judged() -> None:
    """Tests that an answer to a problem that is not honoured is not called right or wrong."""
    text = QUICKSTART.read_bytes() + b"policy: {fairness: strict}\n"
    done = run("verify", "-", QUICKSTART, stdin=text)
    assert done.returncode == 2
    assert done.stderr.startswith("<stdin>:22: policy.fairness: ")


def test_all_faults_are_told_at_once() -> None:
    """Tests three slips in one file: three lines, in the order of the file."""
    text = QUICKSTART.read_text().replace("gpus: 4}]", "gpus: 4, cup: 1}]")
    text = text.replace("rack}", "rak}").replace("memory: 256Gi}", "memory: 256Gb}")
    done = run("solve", "-", stdin=text)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 3
    assert [line.split(":")[1] for line in lines] == ["13", "17", "21"]


def test_a_missing_file_and_a_directory_are_bad_input(tmp_path: Path) -> None:
    """Tests that both files are told, not only the first."""
    done = run("solve", tmp_path / "no.yaml", tmp_path)
    assert done.returncode == 2
    assert "no.yaml: there is no such file" in done.stderr
    assert "is a directory" in done.stderr


def test_control_characters_of_the_input_do_not_reach_the_terminal() -> None:
    """Tests a key that would clear the screen."""
    done = run("solve", "-", stdin='{"cluster": {}, "jobs": [], "\\u001b[2J\\n": 1}')
    assert done.returncode == 2
    assert "\x1b" not in done.stderr


def test_an_output_that_cannot_be_written_is_told_after_the_answer(tmp_path: Path) -> None:
    """Tests that the answer is on standard output although it could not be saved."""
    done = run("solve", QUICKSTART, "--solver", "greedy", "--output", tmp_path)
    assert done.returncode == 1
    assert "3 of 4 jobs start" in done.stdout
    assert done.stderr == f"placement: {tmp_path}: Is a directory\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[", "is not"),
        ("[]", "a list where a mapping with decisions is expected"),
        ("{}", "decisions: is missing"),
        ('{"decisions": [{"job": "a", "action": "fly"}]}', "<stdin>:1: decisions[0].action"),
        ("decisions:\n- job: a\n  action: wait\n  colour: red\n", "<stdin>:4: decisions[0].colour"),
        ('{"decisions": [], "evictions": []}', "evictions: unknown key"),
    ],
)
def test_an_unreadable_answer_exits_2_and_names_the_place(text: str, place: str) -> None:
    """Tests answers that are none."""
    done = run("verify", QUICKSTART, "-", stdin=text)
    assert done.returncode == 2
    assert place in done.stderr


def test_a_wrong_answer_exits_1_and_names_the_rules() -> None:
    """Tests an answer in which two jobs hold the same GPUs and one value is invented."""
    good = run("solve", QUICKSTART, "--solver", "greedy", "--format", "json")
    answer = json.loads(good.stdout)
    answer["decisions"][1]["tasks"][0]["node"] = "n3"
    answer["objective"][0]["value"] = 0.7
    done = run("verify", QUICKSTART, "-", stdin=json.dumps(answer))
    assert done.returncode == 1
    for words in ("node n3: GPU 0 is held by", "(gpu-held-once)", "(tier-value)"):
        assert words in done.stdout
    assert done.stderr == ""


def start(*arguments: str | Path, **changes: str) -> subprocess.Popen[str]:
    """Start the command and go on."""
    return subprocess.Popen(
        [sys.executable, "-m", "placement", *map(str, arguments)],
        cwd=ROOT,
        env=environment(**changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A problem that keeps a solver busy: gangs of many sizes over part-full nodes."""
    nodes, running, jobs = [], [], []
    for index in range(240):
        name = f"n{index:03d}"
        nodes.append({"name": name, "shape": "s", "domain": f"r{index // 12}"})
        use = {"node": name, "gpus": 1 + index * 7 % 6, "cpu": 1 + index * 5 % 11}
        running.append({"job": f"run-{index}", "tasks": [use]})
    for index in range(160):
        task = {"count": 2 + index * 3 % 7, "gpus": 1 + index % 5, "cpu": 1 + index * 11 % 13}
        topology = {"required": "rack"} if index % 3 else {"preferred": "rack"}
        jobs.append({"name": f"job-{index}", "topology": topology, "tasks": [task]})
    shapes = {"s": {"cpu": 32, "gpus": {"model": "A100", "count": 8}}}
    cluster = {"levels": ["rack"], "shapes": shapes, "nodes": nodes, "running": running}
    path = tmp_path_factory.mktemp("hard") / "hard.json"
    path.write_text(json.dumps({"now": "2026-01-01T00:00:00Z", "cluster": cluster, "jobs": jobs}))
    return path


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_solve_with_the_best_answer(hard: Path, stop: signal.Signals) -> None:
    """Tests that Ctrl-C and SIGTERM give the answer so far, checked, and exit 0."""
    process = start("solve", hard, "--time-limit", "10m", "--format", "json", "--workers", "1")
    _wait_until_it_solves(process)
    process.send_signal(stop)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert errors == "placement: interrupted; this is the best answer so far\n"
    assert len(json.loads(out)["decisions"]) == 160
    assert run("verify", hard, "-", stdin=out).returncode == 0


def _wait_until_it_solves(process: subprocess.Popen[str]) -> None:
    """Wait until SIGTERM is caught: from then on a signal ends the solve, not the command."""
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        caught = int(re.search(r"SigCgt:\s*([0-9a-f]+)", status.read_text())[1], 16)  # type: ignore[index]
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.02)
    raise AssertionError("it ended before it solved")


def test_progress_is_shown_on_a_terminal(hard: Path) -> None:
    """Tests standard error on a terminal: the best so far, after a second."""
    main, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "placement", "solve", hard, "--time-limit", "3s", "--workers", "1"],
        cwd=ROOT,
        env=environment(TERM="xterm", COLUMNS="150"),
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    )
    os.close(terminal)
    shown = bytearray()
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    out, _ = process.communicate(timeout=60)
    os.close(main)
    assert process.returncode == 0
    assert b"solving with auto" in shown
    assert b"of 160 jobs start; work, priority 0" in shown
    assert "jobs start" in out.splitlines()[0]
    assert "\x1b" not in out


def test_a_closed_pipe_is_silent() -> None:
    """Tests ``placement solve ... | head -c 1``: no complaint about the reader that left."""
    process = start("solve", QUICKSTART, "--solver", "greedy")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, errors = process.communicate(timeout=60)
    assert errors == ""
    assert process.returncode == 1


def test_an_unforeseen_failure_is_one_line_and_debug_shows_where(tmp_path: Path) -> None:
    """Tests with a module on the path that breaks an import deep inside."""
    (tmp_path / "yaml.py").write_text("raise RuntimeError('broken\\n on purpose')\n")
    done = run("solve", QUICKSTART, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == (
        "placement: unexpected RuntimeError: broken on purpose "
        "(placement --debug COMMAND ... shows where)\n"
    )
    done = run("--debug", "solve", QUICKSTART, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "Traceback" in done.stderr
