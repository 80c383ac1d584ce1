"""What a person asked for with marks on a draft, as one whole number a token that moves along with it.

The low bits say what is asked, the rest numbers the protected span that the token belongs to, so that two
spans side by side stay two. 0 = nothing is asked.
"""

from __future__ import annotations

import torch
from torch import Tensor

KEEP = 1  # hard: never deleted
PREFER = 2  # soft: deleted only when the policy is sure
DELETE = 4  # deleted in the first iteration
INSERT = 8  # something is inserted to the right of this token in the first iteration
SPAN = 16  # the number of the span, from 1, counts in this unit


def has(requests: Tensor, what: int) -> Tensor:
    """True where ``what`` is asked of a token, whatever else is.

    >>> has(torch.tensor([0, KEEP + SPAN, DELETE, KEEP + INSERT + SPAN]), KEEP).int()
    tensor([0, 1, 0, 1], dtype=torch.int32)
    """
    return requests.bitwise_and(what).ne(0)


def inside_span(requests: Tensor, kind: int) -> Tensor:
    """(B, N) -> (B, N - 1): the slots between two tokens of one protected span of this ``kind``.

    >>> r = torch.tensor([[0, KEEP + SPAN, KEEP + SPAN, KEEP + 2 * SPAN, 0]])
    >>> inside_span(r, KEEP).int()
    tensor([[0, 1, 0, 0]], dtype=torch.int32)
    """
    left, right = requests[:, :-1], requests[:, 1:]
    return has(left, kind) & has(right, kind) & left.div(SPAN, rounding_mode="floor").eq(right // SPAN)


def hand_on(requests: Tensor, deleted: Tensor) -> Tensor:
    """An insertion asked for behind a token that goes is asked for behind the last token before it that stays.

    The first token of a row never goes.

    >>> r = torch.tensor([[0, 0, DELETE + INSERT, 0]])
    >>> hand_on(r, torch.tensor([[0, 0, 1, 0]]).bool())
    tensor([[ 0,  8, 12,  0]])
    """
    asked = has(requests, INSERT)
    home = (~deleted).long().cumsum(1) - 1  # (B, N): rank of the token that answers for this one
    answers = torch.zeros_like(requests).scatter_add(1, home.clamp(min=0), asked.long())  # by rank
    asked_of = answers.gather(1, home.clamp(min=0)).ne(0) & ~deleted
    return torch.where(asked_of, requests.bitwise_or(INSERT), requests)


def after_first_iteration(requests: Tensor) -> Tensor:
    """Deletions and insertions are asked for once; what is protected stays so.

    >>> after_first_iteration(torch.tensor([DELETE, INSERT, KEEP + INSERT + SPAN]))
    tensor([ 0,  0, 17])
    """
    return requests.bitwise_and(~(DELETE | INSERT))
