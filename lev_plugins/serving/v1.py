"""``/v1``: the JSON of ``lev-plugins edit --json`` and ``lev-plugins label``, for several texts at once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lev_plugins.checking.documents import DocumentRequest, document_format
from lev_plugins.editor.options import EditRequest
from lev_plugins.serving.context import EDIT, LABEL, Context, TextToLabel
from lev_plugins.serving.journal import Decision, append_pairs, decided_pairs
from lev_plugins.serving.limits import read_body
from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.glossary import Glossary, as_dict
from lev_plugins.text.protected import OwnWords
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.json_schema import from_entries, parse_object
from lev_plugins.utils.model_folder import confidence_of
from lev_plugins.utils.ranges import bounded

MAX_WORDS_LENGTH = 100_000  # characters of all words of a request
RequestBody = TypeVar("RequestBody")


@dataclass(frozen=True)
class EditBody:
    texts: list[str]
    drafts: list[str] | None = None
    min_confidence: float | str | None = None
    words: list[str] = field(default_factory=list)
    glossary: str = ""
    filename: str | None = None
    model: str | None = None


@dataclass(frozen=True)
class LabelBody:
    texts: list[str | list[str]]
    scores: bool = False
    model: str | None = None


@dataclass(frozen=True)
class JournalBody:
    text: str
    edits: list[dict[str, int | str | bool | None]]


async def edit(request: Request) -> Response:
    context: Context = request.app.state.context
    body = await parse_body(request, EditBody)
    model = context.find(EDIT, body.model)
    least = model.min_confidence if body.min_confidence is None else body.min_confidence
    min_confidence = confidence_of("min_confidence", least, model.dials)
    bounded("the length of all words", sum(map(len, body.words)), maximum=MAX_WORDS_LENGTH)
    protected = await asyncio.to_thread(OwnWords, [word.strip(BYTE_ORDER_MARK) for word in body.words])
    bounded("the length of the glossary", len(body.glossary), maximum=MAX_WORDS_LENGTH)
    lines = body.glossary.removeprefix(BYTE_ORDER_MARK).split("\n")
    glossary = await asyncio.to_thread(Glossary.parse, lines, "the glossary") if body.glossary else None
    texts, drafts = body.texts, body.drafts
    require(drafts is None or model.drafts, f"drafts are for a levt, but {model.name} edits the text itself")
    format = document_format(body.filename)
    require(drafts is None or format is None, "filename is for texts without drafts: leave one of them out")
    rows: Sequence[str | None] = [None] * len(texts) if drafts is None else drafts
    require(len(rows) == len(texts), f"there are {len(rows)} drafts for {len(texts)} texts: send one for each")
    words = (protected, context.words.protected)
    requested = [
        DocumentRequest(text, draft, words=words, glossary=glossary, min_confidence=min_confidence, format=format)
        for text, draft in zip(texts, rows, strict=True)
    ]
    edits = await context.answers(request, model, requested)
    return JSONResponse({"model": model.name, "results": list(map(as_dict, edits))})


async def label(request: Request) -> Response:
    context: Context = request.app.state.context
    body = await parse_body(request, LabelBody)
    model = context.find(LABEL, body.model)
    texts = [TextToLabel(text if isinstance(text, str) else tuple(text), scores=body.scores) for text in body.texts]
    return JSONResponse({"model": model.name, "results": await context.answers(request, model, texts)})


async def journal(request: Request) -> Response:
    """Write what a person has decided about the edits of a text into the journal."""
    context: Context = request.app.state.context
    if context.journal is None:
        raise UserError("this server keeps no journal: start it with --journal FILE")
    body = await parse_body(request, JournalBody)
    context.check_length([EditRequest(body.text)])
    decisions = [from_entries(Decision, entries, f"edits[{i}]") for i, entries in enumerate(body.edits)]
    pairs = decided_pairs(body.text, decisions, context.find(EDIT).language)
    await asyncio.to_thread(append_pairs, context.journal, pairs)
    return JSONResponse({"pairs": len(pairs)})


async def models(request: Request) -> Response:
    context: Context = request.app.state.context
    about = {"max_text": context.limits.max_text, "journal": context.journal is not None}
    return JSONResponse({"models": [model.about() for model in context.models], **about})


async def parse_body(request: Request, kind: type[RequestBody]) -> RequestBody:
    """Read a request of this kind from JSON."""
    body = await read_body(request, request.app.state.context.limits)
    return from_entries(kind, parse_object(body, "the request"), "the request")
