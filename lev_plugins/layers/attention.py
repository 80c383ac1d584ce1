"""Multi-head attention on ``scaled_dot_product_attention``."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.layers.linear import Linear


class KeysValues(NamedTuple):
    """What cross-attention needs of a source, computed once a sentence."""

    keys: Tensor  # (B, H, S, C / H)
    values: Tensor  # (B, H, S, C / H)


def attention_mask(tokens: Tensor, pad: int) -> Tensor | None:
    """(B, 1, 1, S), True = may be attended to; ``None`` where nothing is padded.

    Only a CPU is asked whether anything is padded: the question would stall a GPU, and None is faster on a CPU.
    """
    real = tokens.ne(pad)
    if not tokens.is_cuda and bool(real.all()):
        return None
    return real[:, None, None, :]


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, T, C) -> (B, H, T, C / H)"""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, C / H) -> (B, T, C)"""
    return x.transpose(1, 2).flatten(2)


def _init_projection(linear: nn.Linear, parts: int, gain: float) -> None:
    """Xavier for each of the ``parts`` matrices stacked in one."""
    for part in linear.weight.chunk(parts):
        nn.init.xavier_uniform_(part, gain=gain)
    nn.init.zeros_(linear.bias)


class SelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int, dropout: float = 0.0):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.in_proj = Linear(dim, 3 * dim)  # queries, keys, values in one product
        self.out_proj = Linear(dim, dim)
        _init_projection(self.in_proj, 3, gain=1 / math.sqrt(2))
        _init_projection(self.out_proj, 1, gain=1.0)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        queries, keys, values = (split_heads(part, self.heads) for part in self.in_proj(x).chunk(3, -1))
        dropout = self.dropout if self.training else 0.0
        return self.out_proj(
            merge_heads(F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, dropout_p=dropout))
        )


class CrossAttention(nn.Module):
    """Attention whose keys and values come from elsewhere (``source_dim`` channels) and outlive one call."""

    def __init__(self, dim: int, heads: int, source_dim: int, dropout: float = 0.0):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.q_proj = Linear(dim, dim)
        self.kv_proj = Linear(source_dim, 2 * dim)
        self.out_proj = Linear(dim, dim)
        _init_projection(self.q_proj, 1, gain=1 / math.sqrt(2))
        _init_projection(self.kv_proj, 2, gain=1 / math.sqrt(2))
        _init_projection(self.out_proj, 1, gain=1.0)

    def project(self, source: Tensor) -> KeysValues:
        """(B, S, C) -> keys and values"""
        keys, values = self.kv_proj(source).chunk(2, -1)
        return KeysValues(split_heads(keys, self.heads), split_heads(values, self.heads))

    def forward(self, x: Tensor, source: KeysValues, mask: Tensor | None) -> Tensor:
        queries = split_heads(self.q_proj(x), self.heads)
        dropout = self.dropout if self.training else 0.0
        return self.out_proj(
            merge_heads(F.scaled_dot_product_attention(queries, *source, attn_mask=mask, dropout_p=dropout))
        )
