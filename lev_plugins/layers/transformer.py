"""Transformer blocks, pre- or post-norm."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from fairseq.utils import get_activation_fn
from torch import Tensor, nn

from lev_plugins import ranges
from lev_plugins.layers.attention import CrossAttention, KeysValues, SelfAttention
from lev_plugins.layers.dropout import dropout
from lev_plugins.layers.linear import Linear
from lev_plugins.layers.padding import RealTokens


@dataclass(frozen=True)
class LayerShape:
    """The sizes of a block: widths, heads, drop-out rates."""

    dim: int
    ffn_dim: int
    heads: int
    pre_norm: bool = False
    activation: str = "relu"
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0

    def __post_init__(self) -> None:
        ranges.check(self)
        if self.dim % self.heads:
            raise ValueError(
                f"the width must be a multiple of the number of attention heads, but width {self.dim} is not a "
                f"multiple of {self.heads} heads"
            )


class Residual(nn.Module):
    """Joins a sub-layer and the residual stream, normalising before (pre-norm) or after the sum."""

    def __init__(self, shape: LayerShape):
        super().__init__()
        self.pre_norm, self.dropout = shape.pre_norm, shape.dropout
        self.norm = nn.LayerNorm(shape.dim)

    def enter(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.pre_norm else x

    def leave(self, x: Tensor, update: Tensor) -> Tensor:
        x = x + dropout(update, self.dropout, self.training)
        return x if self.pre_norm else self.norm(x)


class FeedForward(nn.Module):
    def __init__(self, shape: LayerShape):
        super().__init__()
        self.fc1 = Linear(shape.dim, shape.ffn_dim)
        self.fc2 = Linear(shape.ffn_dim, shape.dim)
        # in place: neither product needs what was there
        self.activation = torch.relu_ if shape.activation == "relu" else get_activation_fn(shape.activation)
        self.dropout = shape.activation_dropout
        for linear in (self.fc1, self.fc2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(dropout(self.activation(self.fc1(x)), self.dropout, self.training))


class Block(nn.Module):
    """Shared by the blocks of encoder and decoder, which create their parts in the order in which they run."""

    self_attn: SelfAttention
    self_attn_residual: Residual
    ffn: FeedForward
    ffn_residual: Residual

    def look_around(self, x: Tensor, mask: Tensor | None, real: RealTokens | None) -> Tensor:
        return self.self_attn_residual.leave(x, self.self_attn(self.self_attn_residual.enter(x), mask, real))

    def feed_forward(self, x: Tensor) -> Tensor:
        return self.ffn_residual.leave(x, self.ffn(self.ffn_residual.enter(x)))


class EncoderLayer(Block):
    """Of ``real`` tokens alone, x is (n, C), otherwise (B, T, C)."""

    def __init__(self, shape: LayerShape):
        super().__init__()
        self.self_attn = SelfAttention(shape.dim, shape.heads, shape.attention_dropout)
        self.self_attn_residual = Residual(shape)
        self.ffn = FeedForward(shape)
        self.ffn_residual = Residual(shape)

    def forward(self, x: Tensor, mask: Tensor | None, real: RealTokens | None = None) -> Tensor:
        return self.feed_forward(self.look_around(x, mask, real))


class DecoderLayer(Block):
    """A block with cross-attention; the masks, (B, 1, 1, T) and (B, 1, 1, S), are True where attention is allowed.

    Of ``real`` tokens alone, x is (n, C), otherwise (B, T, C).
    """

    def __init__(self, shape: LayerShape, source_dim: int):
        super().__init__()
        self.self_attn = SelfAttention(shape.dim, shape.heads, shape.attention_dropout)
        self.self_attn_residual = Residual(shape)
        self.cross_attn = CrossAttention(shape.dim, shape.heads, source_dim, shape.attention_dropout)
        self.cross_attn_residual = Residual(shape)
        self.ffn = FeedForward(shape)
        self.ffn_residual = Residual(shape)

    def look_at_source(
        self, x: Tensor, source: KeysValues, mask: Tensor | None, real: RealTokens | None = None
    ) -> Tensor:
        seen = self.cross_attn(self.cross_attn_residual.enter(x), source, mask, real)
        return self.cross_attn_residual.leave(x, seen)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        source: KeysValues,
        source_mask: Tensor | None,
        real: RealTokens | None = None,
    ) -> Tensor:
        return self.feed_forward(self.look_at_source(self.look_around(x, mask, real), source, source_mask, real))
