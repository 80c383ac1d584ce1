"""Which deleted token a slot had, and which one a hole takes the place of."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from lev_plugins.edits.actions import apply_deletions


class Removed(NamedTuple):
    """What was deleted right after each of the other tokens."""

    first: Tensor  # (B, N) the first deleted token, or padding
    counts: Tensor  # (B, N) the number of deleted tokens


def removed_after(tokens: Tensor, deleted: Tensor, pad: int) -> Removed:
    """(B, N), (B, N) -> for each kept token, moved to the left.

    >>> y = torch.tensor([[0, 11, 12, 13, 2]])
    >>> d = torch.tensor([[0, 0, 1, 1, 0]]).bool()           # <s> 11 </s>
    >>> removed_after(y, d, pad=1)
    Removed(first=tensor([[ 1, 12,  1,  1,  1]]), counts=tensor([[0, 2, 0, 0, 0]]))
    """
    after = tokens.roll(-1, 1).masked_fill(~deleted.roll(-1, 1), pad)
    places = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
    kept, first, place = apply_deletions(tokens, deleted, pad, after, places, fills=(pad, 0))
    following = torch.where(kept.roll(-1, 1).ne(pad), place.roll(-1, 1), place + 1)
    following[:, -1] = place[:, -1] + 1
    return Removed(first, following - place - 1)


def replaced(tokens: Tensor, deleted: Tensor, holes: Tensor, pad: int) -> Tensor:
    """(B, N), (B, N), (B, T) -> (B, T): for each hole the deleted token that it replaces, and padding elsewhere.

    The other tokens of the (B, T) rows are those of ``tokens`` that are not ``deleted``, in their order. Between two of
    them, the first hole replaces the first deleted token, and so on; further holes replace nothing.

    >>> y = torch.tensor([[0, 11, 12, 13, 2]])
    >>> d = torch.tensor([[0, 1, 0, 1, 0]]).bool()
    >>> h = torch.tensor([[0, 1, 1, 0, 1, 0]]).bool()        # <s> ? ? 12 ? </s>
    >>> replaced(y, d, h, pad=1)
    tensor([[ 1, 11,  1,  1, 13,  1]])
    """
    kept = ~deleted & tokens.ne(pad)  # (B, N)
    places = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
    # where the k-th kept token stands; what was deleted after it is contiguous
    order = (~kept).to(torch.uint8).argsort(dim=1, stable=True)
    rank = (~holes).cumsum(1) - 1  # (B, T): of the last kept token before a hole
    left = places.gather(1, order).gather(1, rank.clamp(min=0, max=tokens.size(1) - 1))  # (B, T) its place
    nth = holes.cumsum(1) - holes.cumsum(1).masked_fill(holes, 0).cummax(1).values  # 1, 2, ... between kept tokens
    at = left + nth
    inside = holes & (at < tokens.size(1))
    at = at.clamp(max=tokens.size(1) - 1)
    # still between the same kept tokens: nothing was kept from there on
    kept_before = kept.cumsum(1)
    inside = inside & deleted.gather(1, at) & kept_before.gather(1, at).eq(kept_before.gather(1, left))
    return tokens.gather(1, at).masked_fill(~inside, pad)
