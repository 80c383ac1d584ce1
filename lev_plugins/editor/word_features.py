"""Features of words that the ONNX graphs read: rows of their tables, by the rules of ``edits.embedding``.

Rows: 0 ... V - 1 the dictionary, V the placeholder, from V + 1 on the U unknown words of the batch.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from lev_plugins.edits.candidates import (
    CAPITALISED,
    CASES,
    LEVELS,
    SHAPES,
    UPPERCASE,
    Spellings,
    WordIndex,
    flat_ngrams,
)
from lev_plugins.text.ids import UNK, Array


class NgramFeatures:
    """Reads the words of a batch as an ``NgramEmbedding`` does."""

    def __init__(self, index: WordIndex, unknown: Sequence[str]) -> None:
        """
        index: the words of the dictionary
        unknown: the words of the batch that it lacks
        """
        self.index, self.size, self.unknown = index, len(index.words), unknown or ["a"]  # ONNX inputs must not be empty
        in_dictionary, in_batch = index.spellings, Spellings.of_words(self.unknown, index.buckets)
        self.ngrams = ngram_inputs(in_batch.ngrams, in_batch.ngram_starts)
        self.shapes = in_dictionary.shapes, in_batch.shapes
        self.letter_hashes = in_dictionary.letter_hashes, in_batch.letter_hashes
        self.counts = index.all_counts, index.counts_of_unknown(self.unknown)

    def look_up(self, tables: tuple[Array, Array], rows: Array) -> Array:
        """Looks up rows in the table of the dictionary, or in that of the batch for unknown words."""
        in_dictionary, in_batch = np.minimum(rows, self.size), np.maximum(rows - self.size - 1, 0)
        return np.where(rows > self.size, tables[1][..., in_batch], tables[0][..., in_dictionary])

    def level(self, rows: Array) -> Array:
        """Returns how familiar each word is; 0: it does not occur in the training text."""
        return np.searchsorted(LEVELS, self.look_up(self.counts, rows), "right")

    def own_rows(self, rows: Array, level: Array) -> Array:
        """Returns the rows of the words themselves: of <unk> for words that the training text lacks."""
        return np.where((level == 0) | (rows > self.size), UNK, rows)

    def read(self, rows: Array) -> Array:
        """Returns the fields of ``WordFeatures`` that an ``NgramEmbedding`` has: (B, T) -> (4, B, T)."""
        level = self.level(rows)
        columns = [rows, self.own_rows(rows, level), level, self.look_up(self.shapes, rows)]
        return np.stack(columns).astype(np.int64)


class IntendedWordFeatures(NgramFeatures):
    """Reads the words of a batch as an ``IntendedWordEmbedding`` does."""

    def __init__(self, index: WordIndex, unknown: Sequence[str]) -> None:
        """
        index: the words of the dictionary
        unknown: the words of the batch that it lacks
        """
        super().__init__(index, unknown)
        # (2, U) the likeliest candidate of each unknown word, and its edit distance
        self.guesses = index.guesses(index.nearest(self.unknown))

    def read(self, rows: Array) -> Array:
        """Returns all fields of ``WordFeatures``: (B, T) -> (7, B, T)."""
        unknown, level, shapes = rows > self.size, self.level(rows), self.look_up(self.shapes, rows)
        # (B, T) each; 0 and 0 for words of the dictionary
        guesses, distances = np.where(unknown, self.guesses[:, np.maximum(rows - self.size - 1, 0)], 0)
        case = shapes % CASES
        # the guess is the word itself with other capitals ("HOUSE"): it is read as that word, with its familiarity
        is_guess = (level == 0) & (distances == 0) & ((case == CAPITALISED) | (case == UPPERCASE))
        level = np.where(is_guess, np.searchsorted(LEVELS, self.index.counts[guesses], "right"), level)
        own_rows = self.own_rows(np.where(is_guess, guesses, rows), level)
        joined_level = np.searchsorted(LEVELS, self.joined_counts(rows, shapes), "right")
        return np.stack([rows, own_rows, level, shapes, guesses, distances, joined_level]).astype(np.int64)

    def pieces(self, rows: Array) -> dict[str, Array]:
        """Returns what a pre-trained model reads of sources (B, S); {}: the model has none."""
        pieces = self.index.pieces
        if pieces is None:
            return {}
        return in_group("pieces", pieces.in_rows(rows, self.unknown)._asdict())

    def joined_counts(self, rows: Array, shapes: Array) -> Array:
        """Returns what ``edits.embedding.joined_counts`` returns in torch: (B, T)."""
        (values, occurrences), counts = self.index.hash_counts, np.zeros_like(rows)
        if len(values):
            (left, _), (right, power) = (self.look_up(self.letter_hashes, side) for side in (rows[:, :-1], rows[:, 1:]))
            with np.errstate(over="ignore"):
                both = left * power + right
            place = np.minimum(np.searchsorted(values, both), len(values) - 1)
            occurs = (values[place] == both) & (left != 0) & (right != 0) & (shapes[:, 1:] >= CASES)
            counts[:, :-1] = occurrences[place] * occurs
        return counts

    def removed_by_ngrams(self, removed: Array) -> dict[str, Array]:
        """Returns the inputs of graphs in 8 bits for removed words (B, T).

        ngrams: those of the unknown words, then of the removed words of the dictionary, which have no vectors there
        removed.first: (B, T) ids; those of the removed words of the dictionary are V + 1 + U and above
        """
        in_dictionary = (removed > UNK) & (removed < self.size)
        rows = sorted({*removed[in_dictionary].tolist()})  # not np.unique, which imports numpy.ma at its first call
        ngrams, starts = flat_ngrams([*self.unknown, *(self.index.words[row] for row in rows)], self.index.buckets)
        offset = self.size + 1 + len(self.unknown)
        ids = np.where(in_dictionary, offset + np.searchsorted(rows, removed), removed)
        return {**ngram_inputs(ngrams, starts), "removed.first": ids}

    def candidates_of(self, rows: Array, pad: int) -> dict[str, Array]:
        """Returns the candidates for words (n,) that are replaced; ``pad`` says that there is none."""
        nearest = self.index.nearest_to(rows.tolist(), self.unknown)
        shapes = np.where(rows == pad, SHAPES, self.look_up(self.shapes, rows)).astype(np.int64)
        return in_group("candidates", nearest._asdict()) | in_group("replaced", {"ids": rows, "shapes": shapes})


def ngram_inputs(ngrams: Array, starts: Array) -> dict[str, Array]:
    """Returns what a graph reads of the n-grams (P,) of words; ``starts`` (U + 1,): where those of each word begin."""
    lengths = np.diff(starts)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    counts = np.maximum(lengths, 1).astype(np.float32)
    return in_group("ngrams", {"ids": ngrams, "owners": owners, "counts": counts})


def in_group(group: str, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Returns a group of inputs by the names that they have in a graph.

    >>> in_group("pieces", {"rows": np.zeros(1)})
    {'pieces.rows': array([0.])}
    """
    return {f"{group}.{name}": values for name, values in inputs.items()}
