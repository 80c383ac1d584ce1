"""Token plus position embeddings (Eq. 2 of the LevT paper, l = 0)."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.layers.spelling import SpelledWords
from lev_plugins.layers.transformer import dropout


def token_embedding(size: int, dim: int, pad: int) -> nn.Embedding:
    table = nn.Embedding(size, dim, padding_idx=pad)
    nn.init.normal_(table.weight, std=dim**-0.5)
    nn.init.zeros_(table.weight[pad])
    return table


class TextEmbedding(nn.Module):
    """Looks up tokens, scales by sqrt(C) and adds positions, counted over real tokens: padding may be on any side."""

    sinusoids: Tensor

    def __init__(
        self, tokens: nn.Embedding | SpelledWords, max_positions: int, learned: bool, scale: bool, dropout: float
    ):
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
        if not learned:
            self.register_buffer("sinusoids", sinusoid_table(rows, dim, self.pad), persistent=False)

    @property
    def table(self) -> Tensor:
        """(V, C), for outputs that share it; spelling-aware words have more than a table."""
        assert isinstance(self.tokens, nn.Embedding)
        return self.tokens.weight

    def forward(
        self,
        tokens: Tensor,
        start: int = 0,
        look_up: Callable[[Tensor], Tensor] | None = None,
        padded: bool = True,
    ) -> Tensor:
        """(B, T) -> (B, T - start, C): the tokens from column ``start`` on, counted from the beginning.

        ``look_up`` gives the vectors of tokens, if these depend on more than the table; without ``padded``, no token is
        padding.
        """
        table = self.learned.weight if self.learned is not None else self.sinusoids
        if padded:
            real = tokens.ne(self.pad).long()
            positions = F.embedding((real.cumsum(1) * real + self.pad)[:, start:], table, self.pad)
        else:
            first = self.pad + 1
            positions = F.embedding(torch.arange(first + start, first + tokens.size(1), device=tokens.device), table)
        x = self.scale * (look_up or self.tokens)(tokens[:, start:]) + positions
        return dropout(x, self.dropout, self.training)


def sinusoid_table(rows: int, dim: int, pad: int) -> Tensor:
    """sin in the first half of the channels, cos in the second, wavelengths from 2 pi to 10000 * 2 pi: (rows, C)."""
    half = dim // 2
    wavelengths = torch.exp(torch.arange(half) * (-math.log(10000) / max(half - 1, 1)))
    angles = torch.arange(rows)[:, None] * wavelengths
    table = torch.zeros(rows, dim)
    table[:, : 2 * half] = torch.cat([angles.sin(), angles.cos()], 1)
    table[pad] = 0.0
    return table
