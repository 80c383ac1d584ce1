"""The blocks of T5: norms without a mean, no biases, unscaled attention, positions only as distances.

Shapes: B batch, S source length, T target length, C channels, H heads (see ``lev_plugins.nn``).
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.nn.linear import Linear
from lev_plugins.nn.transformer import dropout
from lev_plugins.utils.errors import require

EPSILON = 1e-6
FEED_FORWARDS = ["relu", "gated-gelu"]  # T5; T5 1.1, mT5 and ByT5


@dataclass(frozen=True)
class T5Shape:
    """Sizes of a block, by the names of EncT5's flags."""

    embed_dim: int
    ffn_embed_dim: int
    attention_heads: int
    head_dim: int  # attention_heads * head_dim need not be embed_dim
    feed_forward: str = "relu"
    distance_buckets: int = 32
    farthest_distance: int = 128  # all distances from this one on share a bucket
    dropout: float = 0.1


class Norm(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        if torch.jit.is_tracing():  # ONNX has no operator for F.rms_norm
            return x * (x.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * self.weight
        return F.rms_norm(x, x.shape[-1:], self.weight, EPSILON)


def distance_buckets(distances: Tensor, buckets: int, farthest: int) -> Tensor:
    """The bucket of a distance (key position - query position); the upper half is for keys to the right.

    Small distances have one bucket each; larger ones share buckets of growing width.

    >>> distance_buckets(torch.tensor([-200, -9, -2, 0, 1, 2, 9, 200]), 8, 16)
    tensor([3, 3, 2, 0, 5, 6, 7, 7])
    """
    half = buckets // 2
    exact = half // 2
    far = distances.abs()
    steps = (far.clamp(min=1) / exact).log() / math.log(farthest / exact) * (half - exact)
    shared = (exact + steps.long()).clamp(max=half - 1)
    return torch.where(far < exact, far, shared) + half * distances.gt(0)


class DistanceBias(nn.Module):
    """The bias added to attention for the distance of key and query; one table for all blocks."""

    def __init__(self, shape: T5Shape) -> None:
        super().__init__()
        self.table = nn.Embedding(shape.distance_buckets, shape.attention_heads)
        self.farthest = shape.farthest_distance
        nn.init.normal_(self.table.weight, std=shape.embed_dim**-0.5)

    def forward(self, length: int) -> Tensor:
        """Returns the bias of all pairs of ``length`` positions, (1, H, S, S): query, key."""
        positions = torch.arange(length, device=self.table.weight.device)
        buckets = distance_buckets(positions[None, :] - positions[:, None], self.table.num_embeddings, self.farthest)
        return self.table(buckets).permute(2, 0, 1)[None]


class T5Attention(nn.Module):
    def __init__(self, shape: T5Shape) -> None:
        super().__init__()
        inner = shape.attention_heads * shape.head_dim
        self.heads, self.dropout = shape.attention_heads, shape.dropout
        self.q, self.k, self.v = (Linear(shape.embed_dim, inner, bias=False) for _ in range(3))
        self.o = Linear(inner, shape.embed_dim, bias=False)
        nn.init.normal_(self.q.weight, std=(shape.embed_dim * shape.head_dim) ** -0.5)  # instead of a scale
        for projection in (self.k, self.v):
            nn.init.normal_(projection.weight, std=shape.embed_dim**-0.5)
        nn.init.normal_(self.o.weight, std=inner**-0.5)

    def forward(self, x: Tensor, source: Tensor, mask: Tensor | None) -> Tensor:
        """(B, T, C) attends to (B, S, C); the mask is added, or True = may be attended to: (B, H or 1, T or 1, S)."""
        queries, keys, values = (
            projected.unflatten(2, (self.heads, -1)).transpose(1, 2)  # (B, T or S, H * C') -> (B, H, T or S, C')
            for projected in (self.q(x), self.k(source), self.v(source))
        )
        rate = self.dropout if self.training else 0.0
        attended = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, dropout_p=rate, scale=1.0)
        return self.o(attended.transpose(1, 2).flatten(2))  # (B, H, T, C') -> (B, T, C)


class T5FeedForward(nn.Module):
    def __init__(self, shape: T5Shape) -> None:
        super().__init__()
        gated = shape.feed_forward == "gated-gelu"
        self.inner = Linear(shape.embed_dim, shape.ffn_embed_dim, bias=False)
        self.linear = Linear(shape.embed_dim, shape.ffn_embed_dim, bias=False) if gated else None
        self.outer = Linear(shape.ffn_embed_dim, shape.embed_dim, bias=False)
        self.dropout = shape.dropout
        for projection in (self.inner, self.linear):
            if projection is not None:
                nn.init.normal_(projection.weight, std=shape.embed_dim**-0.5)
        nn.init.normal_(self.outer.weight, std=shape.ffn_embed_dim**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        if self.linear is None:
            hidden = F.relu(self.inner(x))
        else:
            hidden = F.gelu(self.inner(x), approximate="tanh") * self.linear(x)
        return self.outer(dropout(hidden, self.dropout, self.training))


class T5Block(nn.Module):
    """Pre-norm self-attention, cross-attention (either may be left out) and feed-forward, each with a residual."""

    def __init__(self, shape: T5Shape, self_attention: bool, cross_attention: bool) -> None:
        super().__init__()
        self.dropout = shape.dropout
        self.self_attn = T5Attention(shape) if self_attention else None
        self.self_attn_norm = Norm(shape.embed_dim) if self_attention else None
        self.cross_attn = T5Attention(shape) if cross_attention else None
        self.cross_attn_norm = Norm(shape.embed_dim) if cross_attention else None
        self.ffn = T5FeedForward(shape)
        self.ffn_norm = Norm(shape.embed_dim)

    def forward(
        self, x: Tensor, mask: Tensor | None, source: Tensor | None = None, source_mask: Tensor | None = None
    ) -> Tensor:
        """Returns states (B, T, C).

        Args:
            x: (B, T, C), or (1, T, C) if it is the same for all B sources
            mask: of self-attention, see ``T5Attention.forward``; None: everything may be attended to
            source: (B, S, C) what cross-attention reads
            source_mask: of cross-attention, (B, 1, T or 1, S)
        """
        if self.self_attn is not None and self.self_attn_norm is not None:
            normed = self.self_attn_norm(x)
            x = self._add(x, self.self_attn(normed, normed, mask))
        if self.cross_attn is not None and self.cross_attn_norm is not None and source is not None:
            queries = self.cross_attn_norm(x).expand(source.size(0), -1, -1)
            x = self._add(x, self.cross_attn(queries, source, source_mask))
        return self._add(x, self.ffn(self.ffn_norm(x)))

    def _add(self, x: Tensor, update: Tensor) -> Tensor:
        return x + dropout(update, self.dropout, self.training)


def refuse_fp16(weight: Tensor, name: str) -> None:
    """Refuses float16, whose largest number, 65504, is less than states of T5; bfloat16 has the range of 32 bits."""
    device = weight.device.type
    autocast = torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.float16
    require(
        weight.dtype != torch.float16 and not autocast,
        f"{name} overflows in float16 (--fp16, --amp): use --bf16 or 32 bits",
    )
