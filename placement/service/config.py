"""How a server is set up."""

import os
from dataclasses import dataclass, field

MIB = 2**20
GIB = 2**30

DEFAULT_PORT = 50551


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """All settings of ``placement serve``.

    Attributes
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    insecure
        Whether to listen on other than loopback addresses although nothing is encrypted.
    concurrent_solves
        Solves at once; further calls wait, as far as their deadline goes.
    waiting_calls
        Calls at once, waiting ones included; further ones get RESOURCE_EXHAUSTED.
    workers
        Threads of one solve, also the most that a request may ask for.
    time_limit_ms
        Most time for one solve, milliseconds.
    memory_bytes
        Memory one solve may take beyond what the fork server has; 0: no limit.
    max_message_bytes
        Largest request and response.
    grace_s
        Seconds that running solves get at shutdown to answer with what they have.
    solver_modules
        Modules that the fork server imports first; they register further solvers.
    entry
        ``module:function`` that a child runs (:mod:`placement.service.solve_entry`).
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    insecure: bool = False
    concurrent_solves: int = 1
    waiting_calls: int = 256
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    time_limit_ms: int = 600_000
    memory_bytes: int = 4 * GIB
    max_message_bytes: int = 64 * MIB
    grace_s: float = 10.0
    solver_modules: tuple[str, ...] = ()
    entry: str = "placement.service.solve_entry:run"
