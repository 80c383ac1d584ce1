"""Padding: attention must not see it, and the other parts of a layer can leave it out."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

WORTH_IT = 0.1  # share of padding from which it is left out


class RealTokens(NamedTuple):
    """Where the n real tokens of a padded batch are: all but attention runs on these alone."""

    places: Tensor  # (n,) in the flattened (B * T)
    back: Tensor  # (B * T,) which of them each token is; of padding, any
    shape: torch.Size  # (B, T)


class Padding(NamedTuple):
    mask: Tensor | None  # (B, 1, 1, T) for attention, True = may be attended to; None: nothing is padded
    real: RealTokens | None  # None: there is too little padding to leave it out


def gathered(x: Tensor, real: RealTokens | None) -> Tensor:
    """(B, T, C) -> (n, C); without ``real``, as it is"""
    return x if real is None else x.flatten(0, 1).index_select(0, real.places)


def spread(x: Tensor, real: RealTokens | None) -> Tensor:
    """(n, C) -> (B, T, C), with anything at the padding; without ``real``, as it is"""
    return x if real is None else x.index_select(0, real.back).view(*real.shape, -1)


def attention_mask(tokens: Tensor, pad: int) -> Tensor | None:
    """(B, 1, 1, T), True = may be attended to; ``None`` if nothing is padded.

    Only on a CPU, where None is faster, is padding looked for: reading the answer from a GPU would stall it.
    """
    real = tokens.ne(pad)
    return None if not tokens.is_cuda and bool(real.all()) else real[:, None, None, :]


def padding_of(tokens: Tensor, pad: int) -> Padding:
    """Padding is left out only on a CPU, for the same reason.

    >>> padding_of(torch.tensor([[5, 6], [7, 1]]), pad=1).real.places.tolist()
    [0, 1, 2]
    >>> padding_of(torch.tensor([[5, 6], [7, 8]]), pad=1)
    Padding(mask=None, real=None)
    """
    mask = attention_mask(tokens, pad)
    if mask is None or tokens.is_cuda:
        return Padding(mask, None)
    flat = mask.flatten()
    places = flat.nonzero()[:, 0]
    if not 0 < len(places) <= (1 - WORTH_IT) * len(flat):
        return Padding(mask, None)
    return Padding(mask, RealTokens(places, (flat.cumsum(0) - 1).clamp(min=0), tokens.shape))
