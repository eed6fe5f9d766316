"""Tests of help, usage errors and what needs no solver."""

import importlib.metadata
import json
import re
import subprocess
import sys

import pytest

from tests.cli.command import ROOT, environment, run

COMMANDS = ("solve", "verify", "serve", "schema", "doctor")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command: str) -> None:
    """Tests that each command explains itself with lines that begin as one would type them."""
    done = run(command, "--help")
    assert done.returncode == 0
    assert re.search(rf"^  Examples:\n(    .*\n)*    placement {command}", done.stdout, re.M)
    assert done.stderr == ""


def test_help_lists_the_commands_and_the_exit_status() -> None:
    """Tests the first thing a new user sees."""
    done = run("--help")
    assert done.returncode == 0
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\S", done.stdout, re.M), command
    assert "Exit status:" in done.stdout


def test_help_loads_nothing_heavy() -> None:
    """Tests that help and completion stay quick: what is slow to import stays out."""
    program = (
        "import sys\nfrom placement.cli.app import app\n"
        "try: app(['--help'], prog_name='placement')\nexcept SystemExit: pass\n"
        "print(sorted({'grpc', 'numpy', 'ortools', 'pydantic', 'yaml'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_version_is_that_of_the_distribution() -> None:
    """Tests ``placement --version``."""
    done = run("--version")
    assert done.stdout == f"placement {importlib.metadata.version('placement-engine')}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Usage: placement"),
        (("slove",), "No such command 'slove'"),
        (("solve",), "name a problem file"),
        (("solve", "a", "--format", "xml"), "xml"),
        (("solve", "a", "--wrokers", "2"), "--wrokers"),
        (("solve", "a", "--workers", "0"), "--workers"),
        (("solve", "a", "--seed", "x"), "--seed"),
        (("solve", "a", "--time-limit", "soon"), "is not a duration"),
        (("solve", "a", "--time-limit", "0"), "--time-limit"),
        (("solve", "-", "--jobs", "-"), "only once"),
        (("solve", "a", "--compare", "greedy", "--format", "json"), "--compare"),
        (("solve", "a", "--output", "/no/such/directory/x"), "--output"),
        (("solve", "examples/quickstart.yaml", "--solver", "magic"), "cp-sat"),
        (("solve", "examples/quickstart.yaml", "--compare", "magic"), "cp-sat"),
        (("verify",), "ANSWER"),
        (("verify", "-", "-"), "only once"),
        (("serve", "--memory-limit", "much"), "--memory-limit"),
        (("serve", "--port", "70000"), "--port"),
    ],
)
def test_usage_errors_exit_2_and_name_what_is_wrong(arguments: tuple[str, ...], words: str) -> None:
    """Tests that a slip on the command line is told apart from other failures."""
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_schema_is_json_schema() -> None:
    """Tests that editors can read what ``placement schema`` prints."""
    done = run("schema")
    assert done.returncode == 0, done.stderr
    schema = json.loads(done.stdout)
    assert {"cluster", "jobs", "policy"} <= set(schema["properties"])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_exist(shell: str) -> None:
    """Tests that a completion script for the shell can be had."""
    done = run(_PLACEMENT_COMPLETE=f"source_{shell}")
    assert done.returncode == 0
    assert "_PLACEMENT_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("placement ver", {"verify"}),
        ("placement solve --so", {"--solver"}),
        ("placement solve --solver cp", {"cp-sat"}),
        ("placement solve --format ", {"table", "json", "yaml"}),
    ],
)
def test_completion_offers_what_fits(words: str, offered: set[str]) -> None:
    """Tests what bash would offer on pressing tab."""
    position = str(len(words.split(" ")) - 1)
    done = subprocess.run(
        [sys.executable, "-m", "placement"],
        env=environment(_PLACEMENT_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=position),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(done.stdout.split()) == offered
