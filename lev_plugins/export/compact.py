"""The vectors of words in the graphs of 8 bits, of a ``levt --spelling``: each of them is stored once.

In training, the vector of a word is the mean of its n-grams plus a row of its own (``spelling.embedding``). Later both
are fixed, so a folder has their sum: its direction in 8 bits, from which words are also scored, and its length. N-grams
remain for the words that the dictionary lacks, and for words that were removed, of which the model reads them alone.

Shapes: V words of the dictionary, C channels, D words of the batch of which the n-grams are read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.edits.candidates import CASES, SHAPES
from lev_plugins.edits.embedding import (
    NORM_EPS,
    WHOLE_VOCABULARY,
    IntendedWordEmbedding,
    VocabularySample,
    WordFeatures,
)
from lev_plugins.edits.word_scorer import WordScorer
from lev_plugins.levt.model import LevT
from lev_plugins.levt.spelling import SpelledWords
from lev_plugins.text.ids import UNK

# processors without VNNI add up pairs of products in 16 bits, which overflow unless 2 * 255 * PRODUCT_MAX < 2**15
PRODUCT_MAX, TABLE_MAX = 63, 127
TINY = 1e-12  # in place of 0, by which nothing can be divided
ZERO = 128  # what stands for 0 in unsigned integers
FLOAT = 1  # the number of this type in ONNX


def rounded(rows: Tensor, maximum: int) -> tuple[Tensor, Tensor]:
    """Returns rows as integers up to a maximum, and the scale of each row.

    >>> rounded(torch.tensor([[0.5, -1.0], [0.0, 0.0]]), 100)[0].tolist()
    [[50, -100], [0, 0]]
    """
    scale = rows.abs().amax(1).clamp(min=TINY) / maximum
    return (rows / scale[:, None]).round().to(torch.int8), scale


class CompactTables(nn.Module):
    """The directions and lengths of the dictionary's words, and the n-grams, in 8 bits."""

    directions: Tensor  # (C, V)
    direction_scales: Tensor  # (V,)
    vector_scales: Tensor  # (V,) those of the directions times the lengths of the vectors
    placeholder: Tensor  # (C,) its vector
    ngrams: Tensor  # (buckets, C)
    ngram_scales: Tensor  # (buckets,)

    def __init__(self, model: LevT) -> None:
        super().__init__()
        table = model.decoder.embedding.tokens
        assert isinstance(table, IntendedWordEmbedding)
        words = table.vectors(None)
        vectors = words.ngram_means.weight + words.own.weight
        self.vocabulary = len(vectors) - 1
        lengths = vectors[:-1].norm(dim=1).clamp(min=NORM_EPS)
        directions, scales = rounded(vectors[:-1] / lengths[:, None], PRODUCT_MAX)
        ngrams, ngram_scales = rounded(table.grams, TABLE_MAX)
        buffers = {"directions": directions.t().contiguous(), "direction_scales": scales}
        buffers |= {"vector_scales": scales * lengths, "placeholder": vectors[-1]}
        buffers |= {"ngrams": ngrams, "ngram_scales": ngram_scales}
        for name, values in buffers.items():
            self.register_buffer(name, values if name == "directions" or name == "ngrams" else values.half())

    def ngram_vectors(self, ngrams: Tensor) -> Tensor:
        return self.ngrams[ngrams].float() * self.ngram_scales[ngrams].float()[:, None]

    def rows(self, ids: Tensor) -> Tensor:
        """Returns the vectors of words of the dictionary, or of the placeholder: (B, T) -> (B, T, C)."""
        words = ids.clamp(max=self.vocabulary - 1).flatten()
        vectors = self.directions.index_select(1, words).t().float() * self.vector_scales[words].float()[:, None]
        is_placeholder = ids.eq(self.vocabulary)[..., None]
        return torch.where(is_placeholder, self.placeholder.float(), vectors.view(*ids.shape, -1))


@dataclass(frozen=True)
class CompactVectors:
    """Takes the place of ``WordVectors`` in a graph, which reads only the methods and fields below."""

    tables: CompactTables
    ngram_means: Tensor  # (D, C) the words of the batch of which the n-grams are read; their ids follow the placeholder
    features: WordFeatures
    sample: VocabularySample = WHOLE_VOCABULARY

    def vector_of(self, ids: Tensor, own_rows: Tensor) -> Tensor:
        """Returns the vectors of words, those of unknown words by their n-grams: (B, T) -> (B, T, C).

        The tables have the sums of n-grams and own rows, so the row of a word must have its n-grams. It has: a word
        that reads the row of another one differs from it in case alone, and <unk> has no n-grams.
        """
        return self.tables.rows(own_rows) + self.means_of(ids) * own_rows.eq(UNK)[..., None]

    def means_of(self, ids: Tensor) -> Tensor:
        """Returns the means of the n-grams of unknown words, and 0 for words of the dictionary: (..., C)."""
        row = ids - self.tables.vocabulary - 1
        return F.embedding(row.clamp(min=0), self.ngram_means) * row.ge(0)[..., None]

    def spelling_of(self, ids: Tensor) -> Tensor:
        return F.normalize(self.means_of(ids), dim=-1, eps=NORM_EPS)


class Biases(nn.Module):
    """Takes the place of the cache of ``WordScorer.biases_by_shape``, which is far larger, in a graph."""

    of_word: Tensor  # (V,) the bias and the frequency feature
    penalties: Tensor  # (SHAPES + 1, SHAPES) for the shapes of the replaced word and of another
    shapes: Tensor  # (V,)

    learns = False

    def __init__(self, scorer: WordScorer) -> None:
        super().__init__()
        biases, shapes = scorer.biases_by_shape(WHOLE_VOCABULARY), torch.arange(SHAPES)
        blank = (shapes[None] // CASES).ne(shapes[:, None] // CASES)
        case = scorer.case_changes[shapes[:, None] % CASES, shapes[None] % CASES]
        penalties = scorer.weight("blank") * blank + scorer.weight("case") * case
        self.register_buffer("of_word", biases[-1].half())
        self.register_buffer("penalties", F.pad(penalties, (0, 0, 0, 1)))
        self.register_buffer("shapes", scorer.shapes.to(torch.uint8))

    def rows(self, unused: Callable[[], Tensor], shapes: Tensor, *weights: Tensor) -> Tensor:
        """Returns the biases for replaced words of these shapes: (n,) -> (n, V)."""
        # all shapes; the 0 * shapes keeps the exporter from computing the table, and storing (SHAPES + 1, V) numbers
        rows = torch.arange(SHAPES + 1) + 0 * shapes[:1]
        table = self.of_word.float() - self.penalties[rows].index_select(1, self.shapes.long())
        return F.embedding(shapes, table)


class ComputedSinusoids(nn.Module):
    """Takes the place of the table of positions in a graph."""

    frequencies: Tensor  # (C / 2,)

    def __init__(self, dim: int, pad: int) -> None:
        super().__init__()
        half = dim // 2
        self.register_buffer("frequencies", torch.exp(torch.arange(half) * -(math.log(10_000) / (half - 1))))
        self.pad = pad

    def forward(self, positions: Tensor) -> Tensor:
        """(...) -> (..., C)"""
        angles = positions[..., None] * self.frequencies
        return torch.cat([angles.sin(), angles.cos()], -1) * positions.ne(self.pad)[..., None]


class Product(nn.Module):
    """The product of float vectors and integers, which is computed in 8 bits."""

    scales: Tensor

    def __init__(self, scales: Tensor) -> None:
        super().__init__()
        self.register_buffer("scales", scales)

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        """(n, C), (C, V) -> (n, V); each row of x has a scale of its own, so it does not depend on the others."""
        scale = x.abs().amax(-1, keepdim=True).clamp(min=TINY) / TABLE_MAX
        integers = ((x / scale).round() + ZERO).to(torch.uint8)
        return _Product.apply(integers, weight) * scale * self.scales.float()


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, integers: Tensor, weight: Tensor) -> Tensor:
        return (integers.float() - ZERO) @ weight.float()

    @staticmethod
    def symbolic(graph: Any, integers: Any, weight: Any) -> Any:
        zero = graph.op("Constant", value_t=torch.tensor(ZERO, dtype=torch.uint8))
        return graph.op("Cast", graph.op("MatMulInteger", integers, weight, zero), to_i=FLOAT)


def compact(model: LevT) -> tuple[LevT, CompactTables]:
    """Returns a copy of a model for its graphs in 8 bits, and its tables."""
    tables, model = CompactTables(model), deepcopy(model).eval()
    assert isinstance(model.words, SpelledWords)
    scorer, words = model.words.scorer, model.words.embedding
    words.unit_vectors.entry = (
        (words.grams, words.own.weight),
        tables.directions,
    )  # integers, (C, V): ``Product`` reads them
    scorer.add_module("biases", Biases(scorer))
    scorer.add_module("product", Product(tables.direction_scales))
    for embedding in (model.encoder.embedding, model.decoder.embedding):
        if embedding.sinusoids is not None:
            embedding.sinusoids = ComputedSinusoids(words.embedding_dim, embedding.pad)
    return model, tables
