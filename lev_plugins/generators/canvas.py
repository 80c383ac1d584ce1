"""The sentences that are being refined, and all that moves with their tokens."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from lev_plugins.edits import Removed, removed_after, replaced
from lev_plugins.generators.record import Record


@dataclass
class Canvas:
    """The unfinished sentences."""

    tokens: Tensor  # (B, T)
    scores: Tensor  # (B, T) log-probability of each token when inserted; 0 for boundaries and the draft
    rows: Tensor  # (B,) index of each sentence's result
    limits: Tensor  # (B,) number of tokens from which a sentence gets no placeholders
    sampled: Tensor  # (B,) True = a candidate drawn at random
    requests: Tensor | None = None  # (B, T) a person's requests for each token; None = no requests
    origin: Tensor | None = None  # (B, T) position of each token in the draft; None = no drafts
    kept: Tensor | None = None  # (B, T) log-probability of keeping each word of the draft; None = no drafts
    target: Tensor | None = None  # (B, R) the reference, for an oracle
    states: list[list[Tensor]] = field(default_factory=list)  # each row's tokens after each step so far
    born: Tensor | None = None  # (B, T) iteration that inserted each token, 0 for the draft; None = no history
    odds: Tensor | None = None  # (B, T) log-odds of that insertion; None = no history
    record: Record | None = None  # the words of the draft that were deleted; None = no history
    deletion: tuple[Tensor, Tensor] | None = None  # tokens and which were deleted, in this iteration; None = no words

    def moving(self) -> list[str]:
        """The names of the fields that move with the tokens."""
        names = ("scores", "requests", "origin", "kept", "born", "odds")
        return [name for name in names if getattr(self, name) is not None]

    def along(self) -> list[Tensor]:
        return [getattr(self, name) for name in self.moving()]

    def move(self, tokens: Tensor, *along: Tensor) -> None:
        self.tokens = tokens
        for name, value in zip(self.moving(), along, strict=True):
            setattr(self, name, value)

    def removed(self, pad: int) -> Removed:
        """What was deleted right after each token, in this iteration."""
        if self.deletion is None:
            return Removed(torch.full_like(self.tokens, pad), torch.zeros_like(self.tokens))
        return removed_after(*self.deletion, pad)

    def replaced(self, holes: Tensor, pad: int) -> Tensor:
        """(B, T) the deleted token that each of the ``holes`` takes the place of, padding elsewhere."""
        return torch.full_like(self.tokens, pad) if self.deletion is None else replaced(*self.deletion, holes, pad)

    def select(self, keep: Tensor) -> Canvas:
        """The sentences that ``keep`` (B,) says; what was deleted in this iteration is left out."""
        names = ("tokens", "rows", "limits", "sampled", "target", *self.moving())
        given = {name: getattr(self, name) for name in names}
        chosen: dict[str, Any] = {name: each if each is None else each[keep] for name, each in given.items()}
        states = [row for row, kept in zip(self.states, keep.tolist(), strict=True) if kept] if self.states else []
        return replace(self, **chosen, states=states, deletion=None)
