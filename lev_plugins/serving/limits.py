"""What a request may be: from whom, how large, how slow. Everything else is refused in one sentence."""

import asyncio
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from lev_plugins.errors import UserError

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
PORT = re.compile(r":\d+$")
DEFAULT_PORT = {"http": ":80", "https": ":443"}
MOST_FIELDS = 100  # of a form


class Refusal(Exception):
    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})


class Gone(Exception):
    """The client has left: nobody waits for an answer."""


@dataclass(frozen=True)
class Limits:
    most_bytes: int = 1_000_000  # of a request
    most_text: int = 20_000  # characters of its texts
    seconds: float = 30.0  # to send it, and again to answer it


# ---- from whom -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Access:
    hosts: Sequence[str] = LOCAL_HOSTS
    origins: Sequence[str] = ()
    token: str | None = field(default=None, repr=False)

    def check_host(self, host: str) -> None:
        """A page on the Web can make its own name lead here; a browser then sends that name."""
        name = name_of(host)
        if name not in map(name_of, self.hosts):
            raise Refusal(403, f"this server does not answer to the name {name!r}: start it with --allow-host NAME")

    def check_origin(self, origin: str | None, host: str) -> None:
        """A browser names the page that asks: this server's own, perhaps behind a proxy with TLS, or an allowed one."""
        allowed = map(plain_origin, (f"http://{host}", f"https://{host}", *self.origins))
        if origin is not None and plain_origin(origin) not in allowed:
            raise Refusal(403, f"pages from {origin} may not use this server: start it with --allow-origin {origin}")

    def check_token(self, *given: str | None) -> None:
        """One of these must be the token, if the server has one."""
        if self.token is None:
            return
        same = [hmac.compare_digest(self.token.encode(), token.encode()) for token in given if token is not None]
        if not any(same):
            reason = "the token is wrong" if same else "this server needs a token"
            message = f"{reason}: send the header 'Authorization: Bearer TOKEN'"
            raise Refusal(401, message, {"WWW-Authenticate": "Bearer"})


def name_of(host: str) -> str:
    """
    >>> name_of("Example.org:8081"), name_of("[::1]:80")
    ('example.org', '[::1]')
    """
    return PORT.sub("", host).lower()


def plain_origin(origin: str) -> str:
    """
    >>> plain_origin("https://Example.org:443"), plain_origin("http://localhost:3000")
    ('https://example.org', 'http://localhost:3000')
    """
    scheme, _, rest = origin.lower().partition("://")
    return f"{scheme}://{rest.removesuffix(DEFAULT_PORT.get(scheme, ''))}"


def bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


# ---- how large, how slow ---------------------------------------------------------------------------------------------


async def read_body(request: Request, limits: Limits) -> bytes:
    try:
        return await asyncio.wait_for(read_at_most(request, limits.most_bytes), limits.seconds)
    except asyncio.TimeoutError:
        late = f"the request did not arrive within {limits.seconds:g} seconds: send it faster, or less of it"
        raise Refusal(408, late, {"Connection": "close"}) from None
    except ClientDisconnect:
        raise Gone from None


async def read_at_most(request: Request, most: int) -> bytes:
    too_large = Refusal(413, f"the request has more than {most:,} bytes: send a shorter text")
    if int(request.headers.get("content-length", "0")) > most:
        raise too_large
    parts, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise too_large
        parts.append(chunk)
    return b"".join(parts)


def form_of(content: bytes, what: str) -> dict[str, str]:
    """The fields of a form or of a query, whatever its Content-Type says."""
    try:
        return dict(parse_qsl(content.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS))
    except UnicodeDecodeError:
        raise UserError(f"{what} is not UTF-8: percent-encode the bytes of UTF-8") from None
    except ValueError:
        raise UserError(f"{what} has more than {MOST_FIELDS} fields: percent-encode each & of a text") from None
