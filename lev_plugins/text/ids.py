"""Texts as rows of ids, without torch: the four symbols that every dictionary begins with, lookup and padding."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

BLANK = "▁"
BOS, PAD, EOS, UNK = range(4)
FILLER = "madeupword"  # what fairseq-preprocess pads a dictionary with: not a word of any text
Rows = Sequence[list[int]]  # texts as numbers of words
Array = NDArray[Any]


class TokenDictionary(Protocol):
    """A dictionary of fairseq, or the ``editor.folder.Vocabulary`` of a model folder."""

    nspecial: int
    symbols: list[str]
    count: list[int]

    def index(self, symbol: str) -> int: ...

    def __getitem__(self, number: int) -> str: ...


def ids_of(pieces: Iterable[str], words: TokenDictionary) -> list[int]:
    """Looks pieces up in a dictionary; text that is spelt like a symbol is <unk>.

    >>> from types import SimpleNamespace
    >>> ids_of(["a", "b", "</s>"], SimpleNamespace(nspecial=4, index={"a": 4, "b": 3, "</s>": 2}.get))
    [4, 3, 3]
    """
    return [i if (i := words.index(piece)) >= words.nspecial else UNK for piece in pieces]


def with_unknown_ids(ids: Iterable[int], unknown: Iterable[str], numbers: dict[str, int], offset: int) -> list[int]:
    """Replaces each <unk> by an id of its own word.

    ids: of a text
    unknown: the spelling of each <unk> in it
    numbers: the unknown words of the batch, to which new ones are added
    offset: the id of the first unknown word

    >>> with_unknown_ids([5, UNK, UNK, 6], ["teh", "fo"], {"fo": 0}, offset=10)
    [5, 11, 10, 6]
    """
    spelt = iter(unknown)
    return [offset + numbers.setdefault(next(spelt), len(numbers)) if i == UNK else i for i in ids]


def padded(rows: Rows, fill: int = PAD) -> Array:
    """Returns rows as an array, padded on the right.

    >>> padded([[5, 6], [7]]).tolist()
    [[5, 6], [7, 1]]
    """
    table = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def flatten_rows(rows: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Joins rows into one array, and returns it with the place where each row begins, and the end.

    >>> [each.tolist() for each in flatten_rows([[7, 8], [], [9]])]
    [[7, 8, 9], [0, 2, 2, 3]]
    """
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return np.fromiter((part for row in rows for part in row), np.int64, count=int(starts[-1])), starts
