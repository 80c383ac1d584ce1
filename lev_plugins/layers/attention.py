"""Multi-head attention on ``scaled_dot_product_attention``."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.layers.linear import Linear, linear
from lev_plugins.layers.padding import RealTokens, gathered, spread


class KeysValues(NamedTuple):
    """The keys and values of the positions to attend to; for a source, computed once per sentence."""

    keys: Tensor  # (B, H, S, C / H)
    values: Tensor  # (B, H, S, C / H)

    def select(self, rows: Tensor) -> KeysValues:
        """The keys and values of ``rows`` (n,); a row may appear more than once."""
        return KeysValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))

    def joined(self, more: KeysValues) -> KeysValues:
        """These positions, then ``more``."""
        return KeysValues(torch.cat([self.keys, more.keys], 2), torch.cat([self.values, more.values], 2))


def split_heads(x: Tensor, heads: int, parts: int = 1) -> tuple[Tensor, ...]:
    """(B, T, parts * C) -> ``parts`` of (B, H, T, C / H)"""
    return x.view(*x.shape[:2], parts, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, C / H) -> (B, T, C)"""
    return x.transpose(1, 2).flatten(2)


def fold_beams(x: Tensor, beams: int) -> Tensor:
    """(B * beams, H, T, ...) -> (B, H, beams * T, ...)"""
    if beams == 1:
        return x
    rows, heads, length, width = x.shape
    return x.view(rows // beams, beams, heads, length, width).transpose(1, 2).reshape(-1, heads, beams * length, width)


def unfold_beams(x: Tensor, beams: int) -> Tensor:
    """(B, H, beams * T, ...) -> (B * beams, H, T, ...)"""
    if beams == 1:
        return x
    batch, heads, lengths, width = x.shape
    return x.view(batch, heads, beams, -1, width).transpose(1, 2).reshape(-1, heads, lengths // beams, width)


def attend(queries: Tensor, source: KeysValues, mask: Tensor | None, dropout: float = 0.0) -> Tensor:
    """Queries (B, H, T, C / H) -> (B, T, C).

    A row of ``source`` may serve several consecutive rows of queries, the beams of one sentence. Its keys are then
    read once, and the beams share the mask, (B, 1, 1, S).
    """
    beams = queries.size(0) // source.keys.size(0)
    attended = _attended(fold_beams(queries, beams), source, mask, dropout)
    return merge_heads(unfold_beams(attended, beams))


def _attended(queries: Tensor, source: KeysValues, mask: Tensor | None, dropout: float) -> Tensor:
    """On a CPU always in 32 bits, even under autocast: the gradient in bfloat16 takes seven times as long."""
    if not torch.is_autocast_enabled("cpu") or queries.is_cuda:
        return F.scaled_dot_product_attention(queries, *source, attn_mask=mask, dropout_p=dropout)
    keys, values = source.keys.float(), source.values.float()
    with torch.autocast("cpu", enabled=False):
        return F.scaled_dot_product_attention(queries.float(), keys, values, attn_mask=mask, dropout_p=dropout)


def attend_to_both(queries: Tensor, own: KeysValues, shared: KeysValues, mask: Tensor, dropout: float = 0.0) -> Tensor:
    """``attend`` to ``own`` and to ``shared``, which the beams of a sentence share, without joining the two.

    Queries are (B * beams, H, T, C / H), ``own`` has N positions for each of their rows, ``shared`` has S for each
    of B; the mask is (B * beams, 1, T, N + S). In a step of decoding, where T is 1, this costs a fraction of copying
    ``shared`` for every row.
    """
    beams = queries.size(0) // shared.keys.size(0)
    queries = queries * queries.size(3) ** -0.5
    to_own = queries @ own.keys.transpose(2, 3)  # (B * beams, H, T, N)
    to_shared = unfold_beams(fold_beams(queries, beams) @ shared.keys.transpose(2, 3), beams)  # (B * beams, H, T, S)
    weights = torch.where(mask, torch.cat([to_own, to_shared], 3), -math.inf).softmax(3)
    if dropout:
        weights = F.dropout(weights, dropout)
    for_own, for_shared = weights.split([to_own.size(3), to_shared.size(3)], 3)
    attended = for_own @ own.values + unfold_beams(fold_beams(for_shared, beams) @ shared.values, beams)
    return merge_heads(attended)


def _init_projection(projection: nn.Linear, parts: int, gain: float) -> None:
    """Xavier for each of the ``parts`` matrices stacked in one."""
    for part in projection.weight.chunk(parts):
        nn.init.xavier_uniform_(part, gain=gain)
    nn.init.zeros_(projection.bias)


class SelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int, dropout: float = 0.0):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.in_proj = Linear(dim, 3 * dim)  # queries, keys, values in one product
        self.out_proj = Linear(dim, dim)
        _init_projection(self.in_proj, 3, gain=1 / math.sqrt(2))
        _init_projection(self.out_proj, 1, gain=1.0)

    def project(self, x: Tensor, real: RealTokens | None = None) -> tuple[Tensor, KeysValues]:
        """(B, T, C) -> queries (B, H, T, C / H), and the keys and values that go with them"""
        projected = self.in_proj(x)
        queries, keys, values = split_heads(spread(projected, real), self.heads, parts=3)
        return queries, KeysValues(keys, values)

    def project_source(self, x: Tensor) -> KeysValues:
        """(B, S, C) -> keys and values of positions without queries"""
        dim = self.out_proj.in_features
        both = linear(x, self.in_proj.weight[dim:], self.in_proj.bias[dim:])
        return KeysValues(*split_heads(both, self.heads, parts=2))

    def forward(self, x: Tensor, mask: Tensor | None, real: RealTokens | None = None) -> Tensor:
        """(B, T, C) -> (B, T, C); of ``real`` tokens alone, (n, C) -> (n, C)"""
        queries, own = self.project(x, real)
        attended = attend(queries, own, mask, self.dropout if self.training else 0.0)
        return self.out_proj(gathered(attended, real))


class CrossAttention(nn.Module):
    """Attention whose keys and values come from a source (``source_dim`` channels) and are reused between calls."""

    def __init__(self, dim: int, heads: int, source_dim: int, dropout: float = 0.0):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.q_proj = Linear(dim, dim)
        self.kv_proj = Linear(source_dim, 2 * dim)
        self.out_proj = Linear(dim, dim)
        _init_projection(self.q_proj, 1, gain=1 / math.sqrt(2))
        _init_projection(self.kv_proj, 2, gain=1 / math.sqrt(2))
        _init_projection(self.out_proj, 1, gain=1.0)

    def project(self, source: Tensor, real: RealTokens | None = None) -> KeysValues:
        """(B, S, C), or (n, C) of ``real`` tokens -> keys and values"""
        projected = self.kv_proj(source)
        return KeysValues(*split_heads(spread(projected, real), self.heads, parts=2))

    def forward(self, x: Tensor, source: KeysValues, mask: Tensor | None, real: RealTokens | None = None) -> Tensor:
        """(B, T, C) -> (B, T, C); of ``real`` tokens alone, (n, C) -> (n, C)"""
        projected = self.q_proj(x)
        (queries,) = split_heads(spread(projected, real), self.heads)
        attended = attend(queries, source, mask, self.dropout if self.training else 0.0)
        return self.out_proj(gathered(attended, real))
