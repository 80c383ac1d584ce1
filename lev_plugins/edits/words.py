"""Words that the dictionary lacks, and words that occur in a target."""

from __future__ import annotations

from torch import Tensor


def known(tokens: Tensor, size: int, unk: int) -> Tensor:
    """<unk> in place of the unknown words of a batch, which come after the ``size`` words and the placeholder.

    >>> import torch
    >>> known(torch.tensor([0, 11, 20, 21, 2]), size=20, unk=3)
    tensor([ 0, 11, 20,  3,  2])
    """
    return tokens.masked_fill(tokens > size, unk)


def among(tokens: Tensor, target: Tensor) -> Tensor:
    """(B, T), (B, N) -> (B, T) True = the token is somewhere in the row's target.

    >>> import torch
    >>> among(torch.tensor([[11, 12], [11, 12]]), torch.tensor([[11, 13], [12, 11]]))
    tensor([[ True, False],
            [ True,  True]])
    """
    return tokens[:, :, None].eq(target[:, None, :]).any(2)
