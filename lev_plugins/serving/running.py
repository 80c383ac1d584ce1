"""The server as a process: it listens, and finishes its work when told to stop."""

import signal
import socket
from ipaddress import ip_address
from typing import Any

import uvicorn
from starlette.applications import Starlette

from lev_plugins.errors import UserError

MAX_CONNECTIONS = 1000
IDLE_SECONDS = 5


def server(app: Starlette, seconds: float) -> uvicorn.Server:
    """Return the server of an application.

    ``seconds``: how long running requests may take to end when the server is stopped
    """
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level="critical",  # app.Guard logs requests and errors
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=max(1, round(seconds)),
    )
    return uvicorn.Server(config)


def everywhere(host: str) -> bool:
    """Return whether the address stands for all networks of the machine.

    >>> [everywhere(host) for host in ("0.0.0.0", "0", "::0", "127.0.0.1")]
    [True, True, True, False]
    """
    try:
        *_, (address, *_) = addressed(host, 0)
    except OSError:  # bound() reports it
        return False
    return ip_address(address).is_unspecified


def addressed(host: str, port: int) -> tuple[Any, ...]:
    """Look up the address: family, type, protocol, name, socket address."""
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound but does not listen yet: until the models are loaded, clients are refused at once.

    ``port``: 0 stands for any free one
    """
    try:
        family, kind, protocol, _, address = addressed(host, port)
        # with the protocol named, asyncio turns off Nagle's algorithm, which would delay answers by 40 ms
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"--host {host} --port {port}: {reason}; choose others, or --port 0 for a free one") from error
    return listener


def stop_quietly() -> None:
    """Ignore the signal that stopped the server: uvicorn raises it again when everything is closed."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: None)
