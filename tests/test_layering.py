"""Each layer knows only those below it: the contracts of ``pyproject.toml`` hold."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def lint_imports(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run import-linter as ``make layers`` does, without its cache."""
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as run; run()",
    ]
    return subprocess.run(
        [*command, "--no-cache", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_every_layering_contract_is_kept() -> None:
    """Tests that no module imports what its layer must not know."""
    done = lint_imports()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_broken_contract_fails(tmp_path: Path) -> None:
    """Tests that the check is able to fail: the engine does import the compiled problem."""
    config = tmp_path / "contracts.toml"
    config.write_text(
        """
[tool.importlinter]
root_packages = ["placement", "solvers"]
include_external_packages = true
[[tool.importlinter.contracts]]
name = "solvers know nothing"
type = "forbidden"
source_modules = ["solvers"]
forbidden_modules = ["placement.compiled"]
"""
    )
    done = lint_imports("--config", str(config))
    assert done.returncode == 1
    assert "solvers know nothing BROKEN" in done.stdout


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("placement", ("grpc", "numpy", "ortools", "pandas")),
        ("placement.check", ("grpc", "numpy", "ortools")),
        ("placement.cli.app", ("grpc", "numpy", "ortools", "pandas")),
        ("placement.client", ("ortools", "pandas")),
        ("placement.service.fork_server", ("grpc",)),
        ("placement.service.server", ("ortools", "pandas")),
        ("placement.service.solve_entry", ("grpc",)),
        ("solvers.registry", ("grpc",)),
    ],
)
def test_importing_stays_light(module: str, unwanted: tuple[str, ...]) -> None:
    """Tests what one import loads in a fresh interpreter; the contracts see only the text."""
    program = f"import sys, {module}; print(*sorted(set(sys.modules) & set({unwanted!r})))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
