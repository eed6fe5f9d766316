"""Tests of ``placement doctor``."""

from pathlib import Path

import pytest

from tests.cli.command import run


def test_a_sound_installation_is_sound() -> None:
    """Tests that versions are told and both solvers pass their self-test."""
    done = run("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "BAD" not in done.stdout
    for what in ("ortools", "test cp-sat", "test greedy"):
        assert what in done.stdout


@pytest.mark.parametrize("record", ["placement/objects/allocation.py,,\n", "other/x.py,,\n"])
def test_a_foreign_package_of_the_same_name_is_found(tmp_path: Path, record: str) -> None:
    """Tests with an installed distribution that does or does not bring a package placement."""
    info = tmp_path / "openstack_placement-16.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: openstack-placement\nVersion: 16.0.0\n"
    )
    (info / "RECORD").write_text(record)
    done = run("doctor", PYTHONPATH=str(tmp_path))
    foreign = record.startswith("placement/")
    assert ("openstack-placement" in done.stdout) == foreign
    assert done.returncode == (1 if foreign else 0), done.stdout
