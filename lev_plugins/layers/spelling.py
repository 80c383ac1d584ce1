"""Spelling-aware words.

The vector of a word is the mean of its parts' vectors (``text.spelling``), plus a row of its own if training has seen
it, plus one for how often, and one for its capitals. A word that training has never seen so lies beside those that look
like it.

Ids: 0 ... V - 1 the dictionary, V the placeholder, from ``BORROWED`` on the U unknown words of a batch.
Shapes: n words, P parts of all words; see also ``lev_plugins.layers``.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor, nn

from lev_plugins.edits import BORROWED
from lev_plugins.layers.sample import WHOLE, Sample
from lev_plugins.layers.shared_gradient_embedding import Table
from lev_plugins.layers.weight_cache import Keeping, lasting
from lev_plugins.text.spelling import SHAPES, Unknown, parts_of, shapes_of

LEVELS = torch.tensor([1, 2, 4, 8, 16, 32, 64])  # occurrences from which a word counts as more familiar
LOUD = 3.0  # a mean of some thirty vectors is short: with this, it is about as long as a row of the table


warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")  # what is used of it is tested


class Spelled(Protocol):
    """All words that a batch may have; the placeholder and special symbols have no spelling, but zeros."""

    @property
    def spelled(self) -> Table: ...  # (V + 1 + U, C)

    @property
    def own(self) -> Table: ...  # (V + 1, C)

    @property
    def unknown(self) -> Unknown: ...


class SpelledWords(NamedTuple):
    spelled: Table
    own: Table
    unknown: Unknown


class Spelling(Keeping):
    """In place of a table of embeddings."""

    parts: Tensor  # (P,) of the words of the dictionary and the placeholder
    starts: Tensor  # (V + 2,)
    counts: Tensor  # (V + 1,) occurrences in the training text
    shapes: Tensor  # (V + 1,)

    def __init__(self, words: list[str], counts: list[int], specials: int, pad: int, unk: int, dim: int, buckets: int):
        """``words``: the dictionary, of which the first are ``specials``."""
        super().__init__()
        self.vocabulary, self.buckets, self.embedding_dim = len(words), buckets, dim
        self.specials, self.padding_idx, self.unk = specials, pad, unk
        self.spelt = [*[""] * specials, *words[specials:], ""]
        parts, starts = parts_of(self.spelt, buckets)
        familiar = int(LEVELS[-1])
        for name, value in (
            ("parts", parts),
            ("starts", starts),
            ("counts", torch.tensor([*[familiar] * specials, *counts[specials:], familiar])),
            ("shapes", shapes_of([*words, ""])),
        ):
            self.register_buffer(name, value, persistent=False)
        self.own = nn.Embedding(len(words) + 1, dim)
        self.grams = nn.Parameter(torch.empty(buckets, dim).normal_(std=dim**-0.5))
        self.familiarity, self.capitals = nn.Embedding(len(LEVELS) + 1, dim), nn.Embedding(SHAPES, dim)
        nn.init.normal_(self.own.weight, std=0.1 * dim**-0.5)
        for levels in (self.familiarity, self.capitals):
            nn.init.normal_(levels.weight, std=0.5 * dim**-0.5)
        self.matrices: dict[torch.device, Matrix] = {}

    def __getstate__(self) -> dict[str, Any]:
        """A copy makes its own matrices: torch cannot copy sparse ones."""
        return {**super().__getstate__(), "matrices": {}}

    @classmethod
    def of(cls, words: Dictionary, dim: int, buckets: int) -> Any:
        return cls(list(words.symbols), list(words.count), words.nspecial, words.pad(), words.unk(), dim, buckets)

    @lasting
    def matrix(self) -> Matrix:
        device = self.parts.device
        if device not in self.matrices:
            self.matrices = {device: Matrix.of(self.parts, self.starts, self.buckets)}
        return self.matrices[device]

    def vectors(self, unknown: Unknown | None) -> Spelled:
        """Once per batch."""
        return self.tables(self.or_none(unknown), WHOLE)

    def or_none(self, unknown: Unknown | None) -> Unknown:
        if unknown is not None and unknown.ids.numel():
            return unknown
        nothing = self.parts.new_empty(0)
        letters = torch.empty(0, 1, dtype=torch.int32, device=nothing.device)
        return Unknown(nothing, nothing, self.parts.new_zeros(1), nothing, letters)

    def tables(self, unknown: Unknown, sample: Sample) -> SpelledWords:
        """Of the words of the ``sample``, the placeholder and the ``unknown`` ones."""
        own, rare = self.own.weight, None
        if sample.ids is not None:
            own = own[F.pad(sample.ids, (0, 1), value=self.vocabulary)]
        if unknown.ids.numel():
            rare = self.mean(Matrix.of(unknown.parts, unknown.starts, self.buckets))
        spelled = Table(self.of_dictionary_spelled(sample), sample.places, rare)
        return SpelledWords(spelled, Table(own, sample.places), unknown)

    def mean(self, words: Matrix) -> Tensor:
        return LOUD * Product.apply(self.grams, words.mean, words.mean_back)

    def of_dictionary_spelled(self, sample: Sample) -> Tensor:
        """(V + 1, C), or (R + 1, C); in evaluation mode, computed once for as long as the table stays the same."""
        if sample.ids is not None:
            rows = F.pad(sample.ids, (0, 1), value=self.vocabulary)
            return self.mean(Matrix.of(*self.parts_at(rows), self.buckets))
        return self.constant(lambda: self.mean(self.matrix()), self.grams)

    def parts_at(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The parts of these words of the dictionary, and where each begins."""
        lengths = self.starts.diff()[rows]
        starts = F.pad(lengths.cumsum(0), (1, 0))
        inside = torch.arange(int(starts[-1]), device=rows.device) - starts[:-1].repeat_interleave(lengths)
        return self.parts[self.starts[rows].repeat_interleave(lengths) + inside], starts

    def rows(self, tokens: Tensor, unknown: Unknown) -> Tensor:
        """Their rows in ``Spelled.spelled``."""
        if not unknown.ids.numel():
            return tokens
        return torch.where(tokens >= BORROWED, self.vocabulary + 1 + self.place(tokens, unknown), tokens)

    def place(self, tokens: Tensor, unknown: Unknown) -> Tensor:
        """Which of the unknown words each is; of the others, any."""
        return torch.searchsorted(unknown.ids, tokens.contiguous()).clamp(max=len(unknown.ids) - 1)

    def look_up(self, tokens: Tensor, words: Spelled, held_out: Tensor | None = None) -> Tensor:
        """(B, T) -> (B, T, C); ``held_out`` (B, T) occurrences of each do not count, such as its own."""
        level = self.level(tokens, held_out)
        return self.placed(tokens, words, level, tokens.masked_fill(level.eq(0), self.unk))

    def placed(self, tokens: Tensor, words: Spelled, level: Tensor, own: Tensor) -> Tensor:
        """With how familiar each is, and the word whose ``own`` row it has, both (B, T)."""
        spelled = words.spelled.rows(self.rows(tokens, words.unknown)) + words.own.rows(own)
        return spelled + self.familiarity(level) + self.capitals(self.shape_of(tokens, words.unknown))

    def shape_of(self, tokens: Tensor, unknown: Unknown) -> Tensor:
        return torch.cat([self.shapes, unknown.shapes])[self.rows(tokens, unknown)]

    def level(self, tokens: Tensor, held_out: Tensor | None = None) -> Tensor:
        """(B, T) how familiar each is; 0: training has not seen it."""
        unknown = tokens >= BORROWED
        count = self.counts[tokens.masked_fill(unknown, self.unk)].masked_fill(unknown, 0)
        if held_out is not None:
            count = count - held_out.long()
        return torch.bucketize(count, LEVELS.to(count.device), right=True)


class Matrix(NamedTuple):
    """Words by parts, as sparse matrices."""

    ones: Tensor  # (words, buckets) 1 where a word has a part
    mean: Tensor  # ... divided by the number of its parts
    mean_back: Tensor  # (buckets, words) transposed

    @classmethod
    def of(cls, parts: Tensor, starts: Tensor, buckets: int) -> Matrix:
        lengths = starts.diff()
        words = torch.arange(len(lengths), device=parts.device).repeat_interleave(lengths)
        ones = torch.ones(len(parts), device=parts.device)
        share = ones / lengths[words]
        size = len(lengths), buckets
        by_part = parts.argsort(stable=True)
        part_starts = torch.bincount(parts, minlength=buckets).cumsum(0)
        part_starts = torch.cat([part_starts.new_zeros(1), part_starts])
        return cls(
            csr(starts, parts, ones, size),
            csr(starts, parts, share, size),
            csr(part_starts, words[by_part], share[by_part], size[::-1]),
        )


def csr(starts: Tensor, columns: Tensor, values: Tensor, size: tuple[int, ...]) -> Tensor:
    return torch.sparse_csr_tensor(starts, columns, values, size, check_invariants=False)


class Product(torch.autograd.Function):
    """A sparse matrix times a table, with the transposed matrix for the gradient; in 32 bits."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, matrix: Tensor, back: Tensor) -> Tensor:
        ctx.back = back
        with torch.autocast(table.device.type, enabled=False):  # which has no sparse products
            return (matrix @ table.float()).to(table.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        gradient = gradients[0]
        return (ctx.back @ gradient.float()).to(gradient.dtype), None, None
