"""The server as an ASGI application, and the page at ``/``."""

import base64
import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from lev_plugins.serving import languagetool, v1
from lev_plugins.serving.context import Context
from lev_plugins.serving.limits import Refusal
from lev_plugins.serving.middleware import Guard

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


GET_OR_POST = ["GET", "POST"]
ROUTES = [
    Route("/", page),
    Route("/healthz", health),
    Route("/v1/models", v1.models),
    Route("/v1/edit", v1.edit, methods=["POST"]),
    Route("/v1/label", v1.label, methods=["POST"]),
    Route("/v2/check", languagetool.check, methods=GET_OR_POST),
    Route("/v2/languages", languagetool.languages, methods=GET_OR_POST),
    Route("/v2/info", languagetool.info, methods=GET_OR_POST),
    Route("/v2/maxtextlength", languagetool.max_text_length, methods=GET_OR_POST),
    Route("/v2/words", languagetool.words),
    Route("/v2/words/add", languagetool.add_word, methods=["POST"]),
    Route("/v2/words/delete", languagetool.delete_word, methods=["POST"]),
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
