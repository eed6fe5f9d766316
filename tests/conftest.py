"""What every test may use: data kept beside the repository, and how hard properties are tried."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).parents[1]

# Machines under load are slow: no deadlines. The ci profile gives the same examples each time.
settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "default")
)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Data kept beside the repository, or where ``PLACEMENT_SHARED`` says."""
    path = Path(os.environ.get("PLACEMENT_SHARED", REPOSITORY.parent / "shared"))
    if not path.is_dir():
        pytest.skip("no shared data beside the repository")
    return path
