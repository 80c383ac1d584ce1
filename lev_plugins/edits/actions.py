"""The three actions of an editor (delete tokens, open holes, fill the holes), and what tokens are.

They may be words that the dictionary lacks, words that occur in a target, words that a hole takes the place of, and
words of the draft, whose position in it, from 1, moves with them through deletions and insertions.
"""

import math
from collections.abc import Iterable
from itertools import repeat
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lev_plugins.edits.beside import beside
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


def apply_placeholders(
    tokens: Tensor, counts: Tensor, placeholder: int, pad: int, *along: Tensor, width: int | None = None
) -> tuple[Tensor, ...]:
    """Open ``counts[b, i]`` holes between token i and token i + 1.

    ``width`` is the width of the result; by default that of the longest row, which costs a GPU one round trip.
    Values that belong to the tokens move ``along``, as in ``apply_deletions``.

    >>> y = torch.tensor([[0, 11, 2, 1], [0, 21, 22, 2]])
    >>> p = torch.tensor([[2, 0, 0], [0, 0, 1]])
    >>> apply_placeholders(y, p, placeholder=9, pad=1)[0]
    tensor([[ 0,  9,  9, 11,  2],
            [ 0, 21, 22,  9,  2]])
    """
    real = tokens.ne(pad)  # (B, N)
    counts = counts.masked_fill(~real[:, 1:], 0)  # (B, N - 1)
    shift = counts.cumsum(1)
    lengths = real.sum(1) + shift[:, -1]  # (B,)
    if width is None:
        width = int(lengths.max())
    place = torch.arange(tokens.size(1), device=tokens.device).repeat(tokens.size(0), 1)  # (B, N)
    place[:, 1:] += shift
    place = place.masked_fill(~real, width).clamp(max=width)  # padding goes to a spare column, cut off below
    inside = torch.arange(width + 1, device=tokens.device) < lengths[:, None]
    out = tokens.new_full((tokens.size(0), width + 1), pad).masked_fill(inside, placeholder)
    out = out.scatter(1, place, tokens)[:, :width]
    blank = (tokens.size(0), width + 1)
    return out, *(value.new_zeros(blank).scatter(1, place, value)[:, :width] for value in along)


def at_least(least: int, counts: Tensor, scores: Tensor, tokens: Tensor, pad: int) -> Tensor:
    """(B, N - 1): more of them, up to ``least`` words, in the slot with the lowest score for no insertion.

    ``scores`` are (B, N - 1, K + 1), ``tokens`` (B, N).
    """
    if not least:
        return counts
    slots = tokens[:, 1:].ne(pad)
    counts = counts.masked_fill(~slots, 0)
    lack = (least + 1 - slots.sum(1) - counts.sum(1)).clamp(min=0)  # (B,); 1: </s>
    slot = scores[:, :, 0].masked_fill(~slots, math.inf).argmin(1, keepdim=True)
    return counts.scatter_add(1, slot, lack[:, None])


def require_room(draft: Tensor, pad: int, room: int, side: str) -> None:
    """For a ``draft`` (B, N) among the positions of a ``side``; what is too much may be padding."""
    if draft.size(1) > room:
        longest = int(draft.ne(pad).sum(1).max())
        require(
            longest <= room,
            f"a draft has {longest} tokens, including boundaries, but the model has positions for {room}: shorten it, "
            f"or train with a larger --max-{side}-positions",
        )


def within_room(positions: int, counts: Tensor, lengths: Tensor, tokens: Tensor, pad: int) -> Tensor:
    """(B, N - 1): no more than the decoder has positions for, filling slots from left to right.

    >>> y, p = torch.tensor([[0, 11, 12, 2]]), torch.tensor([[1, 2, 3]])
    >>> within_room(6, p, torch.tensor([4]), y, pad=1)
    tensor([[1, 1, 0]])
    """
    counts = counts.masked_fill(tokens[:, 1:].eq(pad), 0)
    before = counts.cumsum(1) - counts
    room = (positions - lengths)[:, None] - before
    return torch.minimum(counts, room.clamp(min=0))


def apply_tokens(tokens: Tensor, holes: Tensor, words: Tensor) -> Tensor:
    """Fill the n ``holes`` of (B, N), row by row, with ``words`` (n,).

    >>> y = torch.tensor([[0, 9, 2], [0, 9, 2]])
    >>> apply_tokens(y, y.eq(9), torch.tensor([5, 6]))
    tensor([[0, 5, 2],
            [0, 6, 2]])
    """
    return tokens.masked_scatter(holes, words)


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


def known(tokens: Tensor, size: int, unk: int) -> Tensor:
    """<unk> in place of the unknown words of a batch, which come after the ``size`` words and the placeholder.

    >>> known(torch.tensor([0, 11, 20, 21, 2]), size=20, unk=3)
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


def places_beside(tokens: Tensor, source: Tensor, pad: int) -> Tensor:
    """(B, T), (B, S) -> (B, T) the place in the source of what is ``beside`` each; one question to a GPU.

    >>> places_beside(torch.tensor([[0, 11, 99, 2]]), torch.tensor([[1, 0, 11, 12, 2]]), pad=1)
    tensor([[1, 2, 3, 4]])
    """
    rows, width = torch.cat([tokens, source], 1).tolist(), tokens.size(1)
    return index_of([beside(row[:width], row[width:], pad) for row in rows], tokens.device)


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
