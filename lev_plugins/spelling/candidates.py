"""What a word looks like, and which words of a dictionary it may be meant to be: its candidates.

A word shares groups of letters with its misspellings. Its candidates are the ``NEAR`` words of the dictionary with
which it has most of them in common, by the rule of ``WordIndex``. They are found where batches are made, in the process
that reads ahead.

Shapes: V words of the dictionary, n words that are looked up, K candidates of each.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cpdist

from lev_plugins.text.ids import BLANK, end_to_end

if TYPE_CHECKING:
    from lev_plugins.spelling.word_pieces import WordPieces

LENGTHS = (1, 2, 3, 4)
CASES = 4  # shapes with the same blank before the word
PROPER = (1, 2)  # cases in which a known word may be written: with a capital, in capitals
SHAPES = 2 * CASES
LONGEST = 24  # letters of a word that are compared one by one
HASHED, HASHED_LETTERS = 1 << 12, 64  # words whose groups are remembered, and letters of one: 40 megabytes at most
BASE = 1_000_003  # of the numbers that stand for the letters of words
NEAR = 48  # candidates of a word
FREQUENT = 0.02  # weight of the logarithm of a word's frequency, beside the share of groups that two have in common
FAR = 4  # slips: more do not matter
REMEMBERED = 1 << 16  # words whose candidates are kept: 30 megabytes
AT_ONCE = 64  # words compared with the dictionary at a time
FAMILIAR = 64  # occurrences from which a word counts as most familiar
LEVELS = (1, 2, 4, 8, 16, 32, FAMILIAR)  # ... and as more familiar
DENSE = 96  # the most frequent groups, counted by one product of matrices; others by lists of the words that have them
BLOCK = 64  # words of which only the best is looked at, to find a bound for the best ones of all

ROW = np.dtype([("near", np.int32), ("alike", np.float32), ("slips", np.uint8)])


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


@lru_cache(maxsize=HASHED)
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
    # what is too long is not remembered: many such words would fill the memory
    by_length = hashed.__wrapped__, hashed
    return end_to_end([by_length[len(word) <= HASHED_LETTERS](word, buckets) if word else () for word in words])


def prints_of(words: Sequence[str]) -> NDArray[Any]:
    """A number for the letters of each word, from which that of two words side by side follows; 0: no letters.

    And ``BASE`` to the power of the number of letters: (2, n).

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
    return np.stack([value, power])


class Spelt(NamedTuple):
    """What n words look like."""

    parts: NDArray[Any]  # (P,) their groups of letters, word after word
    starts: NDArray[Any]  # (n + 1,) where each word begins
    shapes: NDArray[Any]  # (n,)
    prints: NDArray[Any]  # (2, n) numbers for their letters, and the powers to join them with

    @classmethod
    def of(cls, words: Sequence[str], buckets: int) -> Spelt:
        shapes = np.array([shape(word) for word in words], dtype=np.int64)
        return cls(*parts_of(words, buckets), shapes, prints_of(words))


# ---- candidates ------------------------------------------------------------------------------------------------------


class Plausible:
    """How much speaks for one word in place of another, before training, in units of log-probability."""

    alike = 5.0  # times the share of groups in common
    slips = (14.0, 14.0, 7.0, 2.0)  # by the number of slips; FAR: nothing
    frequency = 0.7  # times the logarithm of the number of occurrences
    same_letters = 10.0  # a word in another case is that word, if another one is not far more frequent


class Candidates(NamedTuple):
    near: NDArray[Any]  # (n, K) words of the dictionary
    alike: NDArray[Any]  # (n, K) the number of groups that two share, divided by the geometric mean of what each has
    slips: NDArray[Any]  # (n, K) from one to the other, at most FAR


def words_of(dictionary: Any) -> tuple[list[str], list[int]]:
    """Of a dictionary of fairseq or a ``Vocabulary``; special symbols are no words, and count as familiar."""
    specials = dictionary.nspecial
    counts = [*[FAMILIAR] * specials, *dictionary.count[specials:]]
    return [*[""] * specials, *dictionary.symbols[specials:]], counts


class WordIndex:
    """The words of a dictionary, by their groups of letters.

    >>> index = WordIndex(["", "the", "tea", "form", "from"], [0, 50, 3, 9, 9], buckets=1000)
    >>> found = index.nearest(["teh", "frm"])
    >>> [[index.words[i] for i in row[:2]] for row in found.near], found.slips[:, :2].tolist()
    ([['tea', 'the'], ['form', 'from']], [[1, 1], [1, 1]])
    >>> [index.words[i] for i in index.guesses(found)[0]]
    ['the', 'form']
    """

    pieces: WordPieces | None = None  # how a pre-trained model reads words

    def __init__(self, words: Iterable[str], counts: Sequence[int], buckets: int):
        """``words``: "" is a symbol that is no word; ``counts``: how often each occurs in the training text."""
        self.words, self.counts, self.buckets = list(words), np.asarray(counts, dtype=np.int64), buckets
        self.all_counts = np.append(self.counts, FAMILIAR)  # (V + 1,)
        self.specials = next((i for i, word in enumerate(self.words) if word), len(self.words))  # they come first
        self.log_counts = np.log(self.counts + 1.0).astype(np.float32)
        self.remembered: dict[str, NDArray[Any]] = {}

    @classmethod
    def of(cls, dictionary: Any, buckets: int) -> WordIndex:
        return cls(*words_of(dictionary), buckets)

    def __deepcopy__(self, memo: Any) -> WordIndex:
        """Nothing that matters changes, so copies of a model share it."""
        return self

    @cached_property
    def spelt(self) -> Spelt:
        """Of the dictionary, and of the placeholder."""
        return Spelt.of([*self.words, ""], self.buckets)

    @cached_property
    def occurrences(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The numbers for the letters of all words, ascending, and how often they occur, in any case: both (n,)

        >>> WordIndex(["", "to", "do", "To"], [64, 1, 2, 4], buckets=1000).occurrences[1].tolist()
        [2, 5]
        """
        prints, _ = self.spelt.prints
        values, which = np.unique(prints[prints != 0], return_inverse=True)
        return values, np.bincount(which, weights=self.all_counts[prints != 0]).astype(np.int64)

    @cached_property
    def having(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The words that have each group, one group after the other, and where each begins: (P,), (buckets + 1,)"""
        parts, starts, *_ = self.spelt
        words = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[np.argsort(parts, kind="stable")]
        return words, np.concatenate([[0], np.bincount(parts, minlength=self.buckets).cumsum()])

    @cached_property
    def scale(self) -> NDArray[Any]:
        """(V,) 1 divided by the root of the number of groups that each word has"""
        return 1 / np.sqrt(np.diff(self.spelt.starts)[: len(self.words)].clip(min=1).astype(np.float32))

    @cached_property
    def dense(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The place of each group among the D most frequent ones, or -1, and the words that have those"""
        words, starts = self.having
        frequent = np.argsort(-np.diff(starts), kind="stable")[:DENSE]
        columns = np.full(self.buckets, -1)
        columns[frequent] = np.arange(len(frequent))
        matrix = np.zeros((len(frequent), len(self.words)), dtype=np.float32)
        for row, part in zip(matrix, frequent, strict=True):
            row[words[starts[part] : starts[part + 1]]] = 1
        return columns, matrix

    def nearest(self, words: Sequence[str]) -> Candidates:
        """Each word is compared with the dictionary once, whatever its case."""
        keys = [bare(word) for word in words]
        remembered = self.remembered  # another thread may put a new one in its place
        rows = {key: remembered[key] for key in keys if key in remembered}
        new = [key for key in dict.fromkeys(keys) if key not in rows]
        if new:
            rows |= zip(new, self.compared(new), strict=True)
            if len(remembered) + len(new) > REMEMBERED:
                self.remembered = {}
            self.remembered.update((key, rows[key].copy()) for key in new[:REMEMBERED])
        return self.columns([rows[key] for key in keys])

    def nearest_to(self, rows: Iterable[int], unknown: Sequence[str]) -> Candidates:
        """Of words of the dictionary, and of ``unknown`` ones of a batch, which come after the placeholder."""
        size = len(self.words)
        return self.nearest([self.words[row] if row < size else unknown[row - size - 1] for row in rows])

    def columns(self, rows: Any) -> Candidates:
        table = np.stack(rows) if len(rows) else np.empty((0, min(NEAR, len(self.words))), ROW)
        near, alike, slips = (np.ascontiguousarray(table[name]) for name in ROW.names or ())
        return Candidates(near.astype(np.int64), alike, slips.astype(np.int64))

    def guesses(self, found: Candidates) -> NDArray[Any]:
        """The likeliest candidate of each, and its slips: (2, n)"""
        slips = np.array([Plausible.slips[0] + Plausible.same_letters, *Plausible.slips[1:], 0.0], dtype=np.float32)
        likely = slips[found.slips] + np.float32(Plausible.alike) * found.alike
        likely += np.float32(Plausible.frequency) * self.log_counts[found.near]
        best = likely.argmax(1)[:, None]
        return np.stack([np.take_along_axis(column, best, 1)[:, 0] for column in (found.near, found.slips)])

    def held_out(self) -> NDArray[Any]:
        """The guess for each word that occurs once, as if it never did; for others, the first word: (2, V)"""
        once, found = np.flatnonzero(self.counts == 1), np.zeros((2, len(self.words)), dtype=np.int64)
        if len(once):
            found[:, once] = self.guesses(self.columns(self.compared([self.words[i] for i in once], once)))
        return found

    def compared(self, words: Sequence[str], without: NDArray[Any] | None = None) -> NDArray[Any]:
        """(n, K) candidates; ``without`` (n,): for each, a word of the dictionary that does not count."""
        found = np.empty((len(words), min(NEAR, len(self.words))), ROW)
        for first in range(0, len(words), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            self.choose(words[some], None if without is None else without[some], found[some])
        ours = [letters(word) for word in words]
        one = [word for word in ours for _ in range(found.shape[1])]
        other = [letters(self.words[i]) for i in found["near"].flat]
        if one:
            slips = cpdist(one, other, scorer=OSA.distance, score_cutoff=FAR - 1, dtype=np.uint8)
            # numbers and signs, which have no letters, are not slips of others
            named = np.array([bool(pair[0] and pair[1]) for pair in zip(one, other, strict=True)])
            near = (found["alike"] > 0) & named.reshape(found.shape)
            found["slips"] = np.where(near, slips.reshape(found.shape).clip(max=FAR), FAR)
        return found

    def choose(self, words: Sequence[str], without: NDArray[Any] | None, found: NDArray[Any]) -> None:
        """Write the words with most in common, and how much, to ``found`` (n, K)."""
        having, begins = self.having
        columns, dense = self.dense
        parts, starts = parts_of(words, self.buckets)
        frequent = np.zeros((len(words), len(dense)), dtype=np.float32)
        owners = np.repeat(np.arange(len(words)), np.diff(starts))
        often = columns[parts] >= 0
        frequent[owners[often], columns[parts[often]]] = 1
        shared = frequent @ dense  # (n, V)
        frequency = np.float32(FREQUENT) * self.log_counts
        for i, row in enumerate(shared):
            own = parts[starts[i] : starts[i + 1]]
            lists = [having[begins[part] : begins[part + 1]] for part in own[columns[own] < 0]]
            if lists:
                row += np.bincount(np.concatenate(lists), minlength=len(row))
            row *= self.scale
            row *= np.float32(1 / np.sqrt(np.float32(max(len(own), 1))))
            score = frequency * (row > 0)
            score += row
            if without is not None:
                row[without[i]] = score[without[i]] = -1
            near = best(score, found.shape[1])
            found["near"][i], found["alike"][i] = near, row[near]


def best(scores: NDArray[Any], number: int) -> NDArray[Any]:
    """The places of the best scores, from the best one on; of equal ones, the first.

    >>> best(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    blocks = len(scores) // BLOCK
    if blocks > number:  # the best of as many blocks are at least as good as the last that is wanted
        bests = scores[: blocks * BLOCK].reshape(blocks, BLOCK).max(1)
        places = np.flatnonzero(scores >= np.partition(bests, blocks - number)[blocks - number])
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")[:number]]
