"""Who did what to each word in a refinement: deletions and insertions with their iterations and log-odds.

Log-odds are those of what was done against leaving the text alone, with everything that has a say in the decision
(biases, marks): of a deletion against keeping the word, of an insertion against inserting nothing in its slot.

Shapes: R results, N width of the drafts, B sentences under way, T width of the canvas.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass
class WordEdits:
    """Of one result; its tokens are counted without <s>, those of its draft with it."""

    origin: list[int]  # of each token, its place in the draft; -1: it was inserted
    born: list[int]  # the iteration that inserted it, from 1; 0: it is of the draft
    inserted: list[float]  # log-odds of that
    chosen: list[float]  # log-probability of the word that filled the hole; 0: it is of the draft
    died: list[int]  # of each token of the draft, the last iteration that deleted it, from 1
    deleted: list[float]  # log-odds of that


@dataclass
class Record:
    odds: Tensor  # (R, N)
    died: Tensor  # (R, N)

    def note(self, step: int, rows: Tensor, origin: Tensor, deleted: Tensor, odds: Tensor) -> None:
        """The words of the draft among the ``deleted`` (B, T), in place; ``rows`` (B,) are those of the results."""
        b, t = (deleted & origin.ne(0)).nonzero(as_tuple=True)
        place = rows[b], origin[b, t] - 1
        self.odds[place] = odds[b, t]
        self.died[place] = step + 1

    def of(self, row: int, origin: Tensor, born: Tensor, inserted: Tensor, chosen: Tensor) -> WordEdits:
        """``row`` of the results; the rest (n,) of its tokens, <s> included."""
        about = {"origin": origin - 1, "born": born, "inserted": inserted, "chosen": chosen}
        ours = {name: each[1:].tolist() for name, each in about.items()}
        return WordEdits(**ours, died=self.died[row].tolist(), deleted=self.odds[row].tolist())


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
