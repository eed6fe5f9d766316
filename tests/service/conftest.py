"""One server for all tests that do not end it."""

from collections.abc import Iterator

import pytest

from tests.service.servers import Server, running

STUBS = {
    "solver_modules": ["tests.service.stubs"],
    "entry": "tests.service.stubs:entry",
    "memory_bytes": 400 * 2**20,
    "max_message_bytes": 300_000,
    "concurrent_solves": 2,
    "workers": 2,
}


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server with the stub solvers; ended in order, with nothing left."""
    with running(**STUBS) as one:
        yield one
        assert one.stop() == 0
        assert one.pids() == set()
        # Nothing that the tests did was a surprise to the server itself.
        surprises = {"call failed", "check failed"}
        assert [line for line in one.log if line["event"] in surprises] == []
