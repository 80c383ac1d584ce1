"""Deletions on padded token tensors, and properties of tokens, for training and for the policies.

Decoding edits one sentence at a time (``edits.refinement``).

Ids below V are words of the dictionary, V is the placeholder (unused with --placeholder unk), and larger ids are
unknown words of the batch, which a model with --spelling can tell apart.
"""

from collections.abc import Iterable
from itertools import repeat
from typing import NamedTuple

import torch
from torch import Tensor

from lev_plugins.edits.source_alignment import align_to_source
from lev_plugins.utils.errors import require


def deletable(tokens: Tensor, bos: int, eos: int, pad: int) -> Tensor:
    """Returns a mask (B, N), True = the token may be deleted: it is neither a boundary nor padding.

    >>> deletable(torch.tensor([[0, 11, 12, 2, 1]]), bos=0, eos=2, pad=1).int()
    tensor([[0, 1, 1, 0, 0]], dtype=torch.int32)
    """
    return tokens.ne(bos) & tokens.ne(eos) & tokens.ne(pad)


def apply_deletions(
    tokens: Tensor, deleted: Tensor, pad: int, *values: Tensor, fills: Iterable[float] = repeat(0)
) -> tuple[Tensor, ...]:
    """Removes the tokens marked in ``deleted`` and moves the rest to the left; the width stays N.

    ``values``, each (B, N), belong to the tokens and move with them; ``fills`` are their values on padding.

    >>> y = torch.tensor([[0, 11, 12, 13, 2], [0, 21, 2, 1, 1]])
    >>> d = torch.tensor([[0, 0, 1, 0, 0], [0, 1, 0, 0, 0]]).bool()
    >>> apply_deletions(y, d, pad=1)[0]
    tensor([[ 0, 11, 13,  2,  1],
            [ 0,  2,  1,  1,  1]])
    """
    empty = deleted | tokens.eq(pad)
    order = empty.to(torch.uint8).argsort(dim=1, stable=True)  # (B, N): remaining tokens first, in their order
    remaining = tokens.masked_fill(empty, pad).gather(1, order)
    moved = (value.masked_fill(empty, fill).gather(1, order) for value, fill in zip(values, fills, strict=False))
    return remaining, *moved


def require_draft_fits(draft: Tensor, pad: int, positions: int, side: str) -> None:
    """Requires that the tokens of each draft (B, N) fit into the model's ``positions`` on a ``side``."""
    if draft.size(1) > positions:
        longest = int(draft.ne(pad).sum(1).max())
        require(
            longest <= positions,
            f"a draft has {longest} tokens, including boundaries, but the model has positions for {positions}: "
            f"shorten it, or train with a larger --max-{side}-positions",
        )


class RemovedTokens(NamedTuple):
    """The tokens that were deleted right after each remaining token."""

    first: Tensor  # (B, N) the first deleted token, or padding
    counts: Tensor  # (B, N) the number of deleted tokens


def removed_after(tokens: Tensor, deleted: Tensor, pad: int) -> RemovedTokens:
    """Returns what was deleted after each remaining token, which is moved to the left.

    >>> y = torch.tensor([[0, 11, 12, 13, 2]])
    >>> d = torch.tensor([[0, 0, 1, 1, 0]]).bool()           # <s> 11 </s>
    >>> removed_after(y, d, pad=1)
    RemovedTokens(first=tensor([[ 1, 12,  1,  1,  1]]), counts=tensor([[0, 2, 0, 0, 0]]))
    """
    next_deleted = tokens.roll(-1, 1).masked_fill(~deleted.roll(-1, 1), pad)
    positions = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
    remaining, first, position = apply_deletions(tokens, deleted, pad, next_deleted, positions, fills=(pad, 0))
    next_position = torch.where(remaining.roll(-1, 1).ne(pad), position.roll(-1, 1), position + 1)
    next_position[:, -1] = position[:, -1] + 1
    return RemovedTokens(first, next_position - position - 1)


def replaced_per_placeholder(tokens: Tensor, deleted: Tensor, placeholders: Tensor, pad: int) -> Tensor:
    """Returns for each placeholder the deleted token that it replaces (B, T), and padding elsewhere.

    ``placeholders`` (B, T) marks them in rows whose other tokens are those of ``tokens`` (B, N) that are not
    ``deleted``. Between two of these, the first placeholder replaces the first deleted token, and so on; further
    placeholders replace nothing.

    >>> y = torch.tensor([[0, 11, 12, 13, 2]])
    >>> d = torch.tensor([[0, 1, 0, 1, 0]]).bool()
    >>> p = torch.tensor([[0, 1, 1, 0, 1, 0]]).bool()        # <s> ? ? 12 ? </s>
    >>> replaced_per_placeholder(y, d, p, pad=1)
    tensor([[ 1, 11,  1,  1, 13,  1]])
    """
    remains = ~deleted & tokens.ne(pad)  # (B, N)
    positions = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
    # the position of the k-th remaining token; what was deleted after it is contiguous
    order = (~remains).to(torch.uint8).argsort(dim=1, stable=True)
    rank = (~placeholders).cumsum(1) - 1  # (B, T): of the last remaining token before a placeholder
    left = positions.gather(1, order).gather(1, rank.clamp(min=0, max=tokens.size(1) - 1))  # (B, T) its position
    count = placeholders.cumsum(1)
    nth = count - count.masked_fill(placeholders, 0).cummax(1).values  # 1, 2, ... between two remaining tokens
    at = (left + nth).clamp(max=tokens.size(1) - 1)  # a last token is never deleted
    # a token at `at` was deleted after the one at `left` if no token in between remains
    remaining_before = remains.cumsum(1)
    same_gap = remaining_before.gather(1, at).eq(remaining_before.gather(1, left))
    return tokens.gather(1, at).masked_fill(~(placeholders & deleted.gather(1, at) & same_gap), pad)


def removed_per_placeholder(replaced: Tensor, pad: int) -> RemovedTokens:
    """Returns the words ``replaced`` (B, T) as deleted words: at most one for each placeholder.

    >>> removed_per_placeholder(torch.tensor([[1, 12]]), pad=1)
    RemovedTokens(first=tensor([[ 1, 12]]), counts=tensor([[0, 1]]))
    """
    return RemovedTokens(replaced, replaced.ne(pad).long())


def unknown_to_unk(tokens: Tensor, size: int, unk: int) -> Tensor:
    """Replaces the unknown words of a batch with <unk>: ids above ``size``, which is itself the placeholder.

    >>> unknown_to_unk(torch.tensor([0, 11, 20, 21, 2]), size=20, unk=3)
    tensor([ 0, 11, 20,  3,  2])
    """
    return tokens.masked_fill(tokens > size, unk)


def positions_where(mask: Tensor, count: int) -> Tensor:
    """Returns the positions of the ``count`` true values of a mask (n,), without waiting for a GPU.

    >>> positions_where(torch.tensor([False, True, True]), 2)
    tensor([1, 2])
    """
    return (~mask).to(torch.uint8).argsort(stable=True)[:count] if mask.is_cuda else mask.nonzero()[:, 0]


def row_index(rows: list[int] | list[list[int]], device: torch.device) -> Tensor:
    """Returns integers as a tensor on a device, copied without waiting for a GPU."""
    return torch.tensor(rows, dtype=torch.long).to(device, non_blocking=True)


def source_positions(tokens: Tensor, source: Tensor, pad: int) -> Tensor:
    """Returns ``align_to_source`` of each row, (B, T) positions in (B, S), with one device-to-host copy.

    >>> source_positions(torch.tensor([[0, 11, 99, 2]]), torch.tensor([[1, 0, 11, 12, 2]]), pad=1)
    tensor([[1, 2, 3, 4]])
    """
    rows, width = torch.cat([tokens, source], 1).tolist(), tokens.size(1)
    return row_index([align_to_source(row[:width], row[width:], pad) for row in rows], tokens.device)
