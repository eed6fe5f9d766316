"""``placement serve``: the front process."""

import asyncio
import ipaddress
import logging
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health_aio
from grpc_reflection.v1alpha import reflection

from placement.service.config import ServerConfig
from placement.service.fork_client import ForkServer, ForkServerError
from placement.service.logs import event, set_up
from placement.service.servicer import SERVICE_NAME, PlacementServicer

_LOG = logging.getLogger(__name__)

_STOP_S = 0.5
"""What calls get that are still there after the grace, such as watchers of the health."""


def serve(config: ServerConfig) -> int:
    """Serve until SIGTERM or SIGINT.

    Prints ``listening on HOST:PORT`` to standard output once it takes calls.

    Returns
    -------
    int
        Exit status: 0 after a shutdown that was asked for, 1 if it could not start.
    """
    set_up()
    try:
        return asyncio.run(_serve(config))
    except (ForkServerError, BindError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


class BindError(Exception):
    """The server may not, or cannot, listen on the address."""


def check_address(config: ServerConfig) -> None:
    """Refuse an address that others can reach, unless told so.

    Raises
    ------
    BindError
        The host has an address that is not loopback, or none at all.
    """
    try:
        found = socket.getaddrinfo(config.host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise BindError(f"unknown host {config.host!r}: {error}") from error
    addresses = [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]
    if not config.insecure and not all(address.is_loopback for address in addresses):
        raise BindError(
            f"{config.host} is not a loopback address, and calls are not encrypted; "
            "if that is wanted, say --insecure"
        )


async def _serve(config: ServerConfig) -> int:
    check_address(config)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    forks = ForkServer(config.entry, config.solver_modules, config.memory_bytes)
    executor = ThreadPoolExecutor(max_workers=config.concurrent_solves + 1)
    servicer = PlacementServicer(config, forks, executor)
    health = health_aio.HealthServicer()
    server = _grpc_server(config, servicer, health)
    port = _bind(server, config)
    try:
        await forks.start()
        await server.start()
        watcher = asyncio.create_task(_tell_health(forks, health))
        host = f"[{config.host}]" if ":" in config.host else config.host
        print(f"listening on {host}:{port}", flush=True)
        event(_LOG, logging.INFO, "listening", host=config.host, port=port, pid_of_forks=forks.pid)
        await stop.wait()
        watcher.cancel()
        await _drain(config, server, servicer, health)
    finally:
        await forks.stop()
        executor.shutdown(wait=False, cancel_futures=True)
    event(_LOG, logging.INFO, "stopped")
    return 0


def _grpc_server(
    config: ServerConfig, servicer: PlacementServicer, health: health_aio.HealthServicer
) -> grpc.aio.Server:
    server = grpc.aio.server(
        maximum_concurrent_rpcs=config.waiting_calls,
        options=[
            # A second server on the same port would silently take half of the calls.
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", config.max_message_bytes),
            ("grpc.max_send_message_length", config.max_message_bytes),
            ("grpc.max_concurrent_streams", config.waiting_calls),
            # Clients behind balancers ping; the default ends their connections for it.
            ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
            ("grpc.keepalive_permit_without_calls", 1),
            # A caller that vanished without a word is noticed, and its solve ended.
            ("grpc.keepalive_time_ms", 30_000),
            ("grpc.keepalive_timeout_ms", 10_000),
        ],
    )
    server.add_generic_rpc_handlers((servicer.handler(),))
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    names = (
        SERVICE_NAME,
        health_pb2.DESCRIPTOR.services_by_name["Health"].full_name,
        reflection.SERVICE_NAME,
    )
    reflection.enable_server_reflection(names, server)
    return server


def _bind(server: grpc.aio.Server, config: ServerConfig) -> int:
    host = f"[{config.host}]" if ":" in config.host else config.host
    try:
        port = server.add_insecure_port(f"{host}:{config.port}")
    except RuntimeError as error:
        raise BindError(f"cannot listen on {host}:{config.port}: {error}") from error
    if not port:
        raise BindError(f"cannot listen on {host}:{config.port}")
    return port


async def _tell_health(forks: ForkServer, health: health_aio.HealthServicer) -> None:
    """Serving while there is a fork server."""
    serving = health_pb2.HealthCheckResponse.SERVING
    broken = health_pb2.HealthCheckResponse.NOT_SERVING
    while True:
        await forks.ready.wait()
        for name in ("", SERVICE_NAME):
            await health.set(name, serving)
        await forks.lost.wait()
        for name in ("", SERVICE_NAME):
            await health.set(name, broken)


async def _drain(
    config: ServerConfig,
    server: grpc.aio.Server,
    servicer: PlacementServicer,
    health: health_aio.HealthServicer,
) -> None:
    """Let running calls answer with what they have, then stop."""
    event(_LOG, logging.INFO, "shutting down", grace_s=config.grace_s)
    await health.enter_graceful_shutdown()
    servicer.draining.set()
    try:
        async with asyncio.timeout(config.grace_s):
            await servicer.idle.wait()
    except TimeoutError:
        event(_LOG, logging.WARNING, "calls are cut off")
    await server.stop(_STOP_S)
