"""Token plus position embeddings (Eq. 2 of the LevT paper, l = 0)."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from fairseq.modules import SinusoidalPositionalEmbedding
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
            table = SinusoidalPositionalEmbedding.get_embedding(rows, dim, self.pad)
            self.register_buffer("sinusoids", table, persistent=False)

    @property
    def table(self) -> Tensor:
        """(V, C), for outputs that share it; spelling-aware words have more than a table."""
        assert isinstance(self.tokens, nn.Embedding)
        return self.tokens.weight

    def forward(
        self, tokens: Tensor, start: int = 0, look_up: Callable[[Tensor], Tensor] | None = None, padded: bool = True
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
