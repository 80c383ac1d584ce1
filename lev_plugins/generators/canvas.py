"""The sentences that are being refined, all that moves with their tokens, and who did what to each word.

Log-odds are those of what was done against leaving the text alone, with everything that has a say in the decision
(biases, marks): of a deletion against keeping the word, of an insertion against inserting nothing in its slot.

Shapes: B sentences under way, T width of the canvas, R results, N width of the drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.text.edited import Offer, WordEdits

# fields that edits of the tokens move
MOVING = ("tokens", "scores", "requests", "origin", "kept", "born", "odds", "offer")
STAYING = ("rows", "limits", "target")  # fields of each sentence that they do not


def lists_of(rows: Iterable[Tensor]) -> list[list[Any]]:
    """Rows of a kind and of any lengths, as Python's lists: one question to a GPU.

    >>> lists_of([torch.tensor([5, 6]), torch.tensor([7])])
    [[5, 6], [7]]
    """
    rows = list(rows)
    values = iter(torch.cat(rows).tolist() if rows else [])
    return [list(islice(values, len(row))) for row in rows]


@dataclass
class Record:
    odds: Tensor  # (R, N + 1) by place in the draft, from 1
    died: Tensor  # (R, N + 1)
    # of the tokens of each result but <s>: origin, born, offer, odds and scores, as on the canvas
    of_results: dict[int, list[Tensor]] = field(default_factory=dict)
    best: list[tuple[Tensor, ...]] = field(default_factory=list)  # (n, K) words for holes, and log-probabilities

    def note(self, step: int, rows: Tensor, origin: Tensor, deleted: Tensor, odds: Tensor) -> None:
        """The words of the draft among the ``deleted`` (B, T), in place; ``rows`` (B,) are those of the results."""
        place = rows[:, None], origin.masked_fill(~deleted, 0)  # 0: nowhere
        self.odds[place] = odds
        self.died[place] = step + 1

    def edits(self) -> dict[int, WordEdits]:
        """Of all results, which is all that is asked of a GPU."""
        offers: list[list[Offer]] = [[]]  # for tokens that filled no hole
        if self.best:
            pairs = zip(*(torch.cat(part).tolist() for part in zip(*self.best, strict=True)), strict=True)
            offers += [list(zip(*pair, strict=True)) for pair in pairs]
        whole = iter(lists_of(row for rows in self.of_results.values() for row in rows[:3]))
        parts = iter(lists_of(row for rows in self.of_results.values() for row in rows[3:]))
        died, deleted = self.died[:, 1:].tolist(), self.odds[:, 1:].tolist()
        found = {}
        for row in self.of_results:
            origin, born, offer = next(whole), next(whole), next(whole)
            chosen = [offers[place] for place in offer]
            about = [place - 1 for place in origin], born, next(parts), next(parts)
            found[row] = WordEdits(*about, died[row], deleted[row], chosen)
        return found


@dataclass
class Canvas:
    """The unfinished sentences."""

    tokens: Tensor  # (B, T)
    scores: Tensor  # (B, T) log-probability of each token when inserted; 0 for boundaries and the draft
    rows: Tensor  # (B,) index of each sentence's result
    limits: Tensor  # (B,) number of tokens from which a sentence gets no placeholders
    requests: Tensor | None = None  # (B, T) a person's requests for each token; None = no requests
    origin: Tensor | None = None  # (B, T) position of each token in the draft; None = no drafts
    kept: Tensor | None = None  # (B, T) log-probability of keeping each word of the draft; None = no drafts
    target: Tensor | None = None  # (B, R) the reference, for an oracle
    places: list[int] = field(default_factory=list)  # the rows, where no question to a GPU is needed
    sources: list[list[int]] = field(default_factory=list)  # of all results, if models read them beside the text
    states: list[tuple[list[int], Tensor]] = field(default_factory=list)  # rows and their tokens after each step so far
    born: Tensor | None = None  # (B, T) iteration that inserted each token, 0 for the draft; None = no history
    odds: Tensor | None = None  # (B, T) log-odds of that insertion; None = no history
    offer: Tensor | None = None  # (B, T) number of the hole that each filled, from 1; None = no history
    record: Record | None = None  # the words of the draft that were deleted; None = no history
    deletion: tuple[Tensor, Tensor] = field(init=False)  # tokens and which of them were deleted, in this iteration

    def map(self, change: Callable[..., Iterable[Tensor]]) -> None:
        """Change the tokens and all that moves with them: ``change`` takes and gives as many tensors."""
        moving = self.moving()
        vars(self).update(zip(moving, change(*moving.values()), strict=True))

    def moving(self) -> dict[str, Tensor]:
        return {name: vars(self)[name] for name in MOVING if vars(self)[name] is not None}

    def told(self, values: Tensor) -> Tensor:
        """(B, N) -> (N, B), to be asked for together with something else; (0, B) if nobody reads beside the text."""
        return values.T if self.sources else values.T[:0]

    def select(self, left: list[int], index: Tensor) -> Canvas:
        """The sentences that are ``left``, also as an ``index``, without the deletions of this iteration."""
        of_rows = {name: value[index] for name in (*MOVING, *STAYING) if (value := vars(self)[name]) is not None}
        return replace(self, **of_rows, places=[self.places[i] for i in left])


def opening_odds(counts: Tensor, odds: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Where ``counts`` (B, S) holes were opened in the S slots between tokens, and the ``odds`` (B, S) of their slots;
    both as (B, ``width``), 0 elsewhere.

    >>> new, found = opening_odds(torch.tensor([[2, 0]]), torch.tensor([[0.5, -1.0]]), width=5)
    >>> new.int(), found
    (tensor([[0, 1, 1, 0, 0]], dtype=torch.int32), tensor([[0.0000, 0.5000, 0.5000, 0.0000, 0.0000]]))
    """
    slots = counts.size(1)
    ends = counts.cumsum(1) + torch.arange(1, slots + 1, device=counts.device)  # place of the token after each slot
    places = torch.arange(width, device=counts.device).expand(counts.size(0), width).contiguous()
    slot = torch.searchsorted(ends, places, right=True)  # (B, width): the one after the last token up to each place
    token = F.pad(ends, (1, 0)).gather(1, slot)  # place of that token
    new = places.gt(token) & slot.lt(slots)
    return new, F.pad(odds, (0, 1)).gather(1, slot).masked_fill(~new, 0.0)
