"""Padding: attention must not see it, and the other parts of a layer can leave it out."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Padding", "RealTokens", "attention_mask", "padding_of"]

WORTH_IT = 0.1  # share of padding from which it is left out


class RealTokens(NamedTuple):
    """Where the n real tokens of a padded batch are: all but attention runs on these alone."""

    places: Tensor  # (n,) in the flattened (B * T)
    back: Tensor  # (B * T,) which of them each token is; of padding, any
    shape: torch.Size  # (B, T)

    def gather(self, x: Tensor) -> Tensor:
        """(B, T, C) -> (n, C)"""
        return x.flatten(0, 1).index_select(0, self.places)

    def spread(self, x: Tensor) -> Tensor:
        """(n, C) -> (B, T, C), with anything at the padding"""
        return x.index_select(0, self.back).view(*self.shape, -1)


class Padding(NamedTuple):
    mask: Tensor | None  # (B, 1, 1, T) for attention, True = may be attended to; None: nothing is padded
    real: RealTokens | None  # None: there is too little padding to leave it out


def padding_of(tokens: Tensor, pad: int) -> Padding:
    """Padding is counted only on a CPU: reading the number from a GPU would stall it.

    >>> padding_of(torch.tensor([[5, 6], [7, 1]]), pad=1).real.places.tolist()
    [0, 1, 2]
    >>> padding_of(torch.tensor([[5, 6], [7, 8]]), pad=1)
    Padding(mask=None, real=None)
    """
    real = tokens.ne(pad)
    mask = real[:, None, None, :]
    if tokens.is_cuda:
        return Padding(mask, None)
    count = int(real.count_nonzero())
    if count == tokens.numel():
        return Padding(None, None)
    if count == 0 or count > (1 - WORTH_IT) * tokens.numel():
        return Padding(mask, None)
    flat = real.flatten()
    return Padding(mask, RealTokens(flat.nonzero()[:, 0], (flat.cumsum(0) - 1).clamp(min=0), tokens.shape))


def attention_mask(tokens: Tensor, pad: int) -> Tensor | None:
    """As ``padding_of``, for layers that run on padding as well."""
    real = tokens.ne(pad)
    return None if not tokens.is_cuda and bool(real.all()) else real[:, None, None, :]
