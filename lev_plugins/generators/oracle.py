"""An oracle's hand on the wheel (Figure 5 of the LevT paper): actions taken from the reference while decoding.

``delete``: every deletion is the expert's. ``delete+placeholder``: the number of placeholders in every slot as well,
so that the model only chooses words. What comes out measures how much a person who gives such hints would gain.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.edits import align, insertion_labels

ORACLES = ["none", "delete", "delete+placeholder"]


def missing_counts(tokens: Tensor, target: Tensor, pad: int) -> Tensor:
    """(B, N) -> (B, N - 1): how many placeholders the expert opens in each slot.

    What is missing behind a token of the target goes behind the same token of ``tokens``. Those that the target does
    not have, 10 here, are passed over: they are protected.

    >>> y = torch.tensor([[0, 12, 13, 2, 1], [0, 10, 11, 2, 1]])
    >>> missing_counts(y, torch.tensor([[0, 11, 11, 12, 13, 14, 2], [0, 11, 13, 14, 2, 1, 1]]), pad=1)
    tensor([[2, 0, 1, 0],
            [0, 0, 2, 0]])
    """
    kept, matched = align(tokens, target, pad)
    counts = insertion_labels(target, ~matched & target.ne(pad), pad).counts  # (B, T - 1), by rank of what was kept
    rank = (kept.cumsum(1) - 1).clamp(min=0)  # (B, N)
    return F.pad(counts, (0, 1)).gather(1, rank).masked_fill(~kept, 0)[:, :-1]


def behind_spans(counts: Tensor, shut: Tensor) -> Tensor:
    """Placeholders of slots that are ``shut`` (B, N - 1) go into the next slot that is not; the last never is.

    >>> behind_spans(torch.tensor([[0, 2, 0, 1]]), torch.tensor([[0, 1, 0, 0]]).bool())
    tensor([[0, 0, 2, 1]])
    """
    slots = torch.arange(counts.size(1), device=counts.device).expand_as(counts)
    home = slots.masked_fill(shut, counts.size(1)).flip(1).cummin(1).values.flip(1)
    return torch.zeros_like(counts).scatter_add(1, home, counts)
