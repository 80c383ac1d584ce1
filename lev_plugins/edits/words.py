"""Ids that a model may look up, and ids that exist only for printing."""

from __future__ import annotations

from torch import Tensor

BORROWED = 2**30  # the first id of unknown words of drafts; fairseq prints hypotheses from 32-bit integers


def known(tokens: Tensor, unk: int) -> Tensor:
    """Replace borrowed ids by <unk>.

    >>> import torch
    >>> known(torch.tensor([0, 11, BORROWED + 5, 2]), unk=3)
    tensor([ 0, 11,  3,  2])
    """
    return tokens.masked_fill(tokens >= BORROWED, unk)


def among(tokens: Tensor, target: Tensor) -> Tensor:
    """(B, T), (B, N) -> (B, T) True = the token is somewhere in the row's target.

    >>> import torch
    >>> among(torch.tensor([[11, 12], [11, 12]]), torch.tensor([[11, 13], [12, 11]]))
    tensor([[ True, False],
            [ True,  True]])
    """
    return tokens[:, :, None].eq(target[:, None, :]).any(2)
