"""The server as a process: it listens, and finishes its work when told to stop."""

import signal
import socket
import sys

import uvicorn
from starlette.applications import Starlette
from uvicorn.server import HANDLED_SIGNALS

from lev_plugins.utils.errors import UserError

ALL_NETWORKS = ("0.0.0.0", "0", "::", "::0")  # --host of a server that other machines can reach
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


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound but does not listen yet: until the models are loaded, clients are refused at once.

    ``port``: 0 stands for any free one
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        # with the protocol named, asyncio turns off Nagle's algorithm, which would delay answers by 40 ms
        listener = socket.socket(family, kind, protocol)
        if sys.platform != "win32":  # where it would let a second server take the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"--host {host} --port {port}: {reason}; choose others, or --port 0 for a free one") from error
    return listener


def stop_quietly() -> None:
    """Ignore the signal that stopped the server: uvicorn raises it again when everything is closed."""
    for stop in HANDLED_SIGNALS:
        signal.signal(stop, lambda *_: None)
