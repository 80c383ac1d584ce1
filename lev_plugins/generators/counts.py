"""Limits on the number of placeholders in a slot.

Shapes: B sentences of N tokens, with N - 1 slots between them, K + 1 classes of the placeholder policy.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def at_least(least: int, counts: Tensor, scores: Tensor, lengths: Tensor, tokens: Tensor, pad: int) -> Tensor:
    """(B, N - 1): more of them, up to ``least`` words, in the slot with the lowest score for no insertion.

    ``scores`` are (B, N - 1, K + 1), ``lengths`` (B,) those of ``tokens`` (B, N).
    """
    if not least:
        return counts
    slots = tokens[:, 1:].ne(pad)
    counts = counts.masked_fill(~slots, 0)
    lack = (least + 2 - lengths - counts.sum(1)).clamp(min=0)  # (B,); 2: <s> and </s>
    slot = scores[:, :, 0].masked_fill(~slots, math.inf).argmin(1, keepdim=True)
    return counts.scatter_add(1, slot, lack[:, None])


def within_room(positions: int, counts: Tensor, lengths: Tensor, tokens: Tensor, pad: int) -> Tensor:
    """(B, N - 1): no more than the decoder has positions for, filling slots from left to right.

    >>> y, p = torch.tensor([[0, 11, 12, 2]]), torch.tensor([[1, 2, 3]])
    >>> within_room(6, p, torch.tensor([4]), y, pad=1)
    tensor([[1, 1, 0]])
    """
    counts = counts.masked_fill(tokens[:, 1:].eq(pad), 0)
    room = (positions - lengths).clamp(min=0)[:, None]
    before = counts.cumsum(1) - counts
    return torch.minimum(counts, (room - before).clamp(min=0))
