"""The server as a process: it listens, waits only so long for a request, and finishes its work when told to stop."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from lev_plugins.errors import UserError

MOST_CONNECTIONS = 1000
IDLE_SECONDS = 5
LATE_BODY = b'{"error": "the request did not arrive in time: send it all at once"}'
LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(LATE_BODY), LATE_BODY)
)


class Server(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]):
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()


def server(app: Starlette, seconds: float, ready: Callable[[], None] = lambda: None) -> Server:
    """``seconds``: for the head of a request to arrive, and for running requests to end when the server is stopped."""
    config = uvicorn.Config(
        app,
        http=patient(seconds),
        ws="none",
        loop="asyncio",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level="critical",  # guard.py has a log of its own
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=max(1, round(seconds)),
    )
    return Server(config, ready)


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
    """Port 0: any that is free."""
    try:
        family, kind, protocol, _, address = addressed(host, port)
        # asyncio sends what is written at once, not 40 ms later, only if the socket says that it speaks TCP
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"--host {host} --port {port}: {reason}; choose others, or --port 0 for a free one") from error
    return found  # it listens when the server does: until then, clients are refused rather than kept waiting


def stop_quietly() -> None:
    """uvicorn raises the signal that stopped it again, when all is done: then it shall do nothing."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)


ANSWERED = 3  # times the time for a request: to send it, to answer it, and to read the answer


def patient(seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's protocol, which by itself waits for ever for the head of a request."""

    class Patient(H11Protocol):
        late: asyncio.TimerHandle | None = None
        watched: Any = None  # the request that the timer is about; None: the next one

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.expect()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.expect()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self.late is not None:
                self.late.cancel()

        def running(self) -> Any:
            return self.cycle if self.cycle is not None and not self.cycle.response_complete else None

        def expect(self) -> None:
            """Limits the time until a request arrives and, after that, until its answer has been read."""
            running = self.running()
            if self.late is not None:
                if running is self.watched:
                    return
                self.late.cancel()
            self.watched = running
            wait, end = (seconds, self.give_up) if running is None else (ANSWERED * seconds, self.cut_off)
            self.late = self.loop.call_later(wait, end)

        def cut_off(self) -> None:
            """A client that does not read its answer would keep the connection for ever."""
            self.late, running = None, self.running()
            if running is self.watched or (running is None and self.transport.get_write_buffer_size()):
                self.transport.abort()
            elif running is not None:  # uvicorn closes a connection that waits for the next request
                self.expect()

        def give_up(self) -> None:
            if self.transport.get_write_buffer_size():
                self.transport.abort()  # to close it would wait until the buffer is read
                return
            self.transport.write(LATE)
            self.transport.close()

    return Patient
