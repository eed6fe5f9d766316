"""The lock files: whole, in agreement, and free of anything local."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_lock_files_name_no_index_and_no_path() -> None:
    """Tests that an installation elsewhere gets the same files, from whatever index it has."""
    for lock in sorted((ROOT / "requirements").glob("*.lock")):
        for number, line in enumerate(lock.read_text().splitlines(), start=1):
            place = f"{lock.name}:{number}"
            assert "://" not in line, place
            assert not line.startswith("-"), place
            assert line.startswith(("#", "    --hash=sha256:")) or "==" in line, place


def test_lock_files_agree() -> None:
    """Tests that the smaller locks are parts of the one that the tests ran with."""

    def pins(name: str) -> set[str]:
        lines = (ROOT / "requirements" / name).read_text().splitlines()
        return {line.rstrip(" \\") for line in lines if "==" in line and line[0].isalnum()}

    assert pins("runtime.lock") <= pins("dev.lock")
    assert pins("build.lock") <= pins("dev.lock")


def test_lock_files_hold_what_the_project_asks_for() -> None:
    """Tests that no dependency was added without ``make lock``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    asked = [*project["project"]["dependencies"], *groups["dev"], *groups["build"]]
    lines = (ROOT / "requirements" / "dev.lock").read_text().splitlines()
    locked = {line.split("==")[0].lower() for line in lines if line and line[0].isalnum()}
    for requirement in asked:
        name = requirement.split(">")[0].split("<")[0].split("=")[0].strip().lower()
        assert name in locked, f"{name}: run make lock"
