"""The server as an ASGI application, and the page at ``/``.

Around every request: who may ask, what is told when something goes wrong, and one line in the log. No answer has a
traceback, and no line of the log has text of a request, unless --log-text asks for it.
"""

import asyncio
import base64
import hashlib
import logging
import re
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib.resources import files

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lev_plugins.errors import UserError
from lev_plugins.serving import languagetool, v1
from lev_plugins.serving.context import Context
from lev_plugins.serving.limits import Gone, Refusal, bearer
from lev_plugins.text.control import visible

logger = logging.getLogger(__name__)

PATIENCE = 3  # times the time for a request: to send it, to answer it, and to read the answer
OPEN = ("/", "/healthz")  # without a token: they tell nothing of a text
OWN_TOKEN_CHECK = "/v2/"  # here the token may be a field of a form
FORBIDDEN = 403
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ALLOWED = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Allow-Private-Network": "true",
    "Access-Control-Max-Age": "600",
}
INLINE = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)


async def page(_: Request) -> Response:
    content, policy = page_and_policy()
    return HTMLResponse(content, headers={"Content-Security-Policy": policy, "X-Frame-Options": "DENY"})


@lru_cache(maxsize=1)
def page_and_policy() -> tuple[str, str]:
    """One file, which loads nothing else; only the style sheets and scripts in it are used, by their hashes."""
    content = files("lev_plugins.serving").joinpath("page.html").read_text("utf-8")
    policy = ["default-src 'none'", "connect-src 'self'"]
    for kind, inside in INLINE.findall(content):
        digest = base64.b64encode(hashlib.sha256(inside.encode("utf-8")).digest()).decode()
        policy.append(f"{kind}-src 'sha256-{digest}'")
    return content, "; ".join([*policy, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"])


async def health(request: Request) -> Response:
    well = all(model.worker.thread.is_alive() for model in request.app.state.context.models)
    return JSONResponse({"status": "ok" if well else "a model has stopped: restart the server"}, 200 if well else 503)


ROUTES = [
    Route("/", page),
    Route("/healthz", health),
    Route("/v1/models", v1.models),
    Route("/v1/edit", v1.edit, methods=["POST"]),
    Route("/v1/label", v1.label, methods=["POST"]),
    *languagetool.ROUTES,
]


def application(context: Context) -> Starlette:
    """Closing it closes the models, after they have answered what waits."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        context.close()

    app = Starlette(
        routes=ROUTES,
        middleware=[Middleware(Guard, context=context)],
        exception_handlers={HTTPException: refused},
        lifespan=lifespan,
    )
    app.state.context = context
    return app


async def refused(request: Request, error: Exception) -> Response:
    """What Starlette refuses: a path or a method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        raise Refusal(405, f"{request.method} is not possible here: use {allowed}", error.headers)
    paths = ", ".join(route.path for route in ROUTES)
    raise Refusal(error.status_code, f"there is nothing at this path: the paths are {paths}")


# ---- around every request --------------------------------------------------------------------------------------------


class Guard:
    def __init__(self, app: ASGIApp, context: Context) -> None:
        self.app, self.context = app, context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["path"] = scope["path"].rstrip("/") or "/"
        origin = Headers(scope=scope).get("origin")
        headers = dict(ALWAYS)
        if origin is not None and origin in self.context.access.origins:
            headers |= {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
        status = None

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(headers)
            await send(message)

        start = time.perf_counter()
        try:
            response = self.checked(Request(scope, receive), origin)
            running = (response or self.app)(scope, receive, answer)
            await asyncio.wait_for(running, PATIENCE * self.context.limits.seconds)
        except Gone:
            return
        except Exception as error:
            if status is not None:
                raise
            await refusal(scope["path"], error)(scope, receive, answer)
        asked = scope["path"] if "endpoint" in scope else "another path"  # a path may have been meant as a text
        logger.info("%s %s: %s, %.0f ms", scope["method"], asked, status, 1000 * (time.perf_counter() - start))
        if self.context.log_text and "passages" in scope.get("state", {}):
            logger.info("text: %r", [passage.text for passage in scope["state"]["passages"]])

    def checked(self, request: Request, origin: str | None) -> Response | None:
        """An answer, if the request needs no other."""
        access, path, host = self.context.access, request.scope["path"], request.headers.get("host", "")
        access.check_host(host)
        access.check_origin(origin, host)
        if request.method == "OPTIONS" and origin is not None:
            return Response(status_code=204, headers=ALLOWED)
        if path not in OPEN and not path.startswith(OWN_TOKEN_CHECK):
            access.check_token(bearer(request))
        return None


def refusal(path: str, error: Exception) -> Response:
    """JSON; under /v2, plain text, as LanguageTool's clients expect it."""
    status, headers, message = 400, {}, str(error)
    if isinstance(error, Refusal):
        status, headers = error.status, error.headers
        if status == FORBIDDEN:
            # a host or an origin, which the one who runs the server may want to allow
            logger.info("%s", visible(message))
    elif not isinstance(error, UserError):
        frame = traceback.extract_tb(error.__traceback__)[-1]  # the message may have a text in it
        logger.error("%s at %s, line %s", type(error).__name__, frame.filename, frame.lineno)
        status, message = 500, "the server has failed to answer: its log names the place in the code"
    if path.startswith(OWN_TOKEN_CHECK):
        return PlainTextResponse(f"Error: {message}", status, headers)
    return JSONResponse({"error": message}, status, headers)
