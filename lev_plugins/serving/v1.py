"""``/v1``: the JSON of ``lev-plugins edit --json`` and ``lev-plugins label``, for many texts at once."""

import asyncio
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lev_plugins.errors import require
from lev_plugins.json_schema import from_entries, parse_object
from lev_plugins.ranges import bounded
from lev_plugins.serving.context import EDIT, LABEL, Context, Passage
from lev_plugins.serving.limits import read_body
from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.protected import OwnWords

MOST_OF_WORDS = 100_000  # characters
T = TypeVar("T")


@dataclass(frozen=True)
class EditRequest:
    texts: list[str]
    drafts: list[str] | None = None
    min_confidence: float | None = None
    words: list[str] = field(default_factory=list)
    model: str | None = None


@dataclass(frozen=True)
class LabelRequest:
    texts: list[str | list[str]]
    scores: bool = False
    model: str | None = None


async def edit(request: Request) -> Response:
    context: Context = request.app.state.context
    given = await body_of(request, EditRequest)
    model = context.find(EDIT, given.model)
    least = model.least if given.min_confidence is None else given.min_confidence
    bounded("min_confidence", least, 0, 1)
    bounded("the length of all words", sum(map(len, given.words)), maximum=MOST_OF_WORDS)
    own = await asyncio.to_thread(OwnWords, [word.strip(BYTE_ORDER_MARK) for word in given.words])
    texts, drafts = given.texts, given.drafts
    require(drafts is None or model.drafts, f"drafts are for a levt, but {model.name} edits the text itself")
    count = len(texts if drafts is None else drafts)
    require(count == len(texts), f"there are {count} drafts for {len(texts)} texts: send one for each")
    words = (own, context.words.protected)
    passages = [Passage(text, drafts[i] if drafts else None, least, words=words) for i, text in enumerate(texts)]
    context.check_length(passages)
    edited = await context.answers(request, model, passages)
    return JSONResponse({"model": model.name, "results": [one.as_dict() for one in edited]})


async def label(request: Request) -> Response:
    context: Context = request.app.state.context
    given = await body_of(request, LabelRequest)
    model = context.find(LABEL, given.model)
    passages = [Passage(text if isinstance(text, str) else tuple(text), scores=given.scores) for text in given.texts]
    context.check_length(passages)
    return JSONResponse({"model": model.name, "results": await context.answers(request, model, passages)})


async def models(request: Request) -> Response:
    context: Context = request.app.state.context
    return JSONResponse({"models": [model.about() for model in context.models], "max_text": context.limits.most_text})


async def body_of(request: Request, kind: type[T]) -> T:
    body = await read_body(request, request.app.state.context.limits)
    return from_entries(kind, parse_object(body, "the request"), "the request")
