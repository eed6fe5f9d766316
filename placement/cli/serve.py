"""``placement serve``: the gRPC service."""

import dataclasses
from collections.abc import Callable
from typing import Annotated

import typer

from placement.service.config import ServerConfig

EPILOG = """\b
Examples:
  placement serve
  placement serve --port 0 --memory-limit 2Gi
  placement serve --host 0.0.0.0 --insecure --concurrent-solves 4 --workers 8

It listens on loopback only, unless --insecure says that an unencrypted port may be reached from
elsewhere. SIGTERM or Ctrl-C ends it: running solves answer with the best they have.
"""

_DEFAULTS = ServerConfig()


def serve(
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = _DEFAULTS.host,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port; 0 takes a free one.")
    ] = _DEFAULTS.port,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Listen beyond loopback although nothing is encrypted."),
    ] = False,
    concurrent_solves: Annotated[
        int, typer.Option(metavar="N", min=1, help="Solves at once; further calls wait.")
    ] = _DEFAULTS.concurrent_solves,
    waiting_calls: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Calls at once, waiting ones included; more are refused."
        ),
    ] = _DEFAULTS.waiting_calls,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Threads of one solve; without it one per core."),
    ] = None,
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Most time for one solve.")
    ] = f"{_DEFAULTS.time_limit_ms // 1000}s",
    memory_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory of one solve; 0: no limit.")
    ] = f"{_DEFAULTS.memory_bytes // 2**30}Gi",
    message_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="Largest request and response.")
    ] = f"{_DEFAULTS.max_message_bytes // 2**20}Mi",
    grace: Annotated[
        str, typer.Option(metavar="TIME", help="For running solves to answer when the server ends.")
    ] = f"{_DEFAULTS.grace_s:g}s",
) -> None:
    """Serve placement.v1.PlacementService over gRPC."""
    from placement.quantities import parse_bytes, parse_milliseconds

    config = dataclasses.replace(
        _DEFAULTS,
        host=host,
        port=port,
        insecure=insecure,
        concurrent_solves=concurrent_solves,
        waiting_calls=waiting_calls,
        workers=_DEFAULTS.workers if workers is None else workers,
        time_limit_ms=_parsed(parse_milliseconds, time_limit, "--time-limit"),
        memory_bytes=_parsed(parse_bytes, memory_limit, "--memory-limit"),
        max_message_bytes=_parsed(parse_bytes, message_limit, "--message-limit"),
        grace_s=_parsed(parse_milliseconds, grace, "--grace") / 1000,
    )
    from placement.service.server import serve as run_server

    raise typer.Exit(run_server(config))


def _parsed(parse: Callable[[object], int], text: str, option: str) -> int:
    try:
        return parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
