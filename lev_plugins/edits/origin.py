"""The position of each token in the draft: 1, 2, ...; 0 = not from the draft.

One integer per token, which moves with it through deletions and insertions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lev_plugins.edits.actions import deletable


def origin_of(draft: Tensor, bos: int, eos: int, pad: int) -> Tensor:
    """(B, N) -> (B, N); an empty draft has nothing to keep.

    >>> origin_of(torch.tensor([[0, 11, 12, 2], [0, 2, 1, 1]]), bos=0, eos=2, pad=1)
    tensor([[1, 2, 3, 4],
            [0, 0, 0, 0]])
    """
    words = deletable(draft, bos, eos, pad)
    places = torch.arange(1, draft.size(1) + 1, device=draft.device).expand_as(draft)
    return places * (draft.ne(pad) & words.any(1, keepdim=True))


def unopened(origin: Tensor) -> Tensor:
    """(B, N) -> (B, N - 1) True = the slot between two tokens that were neighbours in the draft.

    Where a word of the draft was deleted, inserting its replacement is not a further change.

    >>> unopened(torch.tensor([[1, 2, 4, 0, 5]])).int()
    tensor([[1, 0, 0, 0]], dtype=torch.int32)
    """
    left, right = origin[:, :-1], origin[:, 1:]
    return left.ne(0) & right.eq(left + 1)
