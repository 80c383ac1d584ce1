"""Deletions on padded token tensors, and properties of tokens, for training.

Decoding edits one sentence at a time (``generators.refinement``).
"""

from collections.abc import Iterable
from itertools import repeat
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lev_plugins.edits.source_alignment import align_to_source
from lev_plugins.errors import require


def deletable(tokens: Tensor, bos: int, eos: int, pad: int) -> Tensor:
    """Where a token may be deleted: everywhere but at the two boundaries and on padding.

    >>> deletable(torch.tensor([[0, 11, 12, 2, 1]]), bos=0, eos=2, pad=1).int()
    tensor([[0, 1, 1, 0, 0]], dtype=torch.int32)
    """
    return tokens.ne(bos) & tokens.ne(eos) & tokens.ne(pad)


def apply_deletions(
    tokens: Tensor, deleted: Tensor, pad: int, *along: Tensor, fills: Iterable[float] = repeat(0)
) -> tuple[Tensor, ...]:
    """Remove the tokens marked in ``deleted`` and move the rest to the left; the width stays N.

    Values that belong to the tokens, such as scores, move ``along`` (each (B, N)); on padding, each has its own of the
    ``fills``, by default 0.

    >>> y = torch.tensor([[0, 11, 12, 13, 2], [0, 21, 2, 1, 1]])
    >>> d = torch.tensor([[0, 0, 1, 0, 0], [0, 1, 0, 0, 0]]).bool()
    >>> apply_deletions(y, d, pad=1)[0]
    tensor([[ 0, 11, 13,  2,  1],
            [ 0,  2,  1,  1,  1]])
    """
    gone = deleted | tokens.eq(pad)
    order = gone.to(torch.uint8).argsort(dim=1, stable=True)  # (B, N): kept tokens first, in their order
    kept = tokens.masked_fill(gone, pad).gather(1, order)
    return kept, *(value.masked_fill(gone, fill).gather(1, order) for value, fill in zip(along, fills, strict=False))


def require_room(draft: Tensor, pad: int, room: int, side: str) -> None:
    """For a ``draft`` (B, N) among the positions of a ``side``; what is too much may be padding."""
    if draft.size(1) > room:
        longest = int(draft.ne(pad).sum(1).max())
        require(
            longest <= room,
            f"a draft has {longest} tokens, including boundaries, but the model has positions for {room}: shorten it, "
            f"or train with a larger --max-{side}-positions",
        )


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
    at = (left + nth).clamp(max=tokens.size(1) - 1)  # a last token is never deleted
    # still between the same kept tokens: nothing was kept from there on
    kept_before = kept.cumsum(1)
    inside = holes & deleted.gather(1, at) & kept_before.gather(1, at).eq(kept_before.gather(1, left))
    return tokens.gather(1, at).masked_fill(~inside, pad)


def unknown_to_unk(tokens: Tensor, size: int, unk: int) -> Tensor:
    """<unk> in place of the unknown words of a batch, which come after the ``size`` words and the placeholder.

    >>> unknown_to_unk(torch.tensor([0, 11, 20, 21, 2]), size=20, unk=3)
    tensor([ 0, 11, 20,  3,  2])
    """
    return tokens.masked_fill(tokens > size, unk)


def places_of(marks: Tensor, number: int) -> Tensor:
    """The places of the ``number`` marks in (n,), in their order; a GPU is not asked how many they are.

    >>> places_of(torch.tensor([False, True, True]), 2)
    tensor([1, 2])
    """
    return (~marks).to(torch.uint8).argsort(stable=True)[:number] if marks.is_cuda else marks.nonzero()[:, 0]


def index_of(rows: list[Any], device: torch.device) -> Tensor:
    """A GPU is not waited for."""
    return torch.tensor(rows, dtype=torch.long).to(device, non_blocking=True)


def source_positions(tokens: Tensor, source: Tensor, pad: int) -> Tensor:
    """(B, T), (B, S) -> (B, T) the place in the source of what is ``beside`` each; one question to a GPU.

    >>> source_positions(torch.tensor([[0, 11, 99, 2]]), torch.tensor([[1, 0, 11, 12, 2]]), pad=1)
    tensor([[1, 2, 3, 4]])
    """
    rows, width = torch.cat([tokens, source], 1).tolist(), tokens.size(1)
    return index_of([align_to_source(row[:width], row[width:], pad) for row in rows], tokens.device)


def among(tokens: Tensor, target: Tensor) -> Tensor:
    """(B, T), (B, N) -> (B, T) True = the token is somewhere in the row's target.

    >>> among(torch.tensor([[11, 12], [11, 12]]), torch.tensor([[11, 13], [12, 11]]))
    tensor([[ True, False],
            [ True,  True]])
    """
    return tokens[:, :, None].eq(target[:, None, :]).any(2)
