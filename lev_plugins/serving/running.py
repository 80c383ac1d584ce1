"""The server as a process: it listens, and finishes its work when told to stop."""

import signal
import socket
from ipaddress import ip_address
from typing import Any

import uvicorn
from starlette.applications import Starlette

from lev_plugins.errors import UserError

MOST_CONNECTIONS = 1000
IDLE_SECONDS = 5


def server(app: Starlette, seconds: float) -> uvicorn.Server:
    """``seconds``: for running requests to end when the server is stopped."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level="critical",  # app.Guard has a log of its own
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=max(1, round(seconds)),
    )
    return uvicorn.Server(config)


def everywhere(host: str) -> bool:
    """Is this an address that means all networks of the machine?

    >>> [everywhere(host) for host in ("0.0.0.0", "0", "::0", "127.0.0.1")]
    [True, True, True, False]
    """
    try:
        *_, (address, *_) = addressed(host, 0)
    except OSError:  # bound() says so
        return False
    return ip_address(address).is_unspecified


def addressed(host: str, port: int) -> tuple[Any, ...]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]


def bound(host: str, port: int) -> socket.socket:
    """Port 0: any that is free. Until it listens, when the models are loaded, clients are refused at once."""
    try:
        family, kind, protocol, _, address = addressed(host, port)
        # asyncio sends what is written at once, not 40 ms later, only if the socket says that it speaks TCP
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"--host {host} --port {port}: {reason}; choose others, or --port 0 for a free one") from error
    return listener


def stop_quietly() -> None:
    """uvicorn raises the signal that stopped it again, when all is done: then it shall do nothing."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: None)
