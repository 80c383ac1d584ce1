"""The encoders with layers of our own: T5's, which can also compute the vectors of words from letters, and BERT's."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor, nn

from lev_plugins.edits.batch_words import BatchWords
from lev_plugins.edits.embedding import NgramEmbedding
from lev_plugins.nn.t5 import DistanceBias, Norm, T5Block, T5Shape
from lev_plugins.nn.transformer import Block, LayerShape, add_padding, bert_init, dropout, padding_of, remove_padding

Projection = Callable[[Tensor], Tensor]

ALL_OCCURRENCES = 2**40  # more than a word can have
BERT_EPSILON = 1e-12
TOKEN_TYPES = 2  # a text, and the text it is compared with


class T5Encoder(nn.Module):
    def __init__(
        self, tokens: nn.Embedding | NgramEmbedding, pad: int, shape: T5Shape, layers: int, word_dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.pad, self.dropout, self.word_dropout = pad, shape.dropout, word_dropout
        self.tokens = tokens
        self.distances = DistanceBias(shape)
        self.layers = nn.ModuleList(T5Block(shape, self_attention=True, cross_attention=False) for _ in range(layers))
        self.norm = Norm(shape.embed_dim)

    def forward(
        self,
        tokens: Tensor,
        segments: Tensor | None,
        words: BatchWords | Tensor | None = None,
        read_blocks: Projection | None = None,
    ) -> Tensor:
        """Returns the states (B, S, C), or what ``read_blocks`` returns.

        Args:
            tokens: (B, S)
            segments: (B, S) the number of the example in a packed row, 0 = padding
            words: with --spelling, the words of the batch that the dictionary lacks; in graphs, the vectors of all
                tokens, (B, S, C)
            read_blocks: applied to the concatenated states after all blocks, each normed: (B, S, blocks * C)
        """
        # (B, 1, 1 or S, S), True = may be attended to
        allowed = tokens.ne(self.pad)[:, None, None, :] if segments is None else same(segments, segments)
        bias = self.distances(tokens.size(1)).masked_fill(~allowed, float("-inf"))  # (B, H, S, S)
        x = F.dropout(self.embedded(tokens, words), self.dropout, self.training)
        outputs = []
        for layer in self.layers:
            x = layer(x, bias)
            if read_blocks is not None:
                outputs.append(self.norm(x))
        x = self.norm(x) if read_blocks is None else torch.cat(outputs, -1)
        x = F.dropout(x, self.dropout, self.training)
        return x if read_blocks is None else read_blocks(x)

    def embedded(self, tokens: Tensor, words: BatchWords | Tensor | None) -> Tensor:
        """Returns the vectors of tokens: (B, S) -> (B, S, C).

        With --spelling, the vector of a word depends on how often the training text has it. In training, the occurrence
        that is read is subtracted; with --word-dropout, sometimes all are, as if the training text lacked the word.
        """
        if not isinstance(self.tokens, NgramEmbedding):
            return self.tokens(tokens)
        if isinstance(words, Tensor):
            return self.tokens.embedding_dim**0.5 * words
        held_out = None
        if self.training:
            dropped = torch.rand_like(tokens, dtype=torch.float) < self.word_dropout
            held_out = torch.ones_like(tokens).masked_fill(dropped, ALL_OCCURRENCES)
        vectors = self.tokens.vectors(words)
        return self.tokens.embedding_dim**0.5 * self.tokens.look_up(tokens, vectors, held_out)


class BertEncoder(nn.Module):
    """BERT: learned positions and sides of a pair, then post-norm blocks.

    fairseq's source has no [CLS] in front, and one [SEP] (its </s>) after each text: [CLS] is added here. Its state is
    returned only with ``with_cls``: without it, each token of the source has one state.
    """

    def __init__(self, words: Dictionary, sizes: Any, with_cls: bool) -> None:
        super().__init__()
        self.with_cls = with_cls
        self.pad, self.cls, self.sep, self.dropout = words.pad(), words.bos(), words.eos(), sizes.dropout
        rates = {"dropout": sizes.dropout, "attention_dropout": sizes.dropout}
        shape = LayerShape(sizes.embed_dim, sizes.ffn_embed_dim, sizes.attention_heads, activation="gelu", **rates)
        self.tokens = nn.Embedding(len(words), shape.dim)
        self.positions = nn.Embedding(sizes.positions, shape.dim)
        self.sides = nn.Embedding(TOKEN_TYPES, shape.dim)
        self.norm = nn.LayerNorm(shape.dim)
        self.layers = nn.ModuleList(Block(shape) for _ in range(sizes.layers))
        self.apply(bert_init)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = BERT_EPSILON

    def forward(
        self, tokens: Tensor, segments: Tensor | None, words: None = None, read_blocks: Projection | None = None
    ) -> Tensor:
        """Returns the states (B, S, C) of tokens (B, S), padded on the right, or what ``read_blocks`` returns.

        ``read_blocks`` is applied to the concatenated states after all blocks: (B, S, blocks * C), or (n, blocks * C)
        without padding. ``words`` is for encoders with --spelling.
        """
        assert segments is None, "positions count from the start of a row, which holds one example"
        tokens = F.pad(tokens, (1, 0), value=self.cls)
        mask, real = padding_of(tokens, self.pad)
        positions = torch.arange(tokens.size(1), device=tokens.device)
        x = self.norm(self.tokens(tokens) + self.positions(positions) + self.sides(sides_of(tokens, self.sep)))
        x = remove_padding(dropout(x, self.dropout, self.training), real)
        outputs = []
        for layer in self.layers:
            x = layer(x, mask, real)
            if read_blocks is not None:
                outputs.append(x)
        x = x if read_blocks is None else read_blocks(torch.cat(outputs, -1))
        return add_padding(x, real)[:, 0 if self.with_cls else 1 :]


def sides_of(tokens: Tensor, sep: int) -> Tensor:
    """Returns 0 up to the first ``sep``, 1 after it: (B, S) -> (B, S).

    >>> sides_of(torch.tensor([[0, 5, 2, 6, 2, 1]]), sep=2)
    tensor([[0, 0, 0, 1, 1, 1]])
    """
    ends = tokens.eq(sep).long()
    return (ends.cumsum(1) - ends).clamp(max=TOKEN_TYPES - 1)


def same(queries: Tensor, keys: Tensor) -> Tensor:
    """Returns where numbers are equal, as a mask: (B, T), (B, S) -> (B, 1, T, S), True = may be attended to.

    >>> same(torch.tensor([[1, 2]]), torch.tensor([[1, 1, 2, 0]]))[:, 0].int()
    tensor([[[1, 1, 0, 0],
             [0, 0, 1, 0]]], dtype=torch.int32)
    """
    return queries[:, None, :, None] == keys[:, None, None, :]
