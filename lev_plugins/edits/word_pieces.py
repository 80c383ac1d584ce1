"""How a pre-trained encoder reads whole words (``levt --backbone``): the pieces of each word, packed in rows."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lev_plugins.text.ids import BLANK, TokenDictionary, flatten_rows
from lev_plugins.text.pretrained import SentencePieces, load_tokenizer, longest_text, symbols_of

Integers = NDArray[np.int64]


class WordTokenizer:
    """Splits single words into pieces as the tokenizer of a pre-trained model does in a text.

    Words have the form of ``--bpe words``: ▁ in front stands for the blank before the word.
    """

    def __init__(self, folder: Path, symbols: TokenDictionary) -> None:
        """
        Args:
            folder: made by ``lev-plugins import-pretrained``
            symbols: the dictionary in that folder
        """
        self.tokenizer, self.pad = load_tokenizer(folder), symbols.index("<pad>")
        self.longest, names = longest_text(folder), symbols_of(folder)
        self.ids = [symbols.index(symbol) for symbol in names]
        # some tokenizers put a blank in front of every text: what a word without a blank begins with instead
        without_blank = set[str]() if isinstance(self.tokenizer, SentencePieces) else set(names)
        self.inner = {
            symbols.index(name): [symbols.index(name[1:])] if name[1:] else []
            for name in names
            if name == BLANK or (name.startswith(BLANK) and name[1:] in without_blank)
        }

    def pieces(self, word: str) -> list[int]:
        """Returns the ids of a word's pieces in the dictionary of the folder."""
        ids = [self.ids[i] for i in self.tokenizer.encode(word.replace(BLANK, " "))]
        return ids if not ids or word.startswith(BLANK) else [*self.inner.get(ids[0], ids[:1]), *ids[1:]]


class WordPieces:
    """The pieces of all words of a dictionary, and of any other word."""

    def __init__(self, tokenizer: WordTokenizer, pieces: Integers, starts: Integers) -> None:
        """
        Args:
            tokenizer: splits words that are not in the dictionary
            pieces: those of the V words of the dictionary and of the placeholder, which has none, word after word
            starts: (V + 2,) where the pieces of each word begin
        """
        self.tokenizer, self.pieces, self.starts = tokenizer, pieces, starts

    @classmethod
    def of_words(cls, tokenizer: WordTokenizer, words: Sequence[str], symbols: Mapping[int, int]) -> "WordPieces":
        """Split the ``words`` of a dictionary; ``symbols``: special symbols, by id, that have an id as a piece."""
        rows = [[symbols[i]] if i in symbols else tokenizer.pieces(word) for i, word in enumerate([*words, ""])]
        return cls(tokenizer, *flatten_rows(rows))

    def in_rows(self, sources: Integers, unknown: Iterable[str]) -> "PiecesInRows":
        """Returns the pieces of sources (B, S), whose ids past the placeholder are the ``unknown`` words."""
        pieces, starts = flatten_rows([self.tokenizer.pieces(word) for word in unknown])
        starts = np.concatenate([self.starts, self.starts[-1] + starts[1:]])
        pieces = np.concatenate([self.pieces, pieces])
        return pack_pieces(sources, pieces, starts, self.tokenizer.longest, self.tokenizer.pad)


class PiecesInRows(NamedTuple):
    """The N pieces of the words of a batch, in rows that a pre-trained model can read."""

    rows: Integers  # (R, W) ids
    places: Integers  # (N,) the place of each piece in the flattened rows
    owners: Integers  # (N,) the word that it belongs to, as a place in the flattened (B, S)


def pack_pieces(words: Integers, pieces: Integers, starts: Integers, longest: int | None, pad: int) -> PiecesInRows:
    """Returns the pieces of ``words`` (B, S), which begin at ``starts``.

    A text with more than ``longest`` pieces takes several rows.

    >>> words, pieces, starts = np.array([[0, 1], [1, 2]]), np.array([7, 8, 9]), np.array([0, 1, 3, 3])
    >>> packed = pack_pieces(words, pieces, starts, longest=2, pad=1)
    >>> packed.rows.tolist(), packed.places.tolist(), packed.owners.tolist()
    ([[7, 8], [9, 1], [8, 9], [1, 1]], [0, 1, 2, 4, 5], [0, 1, 1, 2, 2])
    """
    lengths = np.diff(starts)[words]
    owners = np.repeat(np.arange(words.size), lengths.flat)
    numbers, totals = np.arange(len(owners)), lengths.sum(1)
    in_word = numbers - (lengths.cumsum() - lengths.flat)[owners]
    text = owners // words.shape[1]
    in_text = numbers - (totals.cumsum() - totals)[text]
    width = min(int(totals.max()), longest or len(owners))
    rows_per_text = -(-int(totals.max()) // width)
    rows = np.full((len(words) * rows_per_text, width), pad, dtype=np.int64)
    places = (text * rows_per_text + in_text // width) * width + in_text % width
    rows.flat[places] = pieces[starts[words.flat][owners] + in_word]
    return PiecesInRows(rows, places, owners)
