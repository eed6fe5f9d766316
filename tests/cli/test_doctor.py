"""Tests of ``placement doctor``."""

from pathlib import Path

from tests.cli.command import run


def install(folder: Path, name: str, file: str) -> None:
    """Pretend that a distribution is installed that brings one file."""
    info = folder / f"{name}-16.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 16.0.0\n")
    (info / "RECORD").write_text(f"{file},,\n")
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).touch()  # a file that is not there does not count from Python 3.12 on


def test_a_sound_installation_is_sound(tmp_path: Path) -> None:
    """Tests that versions are told and both solvers pass, whatever else is installed."""
    install(tmp_path, "displacement", "displacement/placement.py")
    done = run("doctor", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "BAD" not in done.stdout
    for what in ("ortools", "test cp-sat", "test greedy"):
        assert what in done.stdout


def test_a_foreign_package_of_the_same_name_is_found(tmp_path: Path) -> None:
    """Tests with another distribution that brings a package placement, as OpenStack's does."""
    install(tmp_path, "openstack-placement", "placement/objects/allocation.py")
    done = run("doctor", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "BAD  package        openstack-placement also installs" in done.stdout
