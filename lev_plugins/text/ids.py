"""Texts as rows of ids, without torch: the four symbols that every dictionary begins with, lookup and padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLANK = "▁"
BOS, PAD, EOS, UNK = range(4)
Rows = Sequence[list[int]]  # texts as numbers of words


def ids_of(pieces: Iterable[str], words: Any) -> list[int]:
    """Of a ``Vocabulary`` or a dictionary of fairseq. What is spelt like a symbol is <unk>, too: it is no boundary.

    >>> from types import SimpleNamespace
    >>> ids_of(["a", "b", "</s>"], SimpleNamespace(nspecial=4, index={"a": 4, "b": 3, "</s>": 2}.get))
    [4, 3, 3]
    """
    return [i if (i := words.index(piece)) >= words.nspecial else UNK for piece in pieces]


def numbered(ids: Iterable[int], unknown: Iterable[str], numbers: dict[str, int], first: int) -> list[int]:
    """With a row, from ``first`` on, for each of the unknown words that are <unk>; ``numbers`` grows.

    >>> numbered([5, UNK, UNK, 6], ["teh", "fo"], {"fo": 0}, first=10)
    [5, 11, 10, 6]
    """
    spelt = iter(unknown)
    return [first + numbers.setdefault(next(spelt), len(numbers)) if i == UNK else i for i in ids]


def padded(rows: Rows, fill: int = PAD) -> NDArray[Any]:
    """
    >>> padded([[5, 6], [7]]).tolist()
    [[5, 6], [7, 1]]
    """
    table = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def end_to_end(rows: Sequence[Sequence[int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """What all rows have, and where each begins.

    >>> [each.tolist() for each in end_to_end([[7, 8], [], [9]])]
    [[7, 8, 9], [0, 2, 2, 3]]
    """
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return np.fromiter((part for row in rows for part in row), np.int64, count=int(starts[-1])), starts
