"""What the endpoints share: models with their queues, limits, the user's words, and waiting for an answer."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from lev_plugins.checking.documents import edit_documents
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.labeller import Answer, Labeller
from lev_plugins.editor.options import EditRequest
from lev_plugins.editor.own_words import WordList
from lev_plugins.serving.limits import Access, Limits
from lev_plugins.serving.queue import Worker
from lev_plugins.utils.errors import require

EDIT, LABEL = "edit", "label"
BATCH_SIZE = 8192  # characters that are decoded together
MIN_TEXT_SIZE = 20  # characters that a shorter text counts as, because every text takes some time
RETRY = {"Retry-After": "1"}  # seconds


class TextToLabel(NamedTuple):
    """A text of a request for labels."""

    text: str | tuple[str, ...]  # or its columns, or words
    scores: bool = False  # answer with the scores of all labels


RequestText = EditRequest | TextToLabel


def size_of(request: RequestText) -> int:
    """Returns how many characters a text counts as."""
    words = (request.text,) if isinstance(request.text, str) else request.text
    draft = request.draft if isinstance(request, EditRequest) else None
    return max(MIN_TEXT_SIZE, sum(max(1, len(word)) for word in words) + len(draft or ""))


def label_texts(labeller: Labeller, texts: Sequence[TextToLabel]) -> list[Answer]:
    scored = labeller.scored([text.text for text in texts])
    return [labeller.answer(scores, all_scores=text.scores) for scores, text in zip(scored, texts, strict=True)]


@dataclass(frozen=True)
class ServedModel:
    """A model with its queue."""

    name: str
    kind: str  # EDIT or LABEL
    drafts: bool  # whether texts may have drafts
    language: str | None
    min_confidence: float  # of edits, unless a request has another
    dials: Mapping[str, float]  # values of min_confidence by name
    worker: Worker[Any, Any]

    @classmethod
    def start(cls, name: str, model: Editor | Labeller, max_waiting: int) -> "ServedModel":
        """Start the thread that answers requests with the model."""
        if isinstance(model, Editor):
            edit = Worker(partial(edit_documents, model), size_of, max_waiting, BATCH_SIZE)
            return cls(name, EDIT, model.model.drafts, model.language, model.min_confidence, model.dials, edit)
        label = Worker(partial(label_texts, model), size_of, max_waiting, BATCH_SIZE)
        return cls(name, LABEL, False, None, 0.0, {}, label)

    def about(self) -> dict[str, object]:
        about: dict[str, object] = {"name": self.name, "kind": self.kind, "drafts": self.drafts}
        if self.kind == EDIT:
            about |= {"min_confidence": self.min_confidence, "dials": self.dials}
        return about


@dataclass(frozen=True)
class Context:
    """The state of the server."""

    models: Sequence[ServedModel]
    access: Access = field(default_factory=Access)
    limits: Limits = field(default_factory=Limits)
    words: WordList = field(default_factory=WordList)
    log_text: bool = False
    journal: Path | None = None  # a file of what people have decided about edits

    def find(self, kind: str, name: str | None = None) -> ServedModel:
        """Return the model of this kind and name; without a name, the first of this kind."""
        models = {model.name: model for model in self.models if model.kind == kind}
        require(bool(models), f"this server has no model that can {kind}: start it with one, or ask another server")
        require(name is None or name in models, f"no model called {name} can {kind}; these can: {', '.join(models)}")
        return models[name or next(iter(models))]

    def close(self) -> None:
        """Close the models; waiting requests are still answered, within the time for one request."""
        end = time.monotonic() + self.limits.seconds
        for model in self.models:
            model.worker.close(max(0.0, end - time.monotonic()))

    def check_length(self, texts: Sequence[RequestText]) -> None:
        size, limit = sum(map(size_of, texts)), self.limits.max_text
        what = "the text has" if len(texts) == 1 else f"the texts, each counted as at least {MIN_TEXT_SIZE}, have"
        if size > limit:
            raise HTTPException(413, f"{what} {size:,} characters, but the limit is {limit:,}: send it in parts")

    async def answers(self, request: Request, model: ServedModel, texts: Sequence[RequestText]) -> list[Any]:
        """Return the model's answers; a client that disconnects takes its request out of the queue."""
        self.check_length(texts)
        request.state.texts = texts  # for the log
        result = asyncio.ensure_future(model.worker.answers(texts, self.limits.seconds))
        disconnected = asyncio.ensure_future(wait_for_disconnect(request))
        try:
            await asyncio.wait({result, disconnected}, return_when=asyncio.FIRST_COMPLETED)
            if not result.done():
                raise ClientDisconnect
            return result.result()
        except asyncio.QueueFull:
            raise HTTPException(503, "too many requests are waiting: try again in a second", RETRY) from None
        except asyncio.TimeoutError:
            message = f"there was no answer within {self.limits.seconds:g} seconds: try again, or send a shorter text"
            raise HTTPException(503, message, RETRY) from None
        finally:
            result.cancel()
            disconnected.cancel()


async def wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
