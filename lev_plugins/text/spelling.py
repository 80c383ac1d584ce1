"""What a word looks like: the groups of its letters that it shares with its misspellings."""

import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLANK = "▁"
LENGTHS = (1, 2, 3, 4)
CASES = 4  # shapes with the same blank before the word
PROPER = (1, 2)  # cases in which a known word may be written: with a capital, in capitals
SHAPES = 2 * CASES
LONGEST = 24  # letters of a word that are compared one by one
REMEMBERED, REMEMBERED_LETTERS = 1 << 12, 64  # words, and letters of one: 40 megabytes at most
BASE = 1_000_003  # of the numbers that stand for the letters of words


def grams(word: str) -> list[str]:
    """The n-grams of a word between its boundaries, and what survives the usual slips.

    - pairs of letters with one between them, which an inserted or wrong letter leaves alone
    - its letters in alphabetical order but for the first and last one, which swapping two leaves alone

    >>> grams("▁Go")
    ['g', 'o', '<g', 'go', 'o>', '<go', 'go>', '<go>', '<_o', 'g_>', '=go']
    >>> sorted(set(grams("thier")) & set(grams("their")))
    ['<_h', '<t', '<th', '=tehir', 'e', 'h', 'i', 'r', 'r>', 't', 'th']
    """
    inner = bare(word)
    between = f"<{inner}>"
    parts = list(inner)
    parts += [between[i : i + n] for n in LENGTHS[1:] for i in range(len(between) - n + 1)]
    parts += [f"{between[i]}_{between[i + 2]}" for i in range(len(between) - 2)]
    parts.append(f"={inner[:1]}{''.join(sorted(inner[1:-1]))}{inner[1:][-1:]}")
    return list(dict.fromkeys(parts))


def bare(word: str) -> str:
    return word.lstrip(BLANK).lower()


def letters(word: str) -> str:
    """What is compared one by one: a word beyond ``LONGEST`` counts as its beginning, and a number has no letters.

    >>> letters("▁Go"), letters("h3"), letters("▁12")
    ('go', 'h3', '')
    """
    return bare(word)[:LONGEST] if any(map(str.isalpha, word)) else ""


def shape(word: str) -> int:
    """What its letters do not say: its case, and CASES more if a blank is before it.

    0: no capitals; 1: the first letter is the only one; 2: all letters are, and there are several; 3: others

    >>> [shape(word) for word in ("go", "Go", "GO", "gO", "G", "X-ray", "McCoy", "12")]
    [0, 1, 2, 3, 1, 1, 3, 0]
    >>> shape("▁Go")
    5
    """
    capitals = [letter.isupper() for letter in word if letter.isalpha()]
    if not any(capitals):
        case = 0
    elif sum(capitals) == 1:
        case = 1 if capitals[0] else 3
    else:
        case = 2 if all(capitals) else 3
    return case + CASES * word.startswith(BLANK)


def hash_of(word: str) -> Callable[[str, int], tuple[int, ...]]:
    """``hashed``, which remembers a word unless it is so long that many would fill the memory."""
    return hashed if len(word) <= REMEMBERED_LETTERS else hashed.__wrapped__


@lru_cache(maxsize=REMEMBERED)
def hashed(word: str, buckets: int) -> tuple[int, ...]:
    """The buckets of a word's groups of letters, the same on every machine.

    >>> hashed("go", 100)
    (78, 80, 27, 74, 4, 23, 52, 83, 48, 91, 84)
    """
    return tuple(dict.fromkeys(zlib.crc32(part.encode()) % buckets for part in grams(word)))


def parts_of(words: Sequence[str], buckets: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The buckets (P,) of all words, and where those of each begin (n + 1,); an empty word has none.

    >>> parts_of(["a", "", "ab"], buckets=1000)[1].tolist()
    [0, 6, 6, 17]
    """
    rows = [hash_of(word)(word, buckets) if word else () for word in words]
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return np.fromiter((part for row in rows for part in row), np.int64, count=int(starts[-1])), starts


def prints_of(words: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """A number for the letters of each word, from which that of two words side by side follows; 0: no letters.

    And ``BASE`` to the power of the number of letters: both (n,).

    >>> prints, powers = prints_of(["to", "day", "Today"])
    >>> (prints[:1] * powers[1:2] + prints[1:2] == prints[2:]).tolist()
    [True]
    """
    rows = [letters(word) for word in words]
    value, power = np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=np.int64)
    for place in range(max(map(len, rows), default=0)):  # whole numbers of 64 bits, which begin again where they end
        letter = np.array([ord(row[place]) if place < len(row) else 0 for row in rows], dtype=np.int64)
        value = np.where(letter, value * BASE + letter, value)
        power = np.where(letter, power * BASE, power)
    return value, power
