"""The words of a ``levt --spelling`` in graphs of 8 bits: the vector of each of them is stored once.

In training, the vector of a word is the mean of its n-grams plus a row of its own (``edits.embedding``). Later both are
fixed, so a folder has their sum: its direction in 8 bits, from which words are also scored, and its length. N-grams
remain for the words that the dictionary lacks, and for words that were removed, of which the model reads them alone.

Ids: 0 ... V - 1 the dictionary, V the placeholder, from V + 1 on the D words of the batch of which n-grams are read.
Shapes: C channels, n placeholders; see also ``lev_plugins.export.tracing``.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.edits.candidates import SHAPES
from lev_plugins.edits.embedding import NORM_EPS, WHOLE_VOCABULARY, IntendedWordEmbedding
from lev_plugins.edits.word_scorer import WordScorer
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
    """What the graphs store of the words of the dictionary, and of n-grams."""

    directions: Tensor  # (C, V) in 8 bits
    direction_scales: Tensor  # (V,)
    vector_scales: Tensor  # (V,) those of the directions times the lengths of the vectors
    placeholder: Tensor  # (C,) its vector
    ngrams: Tensor  # (buckets, C) in 8 bits
    ngram_scales: Tensor  # (buckets,)
    biases: Tensor  # (V,) of the scores, with the frequency feature
    penalties: Tensor  # (SHAPES + 1, SHAPES) for the shapes of the replaced word and of another
    shapes: Tensor  # (V,)

    def __init__(self, words: IntendedWordEmbedding, scorer: WordScorer) -> None:
        """
        words: the vectors of words in training
        scorer: their scores
        """
        super().__init__()
        parts = words.vectors(None)
        vectors = parts.ngram_means.weight + parts.own.weight
        lengths = vectors[:-1].norm(dim=1).clamp(min=NORM_EPS)
        directions, scales = rounded(vectors[:-1] / lengths[:, None], PRODUCT_MAX)
        ngrams, ngram_scales = rounded(words.grams, TABLE_MAX)
        tables = {
            "directions": directions.t().contiguous(),
            "direction_scales": scales.half(),
            "vector_scales": (scales * lengths).half(),
            "placeholder": vectors[-1].half(),
            "ngrams": ngrams,
            "ngram_scales": ngram_scales.half(),
            "biases": scorer.biases_by_shape(WHOLE_VOCABULARY)[-1].half(),
            "penalties": scorer.penalties(torch.arange(SHAPES)),
            "shapes": scorer.shapes.to(torch.uint8),
        }
        for name, values in tables.items():
            self.register_buffer(name, values)

    @property
    def vocabulary(self) -> int:
        return self.directions.size(1)


def ngram_vectors(ngrams: Tensor, tables: CompactTables) -> Tensor:
    """Returns the vectors of n-grams: (P,) -> (P, C)."""
    return tables.ngrams[ngrams].float() * tables.ngram_scales[ngrams].float()[:, None]


def vectors(ids: Tensor, own_rows: Tensor, ngram_means: Tensor, tables: CompactTables) -> Tensor:
    """Returns the vectors of words, those of unknown words by their n-grams: (B, T) -> (B, T, C).

    The tables have the sums of n-grams and own rows, so the row of a word must have its n-grams. It has: a word that
    reads the row of another one differs from it in case alone, and <unk> has no n-grams.

    ids: (B, T) the words
    own_rows: (B, T) the words whose own rows are added
    ngram_means: (D, C) the vectors of the words of the batch of which the n-grams are read
    tables: those of the dictionary
    """
    words = own_rows.clamp(max=tables.vocabulary - 1).flatten()
    rows = tables.directions.index_select(1, words).t().float() * tables.vector_scales[words].float()[:, None]
    is_placeholder = own_rows.eq(tables.vocabulary)[..., None]
    known = torch.where(is_placeholder, tables.placeholder.float(), rows.view(*own_rows.shape, -1))
    return known + means_of(ids, ngram_means, tables) * own_rows.eq(UNK)[..., None]


def means_of(ids: Tensor, ngram_means: Tensor, tables: CompactTables) -> Tensor:
    """Returns the means of the n-grams of words of the batch, and 0 for words of the dictionary: (...) -> (..., C)."""
    row = ids - tables.vocabulary - 1
    return F.embedding(row.clamp(min=0), ngram_means) * row.ge(0)[..., None]


def scores(queries: Tensor, shapes: Tensor, tables: CompactTables) -> Tensor:
    """Returns the scores of the dictionary's words, before they are compared with replaced words: (n, V).

    queries: (n, C) those of ``WordScorer``; each is rounded by a scale of its own, so none depends on the others
    shapes: (n,) of the replaced words; SHAPES: there is none
    tables: those of the dictionary
    """
    scale = queries.abs().amax(-1, keepdim=True).clamp(min=TINY) / TABLE_MAX
    integers = ((queries / scale).round() + ZERO).to(torch.uint8)
    products = _Product.apply(integers, tables.directions) * scale * tables.direction_scales.float()
    # the 0 * shapes keeps the exporter from computing the table of biases, and storing (SHAPES + 1, V) numbers
    every_shape = torch.arange(SHAPES + 1) + 0 * shapes[:1]
    biases = tables.biases.float() - tables.penalties[every_shape].index_select(1, tables.shapes.long())
    return products + F.embedding(shapes, biases)


class _Product(torch.autograd.Function):
    """The product of unsigned and signed integers: (n, C), (C, V) -> (n, V)."""

    @staticmethod
    def forward(ctx: Any, integers: Tensor, weight: Tensor) -> Tensor:
        return (integers.float() - ZERO) @ weight.float()

    @staticmethod
    def symbolic(graph: Any, integers: Any, weight: Any) -> Any:
        zero = graph.op("Constant", value_t=torch.tensor(ZERO, dtype=torch.uint8))
        return graph.op("Cast", graph.op("MatMulInteger", integers, weight, zero), to_i=FLOAT)
