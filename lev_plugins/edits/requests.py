"""What a person requested with marks on a draft, as one integer per token, which moves with it.

The low bits hold the requests, the rest the number of the protected span that the token belongs to, so that two
adjacent spans stay separate. 0 = no request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

KEEP = 1  # hard: never deleted
PREFER = 2  # soft: deleted only when the policy is sure
DELETE = 4  # deleted in the first iteration
INSERT = 8  # something is inserted after this token in the first iteration
SPAN = 16  # times the number of the span, from 1


def has(requests: Tensor, what: int) -> Tensor:
    """True where a token has the request ``what``, alone or with others.

    >>> import torch
    >>> has(torch.tensor([0, KEEP + SPAN, DELETE, KEEP + INSERT + SPAN]), KEEP).int()
    tensor([0, 1, 0, 1], dtype=torch.int32)
    """
    return requests.bitwise_and(what).ne(0)


def inside_span(requests: Tensor, kind: int) -> Tensor:
    """(B, N) -> (B, N - 1): the slots inside a protected span of this ``kind``.

    >>> import torch
    >>> r = torch.tensor([[0, KEEP + SPAN, KEEP + SPAN, KEEP + 2 * SPAN, 0]])
    >>> inside_span(r, KEEP).int()
    tensor([[0, 1, 0, 0]], dtype=torch.int32)
    """
    left, right = requests[:, :-1], requests[:, 1:]
    return has(left, kind) & has(right, kind) & left.div(SPAN, rounding_mode="floor").eq(right // SPAN)


def hand_on(requests: Tensor, deleted: Tensor) -> Tensor:
    """Move an insertion requested after a deleted token to the last kept token before it.

    The first token of a row is never deleted.

    >>> import torch
    >>> r = torch.tensor([[0, 0, DELETE + INSERT, 0]])
    >>> hand_on(r, torch.tensor([[0, 0, 1, 0]]).bool())
    tensor([[ 0,  8, 12,  0]])
    """
    insert = has(requests, INSERT)
    home = (~deleted).long().cumsum(1) - 1  # (B, N): rank of the token that takes over from this one
    inserts = requests.new_zeros(requests.shape).scatter_add(1, home.clamp(min=0), insert.long())  # by rank
    moved = inserts.gather(1, home.clamp(min=0)).ne(0) & ~deleted
    return requests.bitwise_or(INSERT).where(moved, requests)


def behind_spans(counts: Tensor, shut: Tensor) -> Tensor:
    """Move the placeholders of ``shut`` (B, N - 1) slots to the next open slot; the last slot is always open.

    >>> import torch
    >>> behind_spans(torch.tensor([[0, 2, 0, 1]]), torch.tensor([[0, 1, 0, 0]]).bool())
    tensor([[0, 0, 2, 1]])
    """
    slots = counts.new_ones(counts.shape).cumsum(1) - 1
    home = slots.masked_fill(shut, counts.size(1)).flip(1).cummin(1).values.flip(1)
    return counts.new_zeros(counts.shape).scatter_add(1, home, counts)
