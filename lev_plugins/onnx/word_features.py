"""Features of words that the ONNX graphs read: rows of their tables, by the rules of ``spelling.embedding``.

Rows: 0 ... V - 1 the dictionary, V the placeholder, from V + 1 on the U unknown words of the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lev_plugins.onnx.folder import StoredIndex
from lev_plugins.spelling.candidates import CAPITALISED, CASES, LEVELS, SHAPES, UPPERCASE, Spellings
from lev_plugins.text.ids import UNK

Array = NDArray[Any]


class SpeltBatch:
    """The words of a dictionary, and the unknown ones of a batch."""

    def __init__(self, index: StoredIndex, unknown: Sequence[str]):
        self.index, self.size, self.unknown = index, len(index.words), unknown or ["a"]  # ONNX inputs must not be empty
        new = Spellings.of_words(self.unknown, index.buckets)
        lengths = np.diff(new.ngram_starts)
        self.groups: dict[str, Array] = {
            "parts": new.ngrams,
            "owners": np.repeat(np.arange(len(self.unknown)), lengths),
            "number": np.maximum(lengths, 1).astype(np.float32),
        }
        known = index.spellings
        self.shapes, self.prints = (known.shapes, new.shapes), (known.letter_hashes, new.letter_hashes)

    def of(self, tables: tuple[Array, Array], rows: Array) -> Array:
        """Looks up rows in the table of the dictionary, or in that of the batch for unknown words."""
        in_dictionary, in_batch = np.minimum(rows, self.size), np.maximum(rows - self.size - 1, 0)
        return np.where(rows > self.size, tables[1][..., in_batch], tables[0][..., in_dictionary])

    def level(self, rows: Array) -> Array:
        count = np.where(rows > self.size, 0, self.index.all_counts[np.minimum(rows, self.size)])
        return np.searchsorted(LEVELS, count, "right")

    def read(self, rows: Array) -> Array:
        """(B, T) -> (4, B, T): itself, the word whose own row it has, level, shape; as ``NgramEmbedding.features``"""
        level = self.level(rows)
        own = np.where(level == 0, UNK, rows)
        return np.stack([rows, own, level, self.of(self.shapes, rows)]).astype(np.int64)


class MeantBatch(SpeltBatch):
    """... with what they may be meant to be."""

    def __init__(self, index: StoredIndex, unknown: Sequence[str]):
        super().__init__(index, unknown)
        self.guess = index.guesses(index.nearest(self.unknown))

    def read(self, rows: Array) -> Array:
        """(B, T) -> (7, B, T): itself, the word whose own row it has, level, shape, guess, slips, level of the joined
        word; as ``IntendedWordEmbedding.features``
        """
        unknown, level, shapes = rows > self.size, self.level(rows), self.of(self.shapes, rows)
        place = np.maximum(rows - self.size - 1, 0)
        guess, slips = np.where(unknown, self.guess[:, place], 0)
        case = shapes % CASES
        known = (level == 0) & (slips == 0) & ((case == CAPITALISED) | (case == UPPERCASE))
        level = np.where(known, np.searchsorted(LEVELS, self.index.counts[guess], "right"), level)
        own = np.where(level == 0, UNK, np.where(known, guess, rows))
        joined = np.searchsorted(LEVELS, self.joined(rows, shapes), "right")
        return np.stack([rows, own, level, shapes, guess, slips, joined]).astype(np.int64)

    def pieces(self, rows: Array) -> dict[str, Array]:
        """What the pre-trained model reads of sources (B, S)."""
        pieces = self.index.pieces
        if pieces is None:
            return {}
        packed = pieces.in_rows(rows, self.unknown)
        return {"pieces": packed.rows, "where": packed.places, "word": packed.owners}

    def joined(self, rows: Array, shapes: Array) -> Array:
        """As ``spelling.embedding.joined_counts``."""
        (values, occurrences), counts = self.index.hash_counts, np.zeros_like(rows)
        if len(values):
            (first, _), (second, power) = (self.of(self.prints, side) for side in (rows[:, :-1], rows[:, 1:]))
            with np.errstate(over="ignore"):
                both = first * power + second
            place = np.minimum(np.searchsorted(values, both), len(values) - 1)
            named = (values[place] == both) & (first != 0) & (second != 0) & (shapes[:, 1:] >= CASES)
            counts[:, :-1] = occurrences[place] * named
        return counts

    def candidates_of(self, rows: Array, pad: int) -> dict[str, Array]:
        """Returns the candidates for words (n,) that are replaced; ``pad`` says that there is none."""
        nearest = self.index.nearest_to(rows.tolist(), self.unknown)
        shapes = np.where(rows == pad, SHAPES, self.of(self.shapes, rows)).astype(np.int64)
        return {**dict(zip(("near", "alike", "slips"), nearest, strict=True)), "shape": shapes}
