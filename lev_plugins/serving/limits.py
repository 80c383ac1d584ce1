"""Limits of requests: who may send them, how large and how slow they may be. Each refusal is one sentence."""

import asyncio
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

from lev_plugins.utils.errors import UserError

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
PORT = re.compile(r":\d+$")
DEFAULT_PORT = {"http": ":80", "https": ":443"}
MAX_FIELDS = 100  # of a form


@dataclass(frozen=True)
class Limits:
    """Limits of size and time."""

    max_bytes: int = 1_000_000  # of a request
    max_text: int = 20_000  # characters of its texts
    seconds: float = 30.0  # for sending it, and again for answering it


# ---- from whom -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Access:
    """Who may use the server."""

    hosts: Sequence[str] = LOCAL_HOSTS  # names of this server
    origins: Sequence[str] = ()  # of Web pages, besides the server's own
    token: str | None = field(default=None, repr=False)

    def check_host(self, host: str) -> None:
        """Refuse unknown host names: a Web page could let its own name point here (DNS rebinding)."""
        name = name_of(host)
        if name not in map(name_of, self.hosts):
            message = f"this server does not answer to the name {name!r}: start it with --allow-host NAME"
            raise HTTPException(403, message)

    def check_origin(self, origin: str | None, host: str) -> None:
        """Refuse pages of other origins than the allowed ones and this server, which may be behind a proxy with TLS."""
        permitted = map(plain_origin, (f"http://{host}", f"https://{host}", *self.origins))
        if origin is not None and plain_origin(origin) not in permitted:
            message = f"pages from {origin} may not use this server: start it with --allow-origin {origin}"
            raise HTTPException(403, message)

    def check_token(self, *candidates: str | None) -> None:
        """Refuse the request if the server has a token and none of the candidates is equal to it."""
        if self.token is None:
            return
        tokens = [token for token in candidates if token is not None]
        if not any(hmac.compare_digest(self.token.encode(), token.encode()) for token in tokens):
            reason = "the token is wrong" if tokens else "this server needs a token"
            message = f"{reason}: send the header 'Authorization: Bearer TOKEN'"
            raise HTTPException(401, message, {"WWW-Authenticate": "Bearer"})


def name_of(host: str) -> str:
    """Return a host without its port.

    >>> name_of("Example.org:8081"), name_of("[::1]:80")
    ('example.org', '[::1]')
    """
    return PORT.sub("", host).lower()


def plain_origin(origin: str) -> str:
    """Return an origin in lower case, without the default port.

    >>> plain_origin("https://Example.org:443"), plain_origin("http://localhost:3000")
    ('https://example.org', 'http://localhost:3000')
    """
    scheme, _, rest = origin.lower().partition("://")
    return f"{scheme}://{rest.removesuffix(DEFAULT_PORT.get(scheme, ''))}"


def bearer(request: Request) -> str | None:
    """Return the token in the header ``Authorization: Bearer TOKEN``."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


# ---- how large, how slow ---------------------------------------------------------------------------------------------


async def read_body(request: Request, limits: Limits) -> bytes:
    """Read the body of a request within the limits of size and time."""
    try:
        return await asyncio.wait_for(read_at_most(request, limits.max_bytes), limits.seconds)
    except asyncio.TimeoutError:
        late = f"the request did not arrive within {limits.seconds:g} seconds: send it faster, or less of it"
        raise HTTPException(408, late, {"Connection": "close"}) from None


async def read_at_most(request: Request, max_bytes: int) -> bytes:
    too_large = HTTPException(413, f"the request has more than {max_bytes:,} bytes: send a shorter text")
    if int(request.headers.get("content-length", "0")) > max_bytes:
        raise too_large
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise too_large
    return bytes(body)


def parse_form(content: bytes, what: str) -> dict[str, str]:
    """Parse the fields of a form or of a query, whatever the Content-Type says."""
    try:
        return dict(parse_qsl(content.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS))
    except UnicodeDecodeError:
        raise UserError(f"{what} is not UTF-8: percent-encode the bytes of UTF-8") from None
    except ValueError:
        raise UserError(f"{what} has more than {MAX_FIELDS} fields: percent-encode each & of a text") from None
