"""What every request needs: models, each with its queue, words, limits; and how one waits for an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from starlette.requests import Request

from lev_plugins.errors import UserError, require
from lev_plugins.inference.editor import Editor
from lev_plugins.inference.labeller import Answer, Labeller
from lev_plugins.serving.limits import Access, Gone, Limits, Refusal
from lev_plugins.serving.queue import Full, Worker
from lev_plugins.text.edited import Edited
from lev_plugins.text.own_words import WordList
from lev_plugins.text.protected import OwnWords

EDIT, LABEL = "edit", "label"
BATCH_SIZE = 8192  # characters that are decoded together
LEAST = 20  # characters that a text counts as, at least: it takes time, however short
AGAIN = {"Retry-After": "1"}  # seconds


class Passage(NamedTuple):
    """A text of a request."""

    text: str | tuple[str, ...]  # a labeller also reads columns or words
    draft: str | None = None
    least: float = 0.0  # the smallest confidence of its edits
    language: str | None = None  # a code; None: that of the editor, or guessed
    scores: bool = False  # answer with the scores of all labels
    words: tuple[OwnWords, ...] = ()  # that no edit may touch

    def size(self) -> int:
        words = (self.text,) if isinstance(self.text, str) else self.text
        return max(LEAST, sum(max(1, len(word)) for word in words) + len(self.draft or ""))


def edited(editor: Editor, passages: Sequence[Passage]) -> list[Edited]:
    texts, drafts, least, languages, _, words = zip(*passages, strict=True) if passages else [()] * 6
    return [one.sure(share) for one, share in zip(editor.edit(texts, drafts, languages, words), least, strict=True)]


def labelled(labeller: Labeller, passages: Sequence[Passage]) -> list[Answer]:
    scored = labeller.scored([passage.text for passage in passages])
    return [labeller.answer(one, all_scores=passage.scores) for one, passage in zip(scored, passages, strict=True)]


@dataclass(frozen=True)
class Served:
    name: str
    kind: str
    drafts: bool  # may texts have drafts?
    language: str | None
    least: float  # the smallest confidence of an edit, where a request does not say
    worker: Worker[Passage, Any]

    @classmethod
    def of(cls, name: str, model: Editor | Labeller, most: int) -> Served:
        """A request may have another smallest confidence than the editor, which therefore leaves out nothing."""
        if not isinstance(model, Editor):
            return cls(name, LABEL, False, None, 0.0, Worker(partial(labelled, model), Passage.size, most, BATCH_SIZE))
        least, model.min_confidence = model.min_confidence, 0.0
        worker = Worker(partial(edited, model), Passage.size, most, BATCH_SIZE)
        return cls(name, EDIT, model.model.drafts, model.language, least, worker)

    def about(self) -> dict[str, object]:
        about = {"name": self.name, "kind": self.kind, "drafts": self.drafts}
        return about | ({"min_confidence": self.least} if self.kind == EDIT else {})


@dataclass(frozen=True)
class Context:
    models: Sequence[Served]
    access: Access = field(default_factory=Access)
    limits: Limits = field(default_factory=Limits)
    words: WordList = field(default_factory=WordList)
    log_text: bool = False

    def find(self, kind: str, name: str | None = None) -> Served:
        """Without a name, the first of this kind."""
        able = [model for model in self.models if model.kind == kind]
        require(bool(able), f"this server has no model that can {kind}: start it with one, or ask another server")
        for model in able:
            if name in (None, model.name):
                return model
        names = ", ".join(model.name for model in able)
        raise UserError(f"no model called {name} can {kind}; these can: {names}")

    def close(self) -> None:
        """What waits is still answered, within the seconds for a request."""
        end = time.monotonic() + self.limits.seconds
        for model in self.models:
            model.worker.close(max(0.0, end - time.monotonic()))

    def check_length(self, passages: Sequence[Passage]) -> None:
        size, most = sum(passage.size() for passage in passages), self.limits.most_text
        what = "the text has" if len(passages) == 1 else f"the texts, each counted as at least {LEAST}, have"
        if size > most:
            raise Refusal(413, f"{what} {size:,} characters, but the limit is {most:,}: send it in parts")

    async def answers(self, request: Request, model: Served, passages: Sequence[Passage]) -> list[Any]:
        """Cancelled, and so out of the queue, when the client leaves."""
        request.state.passages = passages  # for the log
        result = asyncio.ensure_future(model.worker.answers(passages, self.limits.seconds))
        left = asyncio.ensure_future(departure(request))
        try:
            await asyncio.wait({result, left}, return_when=asyncio.FIRST_COMPLETED)
            if not result.done():
                raise Gone
            return result.result()
        except Full:
            raise Refusal(503, "too many requests are waiting: try again in a second", AGAIN) from None
        except asyncio.TimeoutError:
            late = f"there was no answer within {self.limits.seconds:g} seconds: try again, or send a shorter text"
            raise Refusal(503, late, AGAIN) from None
        finally:
            result.cancel()
            left.cancel()


async def departure(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
