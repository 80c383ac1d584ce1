"""How a pre-trained encoder reads whole words (``levt --backbone``): the pieces of each word, packed in rows."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lev_plugins.text.ids import BLANK, end_to_end
from lev_plugins.text.pretrained import SentencePieces, load_tokenizer, positions_of_bert, symbols_of


class WordPieces:
    """How a pre-trained model reads words, of which each says by ▁ whether a blank is before it (``--bpe words``)."""

    # symbols of all words of a dictionary, and of the placeholder, which has none; (V + 2,) where those of each begin
    known: tuple[NDArray[Any], NDArray[Any]]

    def __init__(self, folder: Path, dictionary: Any):
        """``dictionary``: of the folder."""
        self.tokenizer, unk, self.pad = load_tokenizer(folder), dictionary.index("<unk>"), dictionary.index("<pad>")
        positions = positions_of_bert(folder)
        self.longest = None if positions is None else positions - 1  # [CLS] is in front
        self.ids = [dictionary.index(symbol) for symbol in symbols_of(folder)]
        blank = dictionary.index(BLANK) if isinstance(self.tokenizer, SentencePieces) else None
        self.blank = None if blank == unk else blank  # which this tokenizer adds to every text

    def pieces(self, word: str) -> list[int]:
        """Symbols of the dictionary."""
        ids = [self.ids[i] for i in self.tokenizer.encode(word.replace(BLANK, " "))]
        return ids[1:] if ids[:1] == [self.blank] and not word.startswith(BLANK) else ids

    def in_rows(self, rows: NDArray[Any], unknown: Iterable[str]) -> "PiecesInRows":
        """Of sources (B, S), whose words are those of the dictionary, then the ``unknown`` ones of a batch."""
        (pieces, starts), (new, begins) = self.known, end_to_end([self.pieces(word) for word in unknown])
        starts = np.concatenate([starts, starts[-1] + begins[1:]])
        return in_rows(rows, np.concatenate([pieces, new]), starts, self.longest, self.pad)


class PiecesInRows(NamedTuple):
    """The N pieces of a batch of words, in rows that a pre-trained model can read."""

    pieces: NDArray[Any]  # (R, W) symbols
    where: NDArray[Any]  # (N,) the place of each in the flattened rows
    word: NDArray[Any]  # (N,) and the word it is of, in the flattened (B, S)


def in_rows(
    words: NDArray[Any], pieces: NDArray[Any], starts: NDArray[Any], longest: int | None, pad: int
) -> PiecesInRows:
    """Of ``words`` (B, S), whose pieces begin at ``starts``; a text with more than ``longest`` takes several rows.

    >>> words, pieces, starts = np.array([[0, 1], [1, 2]]), np.array([7, 8, 9]), np.array([0, 1, 3, 3])
    >>> rows = in_rows(words, pieces, starts, longest=2, pad=1)
    >>> rows.pieces.tolist(), rows.where.tolist(), rows.word.tolist()
    ([[7, 8], [9, 1], [8, 9], [1, 1]], [0, 1, 2, 4, 5], [0, 1, 1, 2, 2])
    """
    lengths = np.diff(starts)[words]
    word = np.repeat(np.arange(words.size), lengths.flat)
    every, totals = np.arange(len(word)), lengths.sum(1)
    inside = every - (lengths.cumsum() - lengths.flat)[word]
    row = word // words.shape[1]
    place = every - (totals.cumsum() - totals)[row]
    width = min(int(totals.max()), longest or len(word))
    parts = -(-int(totals.max()) // width)
    table = np.full((len(words) * parts, width), pad, dtype=np.int64)
    where = (row * parts + place // width) * width + place % width
    table.flat[where] = pieces[starts[words.flat][word] + inside]
    return PiecesInRows(table, where, word)
