"""What tokens are: words that the dictionary lacks, words that occur in a target, words of the draft.

The position of a token in the draft (1, 2, ...; 0 = not from there) moves with it through deletions and insertions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lev_plugins.edits.actions import deletable


def known(tokens: Tensor, size: int, unk: int) -> Tensor:
    """<unk> in place of the unknown words of a batch, which come after the ``size`` words and the placeholder.

    >>> known(torch.tensor([0, 11, 20, 21, 2]), size=20, unk=3)
    tensor([ 0, 11, 20,  3,  2])
    """
    return tokens.masked_fill(tokens > size, unk)


def among(tokens: Tensor, target: Tensor) -> Tensor:
    """(B, T), (B, N) -> (B, T) True = the token is somewhere in the row's target.

    >>> among(torch.tensor([[11, 12], [11, 12]]), torch.tensor([[11, 13], [12, 11]]))
    tensor([[ True, False],
            [ True,  True]])
    """
    return tokens[:, :, None].eq(target[:, None, :]).any(2)


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
