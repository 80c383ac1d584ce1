"""Transformer blocks, pre- or post-norm: embeddings, padding, multi-head attention, dropout."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from fairseq.models.transformer import Embedding as token_embedding
from fairseq.modules import SinusoidalPositionalEmbedding
from fairseq.utils import get_activation_fn
from torch import Tensor, nn

from lev_plugins.nn.linear import Linear, linear

DROPOUT_LEVELS = 1 << 16  # rates are multiples of 1 / 65,536: an int64 holds four random numbers of 16 bits
HIGHEST_RATE = 1 - 1 / DROPOUT_LEVELS  # a rate above it would round to 1
MIN_PADDING = 0.1  # share of padding from which computing on the real tokens alone is faster


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """Returns what ``torch.nn.functional.dropout`` does, in a third of the time on a CPU.

    >>> _ = torch.manual_seed(1)
    >>> dropout(torch.ones(8), 0.25, training=True)
    tensor([0.0000, 1.3333, 1.3333, 1.3333, 1.3333, 1.3333, 1.3333, 0.0000])
    >>> dropout(torch.ones(2), 0.25, training=False)
    tensor([1., 1.])
    """
    if not training or rate == 0.0:
        return x
    if x.device.type != "cpu" or x.dtype != torch.float32 or rate > HIGHEST_RATE:
        return F.dropout(x, rate)
    random = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    mask = random.view(torch.int16)[: x.numel()].view(x.shape) >= round((rate - 0.5) * DROPOUT_LEVELS)
    return x * mask.to(x.dtype).mul_(1 / (1 - rate))


# ---- token plus position embeddings (Eq. 2 of the LevT paper, l = 0) -------------------------------------------------


class TokenEmbedding(Protocol):
    """An embedding table, or a module that computes the vectors of tokens, (B, T) -> (B, T, C)."""

    embedding_dim: int
    padding_idx: int | None

    def __call__(self, tokens: Tensor) -> Tensor: ...


class Sinusoids(nn.Module):
    """fairseq's table of positions; the first real token has position pad + 1."""

    table: Tensor  # (n, C)
    frequencies: Tensor  # (C / 2,)

    def __init__(self, rows: int, dim: int, pad: int) -> None:
        super().__init__()
        table = SinusoidalPositionalEmbedding.get_embedding(rows, dim, pad)
        self.register_buffer("table", table, persistent=False)
        half, self.pad = dim // 2, pad
        frequencies = torch.exp(torch.arange(half) * -(math.log(10_000) / (half - 1)))
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, positions: Tensor) -> Tensor:
        """(...) -> (..., C)"""
        if torch.jit.is_tracing():  # without the table, the exported graph is smaller
            return self.computed(positions)
        return F.embedding(positions, self.table)

    def computed(self, positions: Tensor) -> Tensor:
        """Returns the rows of positions without the table."""
        angles = positions[..., None] * self.frequencies
        rows = torch.cat([angles.sin(), angles.cos()], -1) * positions.ne(self.pad)[..., None]
        return F.pad(rows, (0, self.table.size(1) % 2))


class TextEmbedding(nn.Module):
    """Looks up tokens, scales by sqrt(C) and adds positions, counted over real tokens: padding may be on any side."""

    def __init__(self, tokens: TokenEmbedding, max_positions: int, learned: bool, scale: bool, dropout: float) -> None:
        """
        Args:
            tokens: the table of vectors, or a module that computes them
            max_positions: the largest number of tokens
            learned: positions are learned instead of sinusoids
            scale: vectors are multiplied by sqrt(C)
            dropout: the rate
        """
        super().__init__()
        dim = tokens.embedding_dim
        assert tokens.padding_idx is not None
        self.pad: int = tokens.padding_idx
        self.max_positions = max_positions
        self.scale = math.sqrt(dim) if scale else 1.0
        self.dropout = dropout
        self.tokens = tokens
        # the first real token has position pad + 1, as in fairseq, so that tables are interchangeable
        rows = max_positions + self.pad + 1
        self.learned: nn.Embedding | None = token_embedding(rows, dim, self.pad) if learned else None
        self.sinusoids: nn.Module | None = None if learned else Sinusoids(rows, dim, self.pad)

    def table(self) -> Tensor:
        """Returns the table (V, C), for outputs that share it; vectors that are computed from letters have none."""
        assert isinstance(self.tokens, nn.Embedding)
        return self.tokens.weight

    def forward(
        self, tokens: Tensor, start: int = 0, look_up: Callable[[Tensor], Tensor] | None = None, padded: bool = True
    ) -> Tensor:
        """Returns the embeddings of the tokens from column ``start`` on: (B, T) -> (B, T - start, C).

        Args:
            tokens: (B, T), padded on either side
            start: the first column to embed; its position is counted from column 0
            look_up: replaces the table: vectors of tokens that depend on the batch
            padded: False: no token is padding, which saves time
        """
        if padded:
            real = tokens.ne(self.pad).long()
            positions = (real.cumsum(1) * real + self.pad)[:, start:]
        else:
            offset = self.pad + 1
            positions = torch.arange(offset + start, offset + tokens.size(1), device=tokens.device)
        vectors = self.learned or self.sinusoids
        assert vectors is not None
        x = self.scale * (look_up or self.tokens)(tokens[:, start:]) + vectors(positions)
        return dropout(x, self.dropout, self.training)


# ---- padding: attention must not see it, and the other parts of a layer can leave it out -----------------------------


class RealTokens(NamedTuple):
    """Indices that remove padding from a batch, (B, T, C) -> (n, C), and add it again.

    All parts of a block but attention compute only the n real tokens.
    """

    positions: Tensor  # (n,) of the real tokens in the flattened batch (B * T)
    compact_index: Tensor  # (B * T,) the row of each token in (n, C); for padding, an arbitrary one
    shape: torch.Size  # (B, T)


class Padding(NamedTuple):
    """The padding of a batch, as the blocks need it."""

    mask: Tensor | None  # (B, 1, 1, T) for attention, True = may be attended to; None: nothing is padded
    real: RealTokens | None  # None: there is too little padding to leave it out


NO_PADDING = Padding(None, None)


def remove_padding(x: Tensor, real: RealTokens | None) -> Tensor:
    """Returns the rows of the real tokens: (B, T, C) -> (n, C); without ``real``, x itself."""
    return x if real is None else x.flatten(0, 1).index_select(0, real.positions)


def add_padding(x: Tensor, real: RealTokens | None) -> Tensor:
    """Returns rows for all tokens: (n, C) -> (B, T, C), arbitrary ones for padding; without ``real``, x itself."""
    return x if real is None else x.index_select(0, real.compact_index).view(*real.shape, -1)


def attention_mask(tokens: Tensor, pad: int) -> Tensor | None:
    """Returns (B, 1, 1, T), True = may be attended to; None, which is faster, if nothing is padded on a CPU.

    On a GPU this is not checked, since it would take a device-to-host copy; callers that know pass ``NO_PADDING``.
    """
    real = tokens.ne(pad)
    return None if not tokens.is_cuda and bool(real.all()) else real[:, None, None, :]


def padding_of(tokens: Tensor, pad: int) -> Padding:
    """Returns the attention mask and, on a CPU, the real tokens, if leaving the padding out pays.

    >>> padding_of(torch.tensor([[5, 6], [7, 1]]), pad=1).real.positions.tolist()
    [0, 1, 2]
    >>> padding_of(torch.tensor([[5, 6], [7, 8]]), pad=1)
    Padding(mask=None, real=None)
    """
    if torch.jit.is_tracing():  # a graph is for any padding
        return Padding(tokens.ne(pad)[:, None, None, :], None)
    mask = attention_mask(tokens, pad)
    if mask is None or tokens.is_cuda:
        return Padding(mask, None)
    flat = mask.flatten()
    positions = flat.nonzero()[:, 0]
    if not 0 < len(positions) <= (1 - MIN_PADDING) * len(flat):
        return Padding(mask, None)
    return Padding(mask, RealTokens(positions, (flat.cumsum(0) - 1).clamp(min=0), tokens.shape))


# ---- attention -------------------------------------------------------------------------------------------------------


class KeysValues(NamedTuple):
    """The keys and values of the positions to attend to; for a source, computed once per sentence."""

    keys: Tensor  # (B, H, S, C / H)
    values: Tensor  # (B, H, S, C / H)

    def select(self, rows: Tensor) -> "KeysValues":
        """The keys and values of ``rows`` (n,); a row may appear more than once."""
        return KeysValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))

    def joined(self, more: "KeysValues") -> "KeysValues":
        """These positions, then ``more``."""
        return KeysValues(torch.cat([self.keys, more.keys], 2), torch.cat([self.values, more.values], 2))


def split_heads(x: Tensor, heads: int, parts: int = 1) -> tuple[Tensor, ...]:
    """(B, T, parts * C) -> ``parts`` of (B, H, T, C / H)"""
    return x.view(*x.shape[:2], parts, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)


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
    """Queries (R, H, T, C / H), keys and values (B, H, S, C / H) -> (R, T, C), where R = B * beams.

    The beams of a sentence are consecutive rows and share its keys, which are read once. ``mask``: True = may be
    attended to, None = everywhere; it broadcasts to (B, H, T, S), but with several beams it must be (B, 1, 1, S).
    """
    beams = queries.size(0) // source.keys.size(0)
    queries, keys, values = fold_beams(queries, beams), source.keys, source.values
    if torch.is_autocast_enabled("cpu") and not queries.is_cuda:
        # in 32 bits, since the gradient in bfloat16 takes seven times as long
        with torch.autocast("cpu", enabled=False):
            attended = F.scaled_dot_product_attention(queries.float(), keys.float(), values.float(), mask, dropout)
    else:
        attended = F.scaled_dot_product_attention(queries, keys, values, mask, dropout)
    return unfold_beams(attended, beams).transpose(1, 2).flatten(2)  # (R, H, T, C / H) -> (R, T, C)


def attend_to_both(queries: Tensor, own: KeysValues, shared: KeysValues, mask: Tensor) -> Tensor:
    """Attends to ``own`` and to ``shared``, which the beams of a sentence share, without joining the two; for decoding.

    Queries are (B * beams, H, T, C / H), ``own`` has N positions for each of their rows, ``shared`` has S for each
    of B; the mask is (B * beams, 1, T, N + S). In a step of decoding, where T is 1, this costs a fraction of copying
    ``shared`` for every row.
    """
    beams = queries.size(0) // shared.keys.size(0)
    queries = queries * queries.size(3) ** -0.5
    to_own = queries @ own.keys.transpose(2, 3)  # (B * beams, H, T, N)
    to_shared = unfold_beams(fold_beams(queries, beams) @ shared.keys.transpose(2, 3), beams)  # (B * beams, H, T, S)
    weights = torch.where(mask, torch.cat([to_own, to_shared], 3), -math.inf).softmax(3)
    for_own, for_shared = weights.split([to_own.size(3), to_shared.size(3)], 3)
    attended = for_own @ own.values + unfold_beams(fold_beams(for_shared, beams) @ shared.values, beams)
    return attended.transpose(1, 2).flatten(2)


class GraphAttention(torch.autograd.Function):
    """Exports ``attend`` as one operator of ONNX Runtime instead of thirty."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, real: Tensor, heads: int) -> Tensor:
        """Returns any tensor of the right shape; only the exported operator computes.

        Queries are (B, T, C), keys and values (B, S, C) or (B, H, S, C / H), real (B, S).
        """
        return queries.clone()

    @staticmethod
    def symbolic(graph: Any, queries: Any, keys: Any, values: Any, real: Any, heads: int) -> Any:
        bias = graph.op("prim::Constant")  # none
        bias.setType(torch._C.OptionalType.ofTensor())
        attended = graph.op("com.microsoft::MultiHeadAttention", queries, keys, values, bias, real, num_heads_i=heads)
        return attended.setType(queries.type())


def attend_in_graph(queries: Tensor, source: KeysValues, mask: Tensor, heads: int) -> Tensor:
    """Exports attention: queries (B, T, C), mask (B, 1, 1, S), True = may be attended to -> (B, T, C).

    The operator splits heads itself: unlike elsewhere, keys and values may also be (B, S, C).
    """
    return GraphAttention.apply(queries, *source, mask[:, 0, 0].int(), heads)


def _init_projection(projection: nn.Linear, parts: int, gain: float) -> None:
    """Xavier for each of the ``parts`` matrices stacked in one."""
    for part in projection.weight.chunk(parts):
        nn.init.xavier_uniform_(part, gain=gain)
    nn.init.zeros_(projection.bias)


class SelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.in_proj = Linear(dim, 3 * dim)  # queries, keys, values in one product
        self.out_proj = Linear(dim, dim)
        _init_projection(self.in_proj, 3, gain=1 / math.sqrt(2))
        _init_projection(self.out_proj, 1, gain=1.0)

    def project(self, x: Tensor, real: RealTokens | None = None) -> tuple[Tensor, KeysValues]:
        """(B, T, C) -> queries (B, H, T, C / H), and the keys and values that go with them"""
        queries, keys, values = split_heads(add_padding(self.in_proj(x), real), self.heads, parts=3)
        return queries, KeysValues(keys, values)

    def project_source(self, x: Tensor) -> KeysValues:
        """(B, S, C) -> keys and values of positions without queries"""
        dim = self.out_proj.in_features
        both = linear(x, self.in_proj.weight[dim:], self.in_proj.bias[dim:])
        return KeysValues(*split_heads(both, self.heads, parts=2))

    def forward(self, x: Tensor, mask: Tensor | None, real: RealTokens | None = None) -> Tensor:
        """(B, T, C) -> (B, T, C); of ``real`` tokens alone, (n, C) -> (n, C)"""
        if torch.jit.is_tracing() and mask is not None:
            queries, keys, values = self.in_proj(x).split(self.out_proj.in_features, -1)  # (B, T, C) each
            return self.out_proj(attend_in_graph(queries, KeysValues(keys, values), mask, self.heads))
        queries, own = self.project(x, real)
        attended = attend(queries, own, mask, self.dropout if self.training else 0.0)
        return self.out_proj(remove_padding(attended, real))


class CrossAttention(nn.Module):
    """Attention whose keys and values come from a source (``source_dim`` channels) and are reused between calls."""

    def __init__(self, dim: int, heads: int, source_dim: int, dropout: float = 0.0) -> None:
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
        return KeysValues(*split_heads(add_padding(self.kv_proj(source), real), self.heads, parts=2))

    def forward(self, x: Tensor, source: KeysValues, mask: Tensor | None, real: RealTokens | None = None) -> Tensor:
        """(B, T, C) -> (B, T, C); of ``real`` tokens alone, (n, C) -> (n, C)"""
        projected = self.q_proj(x)
        if torch.jit.is_tracing() and mask is not None:
            return self.out_proj(attend_in_graph(projected, source, mask, self.heads))
        (queries,) = split_heads(add_padding(projected, real), self.heads)
        attended = attend(queries, source, mask, self.dropout if self.training else 0.0)
        return self.out_proj(remove_padding(attended, real))


# ---- blocks ----------------------------------------------------------------------------------------------------------


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


class Residual(nn.Module):
    """Joins a sub-layer and the residual stream, normalizing before (pre-norm) or after the sum."""

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.pre_norm, self.dropout = shape.pre_norm, shape.dropout
        self.norm = nn.LayerNorm(shape.dim)

    def enter(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.pre_norm else x

    def leave(self, x: Tensor, update: Tensor) -> Tensor:
        x = x + dropout(update, self.dropout, self.training)
        return x if self.pre_norm else self.norm(x)


class FeedForward(nn.Module):
    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.fc1 = Linear(shape.dim, shape.ffn_dim)
        self.fc2 = Linear(shape.ffn_dim, shape.dim)
        # in place: the gradients of fc1 do not need its output, and those of relu_ need only its own
        self.activation = torch.relu_ if shape.activation == "relu" else get_activation_fn(shape.activation)
        self.dropout = shape.activation_dropout
        for layer in (self.fc1, self.fc2):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(dropout(self.activation(self.fc1(x)), self.dropout, self.training))


class Block(nn.Module):
    """Attention of a text to itself, attention to a source of ``source_dim`` channels if there is one, feed-forward.

    Masks, (B, 1, 1, T) and (B, 1, 1, S), are True where attention is allowed. x is (B, T, C), or (n, C) with ``real``,
    which means that its padding was removed. Submodules are created in the order in which they run, as old checkpoints
    list them.
    """

    def __init__(self, shape: LayerShape, source_dim: int | None = None) -> None:
        super().__init__()
        self.self_attn = SelfAttention(shape.dim, shape.heads, shape.attention_dropout)
        self.self_attn_residual = Residual(shape)
        if source_dim is not None:
            self.cross_attn = CrossAttention(shape.dim, shape.heads, source_dim, shape.attention_dropout)
            self.cross_attn_residual = Residual(shape)
        self.ffn = FeedForward(shape)
        self.ffn_residual = Residual(shape)

    def attend_to_source(
        self, x: Tensor, source: KeysValues, mask: Tensor | None, real: RealTokens | None = None
    ) -> Tensor:
        attended = self.cross_attn(self.cross_attn_residual.enter(x), source, mask, real)
        return self.cross_attn_residual.leave(x, attended)

    def feed_forward(self, x: Tensor) -> Tensor:
        return self.ffn_residual.leave(x, self.ffn(self.ffn_residual.enter(x)))

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        real: RealTokens | None = None,
        source: KeysValues | None = None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        x = self.self_attn_residual.leave(x, self.self_attn(self.self_attn_residual.enter(x), mask, real))
        if source is not None:
            x = self.attend_to_source(x, source, source_mask, real)
        return self.feed_forward(x)


def bert_init(module: nn.Module) -> None:
    """Initialises as fairseq's ``init_bert_params`` does, also a model without memory (device "meta")."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        with torch.no_grad():
            module.weight[module.padding_idx].zero_()
