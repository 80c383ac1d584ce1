"""``/v1``: the JSON of ``lev-plugins edit --json`` and ``lev-plugins label``, for many texts at once."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lev_plugins.errors import require
from lev_plugins.serving import schema
from lev_plugins.serving.context import EDIT, LABEL, Context, Passage
from lev_plugins.serving.limits import json_of, read_body
from lev_plugins.serving.words import Protected, untouched
from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.edited import Edited

MOST_OF_WORDS = 100_000  # characters

texts_of, words_of = schema.each_of(schema.text), schema.each_of(schema.text)


async def edit(request: Request) -> Response:
    context: Context = request.app.state.context
    given = await fields_of(request, "texts", "drafts", "min_confidence", "words", "model")
    texts = texts_of(given.get("texts"), "texts")
    drafts = schema.optional(given, "drafts", texts_of, None)
    own = await asyncio.to_thread(Protected, protectable(schema.optional(given, "words", words_of, [])))
    model = context.find(EDIT, schema.optional(given, "model", schema.text, None))
    least = schema.optional(given, "min_confidence", schema.share, model.least)
    require(
        drafts is None or model.drafts,
        f"drafts are for a levt, but {model.name} edits the text itself: leave drafts out",
    )
    require(
        drafts is None or len(drafts) == len(texts),
        f"there must be a draft for each text, but there are {len(drafts or [])} drafts for {len(texts)} texts",
    )
    passages = [Passage(text, drafts[i] if drafts else None, least) for i, text in enumerate(texts)]
    context.check_length(passages)
    edited = await context.answers(request, model, passages)
    results = await asyncio.to_thread(without_those_in, edited, (own, context.words.protected))
    return JSONResponse({"model": model.name, "results": results})


def without_those_in(results: Sequence[Edited], lists: Sequence[Protected]) -> list[dict[str, object]]:
    """Without the edits that change one of these words."""
    spans = ([span for words in lists for span in words.spans(edited.original)] for edited in results)
    return [untouched(edited, own).as_dict() for edited, own in zip(results, spans, strict=True)]


async def label(request: Request) -> Response:
    context: Context = request.app.state.context
    given = await fields_of(request, "texts", "scores", "model")
    texts = schema.each_of(schema.text_or_words)(given.get("texts"), "texts")
    scores = schema.optional(given, "scores", schema.flag, False)
    model = context.find(LABEL, schema.optional(given, "model", schema.text, None))
    passages = [Passage(text, scores=scores) for text in texts]
    context.check_length(passages)
    return JSONResponse({"model": model.name, "results": await context.answers(request, model, passages)})


async def models(request: Request) -> Response:
    context: Context = request.app.state.context
    return JSONResponse({"models": [model.about() for model in context.models], "max_text": context.limits.most_text})


async def fields_of(request: Request, *names: str) -> dict[str, Any]:
    context: Context = request.app.state.context
    given = schema.only(json_of(await read_body(request, context.limits), "the request"), names)
    require("texts" in given, 'texts is missing: send {"texts": ["..."]}')
    return given


def protectable(entries: Iterable[str]) -> list[str]:
    words = [word.strip(BYTE_ORDER_MARK) for word in entries]
    for i, word in enumerate(words):
        require(bool(word.strip()), f"words[{i}] is empty: leave it out")
    length = sum(map(len, words))
    require(
        length <= MOST_OF_WORDS,
        f"words have {length:,} characters together, but at most {MOST_OF_WORDS:,} are read: send those in the texts",
    )
    return words
