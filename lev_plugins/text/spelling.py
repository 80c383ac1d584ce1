"""What a word looks like: the parts of its spelling that it shares with its misspellings."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

BLANK = "▁"
LENGTHS = (1, 2, 3, 4)
CASES = 4  # shapes with the same blank before the word
PROPER = (1, 2)  # cases in which a known word may be written: with a capital, in capitals
SHAPES = 2 * CASES
LONGEST = 24  # letters of a word that are compared one by one
REMEMBERED, REMEMBERED_LETTERS = 1 << 12, 64  # words, and letters of one: 40 megabytes at most


def grams(word: str) -> list[str]:
    """The n-grams of a word between its boundaries, and what survives the usual slips.

    - pairs of letters with one between them, which an inserted or wrong letter leaves alone
    - its letters in alphabetical order but for the first and last one, which swapping two leaves alone

    >>> grams("▁Go")
    ['g', 'o', '<g', 'go', 'o>', '<go', 'go>', '<go>', '<_o', 'g_>', '=go']
    >>> sorted(set(grams("thier")) & set(grams("their")))
    ['<_h', '<t', '<th', '=tehir', 'e', 'h', 'i', 'r', 'r>', 't', 'th']
    """
    letters = bare(word)
    between = f"<{letters}>"
    parts = list(letters)
    parts += [between[i : i + n] for n in LENGTHS[1:] for i in range(len(between) - n + 1)]
    parts += [f"{between[i]}_{between[i + 2]}" for i in range(len(between) - 2)]
    parts.append(f"={letters[:1]}{''.join(sorted(letters[1:-1]))}{letters[1:][-1:]}")
    return list(dict.fromkeys(parts))


def bare(word: str) -> str:
    return word.lstrip(BLANK).lower()


def shape(word: str) -> int:
    """What its letters do not say: its case, and CASES more if a blank is before it.

    0: no capitals; 1: the first letter is the only one; 2: all letters are, and there are several; 3: others

    >>> [shape(word) for word in ("go", "Go", "GO", "gO", "G", "X-ray", "McCoy", "12")]
    [0, 1, 2, 3, 1, 1, 3, 0]
    >>> shape("▁Go")
    5
    """
    letters = [letter.isupper() for letter in word if letter.isalpha()]
    if not any(letters):
        case = 0
    elif sum(letters) == 1:
        case = 1 if letters[0] else 3
    else:
        case = 2 if all(letters) else 3
    return case + CASES * word.startswith(BLANK)


def hash_of(word: str) -> Callable[[str, int], tuple[int, ...]]:
    """``hashed``, which remembers a word unless it is so long that many would fill the memory."""
    return hashed if len(word) <= REMEMBERED_LETTERS else hashed.__wrapped__


@lru_cache(maxsize=REMEMBERED)
def hashed(word: str, buckets: int) -> tuple[int, ...]:
    """The buckets of a word's parts, the same on every machine.

    >>> hashed("go", 100)
    (78, 80, 27, 74, 4, 23, 52, 83, 48, 91, 84)
    """
    return tuple(dict.fromkeys(zlib.crc32(part.encode()) % buckets for part in grams(word)))


class Unknown(NamedTuple):
    """How the unknown words of a batch are spelt."""

    ids: Tensor  # (U,) borrowed ids, ascending
    parts: Tensor  # (P,) their parts, word after word
    starts: Tensor  # (U + 1,) where each word begins
    shapes: Tensor  # (U,)
    letters: Tensor  # (U, L) 0 after the last letter


def unknown_words(words: dict[int, str], buckets: int) -> Unknown:
    """``words`` by their borrowed ids.

    >>> unknown = unknown_words({101: "ab", 100: "a"}, buckets=1000)
    >>> unknown.ids.tolist(), unknown.starts.tolist()
    ([100, 101], [0, 6, 17])
    """
    ids = sorted(words)
    spelt = [words[i] for i in ids]
    return Unknown(torch.tensor(ids, dtype=torch.long), *parts_of(spelt, buckets), shapes_of(spelt), letters_of(spelt))


def parts_of(words: list[str], buckets: int) -> tuple[Tensor, Tensor]:
    """Parts (P,) and starts (n + 1,); an empty word has none."""
    each = [hash_of(word)(word, buckets) if word else () for word in words]
    parts = torch.tensor([part for parts in each for part in parts], dtype=torch.long)
    return parts, torch.tensor([0, *map(len, each)]).cumsum(0)


def shapes_of(words: list[str]) -> Tensor:
    return torch.tensor([shape(word) for word in words], dtype=torch.long)


def letters_of(words: list[str]) -> Tensor:
    """Code points (n, the longest); a word beyond ``LONGEST`` counts as its beginning, and a number has no letters.

    >>> letters_of(["▁Go", "h3"]).tolist() == [[ord("g"), ord("o")], [ord("h"), ord("3")]]
    True
    >>> letters_of(["▁12"]).tolist()
    [[0]]
    """
    rows = [list(map(ord, bare(word)[:LONGEST])) if any(map(str.isalpha, word)) else [] for word in words]
    width = max([1, *map(len, rows)])
    return torch.tensor([row + [0] * (width - len(row)) for row in rows], dtype=torch.int32).view(len(rows), width)
