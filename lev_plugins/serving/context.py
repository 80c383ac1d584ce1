"""What every request needs: models, words, limits; and how one waits for an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from lev_plugins.serving.alike import LEAST, Example, Passage
from lev_plugins.serving.limits import Access, Gone, Limits, Refusal
from lev_plugins.serving.models import Models, Served
from lev_plugins.serving.queue import Full
from lev_plugins.serving.words import WordList

AGAIN = {"Retry-After": "1"}  # seconds


@dataclass(frozen=True)
class Context:
    models: Models
    access: Access = field(default_factory=Access)
    limits: Limits = field(default_factory=Limits)
    words: WordList = field(default_factory=WordList)
    log_text: bool = False

    def check_length(self, items: Sequence[Passage | Example]) -> None:
        size, most = sum(item.size() for item in items), self.limits.most_text
        what = "the text has" if len(items) == 1 else f"the texts, each counted as at least {LEAST}, have"
        if size > most:
            raise Refusal(413, f"{what} {size:,} characters, but the limit is {most:,}: send it in parts")

    async def answers(self, request: Request, model: Served, items: Sequence[Any]) -> list[Any]:
        request.state.items = items  # for the log
        try:
            return await unless_gone(request, model.worker.answers(items, self.limits.seconds))
        except Full:
            raise Refusal(503, "too many requests are waiting: try again in a second", AGAIN) from None
        except asyncio.TimeoutError:
            late = f"there was no answer within {self.limits.seconds:g} seconds: try again, or send a shorter text"
            raise Refusal(503, late, AGAIN) from None


async def unless_gone(request: Request, work: Any) -> Any:
    """The result of ``work``, which is cancelled when the client leaves."""
    result, left = asyncio.ensure_future(work), asyncio.ensure_future(departure(request))
    try:
        await asyncio.wait({result, left}, return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            raise Gone
        return result.result()
    finally:
        result.cancel()
        left.cancel()


async def departure(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
