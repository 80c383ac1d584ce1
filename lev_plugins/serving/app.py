"""The server as an ASGI application, and the page at ``/``.

``Guard`` stands in front of every endpoint: it checks who asks, turns exceptions into answers, and writes one line to
the log. No answer has a traceback, and the log has no text of a request, unless --log-text is set.
"""

import asyncio
import base64
import hashlib
import logging
import re
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.resources import files

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lev_plugins.serving import languagetool, v1
from lev_plugins.serving.context import Context
from lev_plugins.serving.limits import bearer, plain_origin
from lev_plugins.text.control import visible
from lev_plugins.utils.errors import UserError

logger = logging.getLogger(__name__)

PHASES = 3  # of a request, each with its own timeout: sending it, answering it, reading the answer
PUBLIC_PATHS = ("/", "/healthz")  # need no token
LANGUAGETOOL = "/v2/"  # its endpoints check the token themselves, which may be a field of the form
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
INLINE = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)


async def page(_: Request) -> Response:
    """Return the page, with a content security policy that allows only its own scripts and style sheets."""
    content = files("lev_plugins.serving").joinpath("page.html").read_text("utf-8")
    policy = ["default-src 'none'", "connect-src 'self'"]
    for kind, inside in INLINE.findall(content):
        digest = base64.b64encode(hashlib.sha256(inside.encode("utf-8")).digest()).decode()
        policy.append(f"{kind}-src 'sha256-{digest}'")
    policy += ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
    return HTMLResponse(content, headers={"Content-Security-Policy": "; ".join(policy), "X-Frame-Options": "DENY"})


async def health(request: Request) -> Response:
    if all(model.worker.thread.is_alive() for model in request.app.state.context.models):
        return JSONResponse({"status": "ok"})
    return JSONResponse({"status": "a model has stopped: restart the server"}, 503)


ROUTES = [
    Route("/", page),
    Route("/healthz", health),
    Route("/v1/models", v1.models),
    Route("/v1/edit", v1.edit, methods=["POST"]),
    Route("/v1/label", v1.label, methods=["POST"]),
    Route("/v1/journal", v1.journal, methods=["POST"]),
    *languagetool.V2_ROUTES,
]


def application(context: Context) -> Starlette:
    """Build the application; when it is closed, the models answer the waiting requests and are closed as well."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        context.close()

    app = Starlette(
        routes=ROUTES,
        middleware=[Middleware(Guard, context=context)],
        exception_handlers={HTTPException: explain},
        lifespan=lifespan,
    )
    app.state.context = context
    return app


async def explain(request: Request, error: Exception) -> Response:
    """Explain Starlette's errors for an unknown path or method; ``Guard`` answers with these and all others."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        error.detail = f"there is nothing at this path: the paths are {', '.join(route.path for route in ROUTES)}"
    elif error.status_code == 405:
        error.detail = f"{request.method} is not possible here: use {(error.headers or {})['Allow']}"
    raise error


# ---- around every request --------------------------------------------------------------------------------------------


class Guard:
    """Middleware that checks, times and logs every request, and turns exceptions into answers."""

    def __init__(self, app: ASGIApp, context: Context) -> None:
        self.context = context
        self.cors = partial(
            CORSMiddleware,
            allow_origins=[*map(plain_origin, context.access.origins)],
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            allow_private_network=True,
        )
        self.app = self.cors(app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["path"] = scope["path"].rstrip("/") or "/"
        status, unread = None, True

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        async def read() -> Message:
            nonlocal unread
            message = await receive()
            unread = message.get("more_body", False)
            return message

        async def refuse(message: Message) -> None:
            """Send an answer, which a client that still sends would lose if the connection was closed at once."""
            is_body = message["type"] == "http.response.body"
            await answer({**message, "more_body": is_body})
            if is_body:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(rest(), self.context.limits.seconds)
                await answer({"type": message["type"]})

        async def rest() -> None:
            while unread:
                await read()

        start = time.perf_counter()
        try:
            self.check(Request(scope))
            await asyncio.wait_for(self.app(scope, read, answer), PHASES * self.context.limits.seconds)
        except ClientDisconnect:
            return
        except Exception as error:
            if status is not None:
                raise
            await self.cors(error_response(scope["path"], error))(scope, read, refuse)
        path = scope["path"] if "endpoint" in scope else "another path"  # an unknown path may contain text
        logger.info("%s %s: %s, %.0f ms", scope["method"], path, status, 1000 * (time.perf_counter() - start))
        if self.context.log_text and "texts" in scope.get("state", {}):
            logger.info("text: %r", [text.text for text in scope["state"]["texts"]])

    def check(self, request: Request) -> None:
        """Refuse a request with a wrong host, origin or token."""
        access, path, host = self.context.access, request.scope["path"], request.headers.get("host", "")
        access.check_host(host)
        access.check_origin(request.headers.get("origin"), host)
        needs_token = path not in PUBLIC_PATHS and not path.startswith(LANGUAGETOOL)
        if needs_token and request.method != "OPTIONS":  # browsers send no token with a preflight request
            access.check_token(bearer(request))


def error_response(path: str, error: Exception) -> Response:
    """Return the answer for an exception: JSON, or under /v2 plain text, as LanguageTool's clients expect."""
    status, headers, message = 400, None, str(error)
    if isinstance(error, HTTPException):
        status, headers, message = error.status_code, error.headers, error.detail
        if status == 403:
            # logged for the operator, who may want to allow this host or origin
            logger.info("%s", visible(message))
    elif not isinstance(error, UserError):
        frame = traceback.extract_tb(error.__traceback__)[-1]  # not the message, which may contain text
        logger.error("%s at %s, line %s", type(error).__name__, frame.filename, frame.lineno)
        status, message = 500, "the server has failed to answer: its log names the place in the code"
    if path.startswith(LANGUAGETOOL):
        return PlainTextResponse(f"Error: {message}", status, headers)
    return JSONResponse({"error": message}, status, headers)
