"""Ids that a model may look up, and others that only the printing of a text knows."""

from __future__ import annotations

from torch import Tensor

BORROWED = 2**30  # ids from here on are unknown words of drafts; fairseq prints hypotheses from 32-bit integers


def known(tokens: Tensor, unk: int) -> Tensor:
    """<unk> in place of borrowed ids.

    >>> import torch
    >>> known(torch.tensor([0, 11, BORROWED + 5, 2]), unk=3)
    tensor([ 0, 11,  3,  2])
    """
    return tokens.masked_fill(tokens >= BORROWED, unk)
