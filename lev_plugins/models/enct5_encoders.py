"""The two encoders of EncT5: T5's, which can also read spelling-aware words, and BERT's."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.data.words import BatchWords
from lev_plugins.layers.bert import BertEncoder
from lev_plugins.layers.spelling import SpelledWords
from lev_plugins.layers.t5 import DistanceBias, Norm, T5Block, T5Shape

EVERY = 2**40  # more occurrences than a word can have


class T5LabelEncoder(nn.Module):
    def __init__(
        self, tokens: nn.Embedding | SpelledWords, pad: int, shape: T5Shape, layers: int, word_dropout: float = 0.0
    ):
        super().__init__()
        self.pad, self.dropout, self.word_dropout = pad, shape.dropout, word_dropout
        self.tokens = tokens
        self.distances = DistanceBias(shape)
        self.layers = nn.ModuleList(T5Block(shape, look_around=True, look_at_source=False) for _ in range(layers))
        self.norm = Norm(shape.dim)

    def forward(self, tokens: Tensor, segments: Tensor | None, words: BatchWords | None = None) -> Tensor:
        """(B, S) -> (B, S, C); ``segments`` (B, S) number the examples of a packed row, 0 = padding.

        With --spelling, ``words`` are those of the batch that the dictionary lacks.
        """
        # (B, 1, 1 or S, S), True = may be attended to
        allowed = tokens.ne(self.pad)[:, None, None, :] if segments is None else same(segments, segments)
        bias = self.distances(tokens.size(1)).masked_fill(~allowed, float("-inf"))  # (B, H, S, S)
        x = F.dropout(self.embedded(tokens, words), self.dropout, self.training)
        for layer in self.layers:
            x = layer(x, bias)
        return F.dropout(self.norm(x), self.dropout, self.training)

    def embedded(self, tokens: Tensor, words: BatchWords | None) -> Tensor:
        """(B, S) -> (B, S, C); in training, no spelling-aware word counts its own occurrence; some, none."""
        if not isinstance(self.tokens, SpelledWords):
            return self.tokens(tokens)
        held_out = None
        if self.training:
            dropped = torch.rand_like(tokens, dtype=torch.float) < self.word_dropout
            held_out = torch.ones_like(tokens).masked_fill(dropped, EVERY)
        vectors = self.tokens.vectors(None if words is None else BatchWords(*words))
        return self.tokens.embedding_dim**0.5 * self.tokens.look_up(tokens, vectors, held_out)


class BertLabelEncoder(BertEncoder):
    def forward(self, tokens: Tensor, segments: Tensor | None, words: None = None) -> Tensor:
        """(B, S) -> (B, S, C)"""
        assert segments is None, "positions count from the start of a row, which holds one example"
        return self.states(tokens)


def same(queries: Tensor, keys: Tensor) -> Tensor:
    """(B, T), (B, S) -> (B, 1, T, S), True = may be attended to: equal numbers.

    >>> same(torch.tensor([[1, 2]]), torch.tensor([[1, 1, 2, 0]]))[:, 0].int()
    tensor([[[1, 1, 0, 0],
             [0, 0, 1, 0]]], dtype=torch.int32)
    """
    return queries[:, None, :, None] == keys[:, None, None, :]
