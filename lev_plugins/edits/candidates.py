"""The spelling of words, and the words of a dictionary that a misspelt word may stand for: its candidates.

A word and its misspellings share letter n-grams. The candidates of a word are the words of the dictionary whose n-gram
sets are most similar to its own (``WordIndex``). In training they are found by the workers that make the batches.

Shapes: V words of the dictionary, n words that are looked up, K candidates for each.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cpdist

from lev_plugins.text.ids import BLANK, TokenDictionary, flatten_rows
from lev_plugins.text.lexicon import Lexicon

if TYPE_CHECKING:
    from lev_plugins.edits.word_pieces import WordPieces

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]

NGRAM_LENGTHS = (1, 2, 3, 4)
CASES = 4  # the values of ``word_shape`` for a word without a blank before it
CAPITALISED, UPPERCASE = 1, 2  # ... of which these are usual variants of a lower-case word
SHAPES = 2 * CASES
MAX_LETTERS = 24  # letters of a word that the edit distance looks at
CACHED_WORDS, CACHED_LETTERS = 1 << 12, 64  # the n-grams of this many words are cached, if they are no longer than that
HASH_BASE = 1_000_003  # of the polynomial hash of a word's letters
MAX_CANDIDATES = 48
FREQUENCY_WEIGHT = 0.02  # of the logarithm of a candidate's frequency, relative to the similarity of the n-gram sets
MAX_DISTANCE = 4  # larger edit distances count as this one
LISTED = MAX_DISTANCE + 1  # in place of the distance to a word that a lexicon lists as the correction
LEXICAL_COUNT = 1  # of a word that the training text lacks, but a lexicon knows
CACHED_CANDIDATES = 1 << 16  # words whose candidates are cached: 30 megabytes
LEVELS = (1, 2, 4, 8, 16, 32, 64)  # numbers of occurrences at which a word becomes one level more familiar
BLOCK = 64  # ``best_places`` compares the best score of each block to skip most of the others

CANDIDATE = np.dtype([("ids", np.int32), ("ngram_overlap", np.float32), ("edit_distance", np.uint8)])


def letter_ngrams(word: str) -> list[str]:
    """Returns the n-grams of a word between its boundaries, and two features that frequent typos leave unchanged.

    - pairs of letters with any letter between them, for inserted and substituted letters
    - the letters in alphabetical order except for the first and the last one, for transposed letters

    >>> letter_ngrams("▁Go")
    ['g', 'o', '<g', 'go', 'o>', '<go', 'go>', '<go>', '<_o', 'g_>', '=go']
    >>> sorted(set(letter_ngrams("thier")) & set(letter_ngrams("their")))
    ['<_h', '<t', '<th', '=tehir', 'e', 'h', 'i', 'r', 'r>', 't', 'th']
    """
    inner = lower_case(word)
    between = f"<{inner}>"
    ngrams = list(inner)
    ngrams += [between[i : i + n] for n in NGRAM_LENGTHS[1:] for i in range(len(between) - n + 1)]
    ngrams += [f"{between[i]}_{between[i + 2]}" for i in range(len(between) - 2)]
    ngrams.append(f"={inner[:1]}{''.join(sorted(inner[1:-1]))}{inner[1:][-1:]}")
    return list(dict.fromkeys(ngrams))


def lower_case(word: str) -> str:
    """Returns a word without the mark of the blank before it, in lower case."""
    return word.lstrip(BLANK).lower()


def compared_letters(word: str) -> str:
    """Returns the first letters of a word, for its edit distance and hash; "" for a number or a sign.

    >>> compared_letters("▁Go"), compared_letters("h3"), compared_letters("▁12")
    ('go', 'h3', '')
    """
    letters = word.lstrip(BLANK).lower()
    return letters[:MAX_LETTERS] if letters.isalpha() or any(map(str.isalpha, letters)) else ""


def word_shape(word: str) -> int:
    """Returns the case of a word, plus CASES if there is a blank before it.

    0: no capitals; 1: only the first letter is one; 2: all letters are, and there are several; 3: any other

    >>> [word_shape(word) for word in ("go", "Go", "GO", "gO", "G", "X-ray", "McCoy", "12")]
    [0, 1, 2, 3, 1, 1, 3, 0]
    >>> word_shape("▁Go")
    5
    """
    capitals = [letter.isupper() for letter in word if letter.isalpha()]
    if not any(capitals):
        case = 0
    elif sum(capitals) == 1:
        case = CAPITALISED if capitals[0] else 3
    else:
        case = UPPERCASE if all(capitals) else 3
    return case + CASES if word.startswith(BLANK) else case


def ngram_buckets(word: str, buckets: int) -> tuple[int, ...]:
    """Returns the hash buckets of a word's n-grams, which are the same on every machine.

    >>> ngram_buckets("go", 100)
    (78, 80, 27, 74, 4, 23, 52, 83, 48, 91, 84)
    """
    return tuple(dict.fromkeys(zlib.crc32(ngram.encode()) % buckets for ngram in letter_ngrams(word)))


cached_ngram_buckets = lru_cache(maxsize=CACHED_WORDS)(ngram_buckets)


def flat_ngrams(words: Sequence[str], buckets: int) -> tuple[Integers, Integers]:
    """Returns the buckets (P,) of all words one after the other, and the offset of each word (n + 1,).

    The empty word has none.

    >>> flat_ngrams(["a", "", "ab"], buckets=1000)[1].tolist()
    [0, 6, 6, 17]
    """
    rows: list[tuple[int, ...]] = []
    for word in words:
        if not word:
            rows.append(())
        elif len(word) <= CACHED_LETTERS:
            rows.append(cached_ngram_buckets(word, buckets))
        else:  # long words would fill the memory
            rows.append(ngram_buckets(word, buckets))
    return flatten_rows(rows)


def letter_hashes(words: Sequence[str]) -> Integers:
    """Returns a polynomial hash of the letters of each word, and HASH_BASE to the power of their number: (2, n).

    So the hash of two words joined follows from theirs. The hash is 0 where there are no letters.

    >>> hashes, powers = letter_hashes(["to", "day", "Today"])
    >>> (hashes[:1] * powers[1:2] + hashes[1:2] == hashes[2:]).tolist()
    [True]
    """
    rows = [compared_letters(word) for word in words]
    lengths, value = np.array([*map(len, rows)], dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    letters = np.array(rows, dtype=f"U{MAX_LETTERS}").view(np.uint32).reshape(len(rows), MAX_LETTERS)
    for column in range(lengths.max(initial=0)):
        longer = np.flatnonzero(lengths > column)
        value[longer] = value[longer] * HASH_BASE + letters[longer, column]  # products of 64 bits wrap around
    powers = np.cumprod([1, *[HASH_BASE] * MAX_LETTERS])
    return np.stack([value, powers[lengths]])


class Spellings(NamedTuple):
    """The spelling of n words, as arrays."""

    ngrams: Integers  # (P,) the buckets of their n-grams, word after word
    ngram_starts: Integers  # (n + 1,) where those of each word begin
    shapes: Integers  # (n,) see ``word_shape``
    letter_hashes: Integers  # (2, n) see ``letter_hashes``

    @classmethod
    def of_words(cls, words: Sequence[str], buckets: int) -> Spellings:
        shapes = np.array([word_shape(word) for word in words], dtype=np.int64)
        return cls(*flat_ngrams(words, buckets), shapes, letter_hashes(words))


# ---- candidates ------------------------------------------------------------------------------------------------------


class GuessWeights:
    """The weights of the features that make one word likely in place of another, before training, in nats."""

    ngram_overlap = 5.0
    edit_distance = (14.0, 14.0, 7.0, 2.0)  # by the distance; MAX_DISTANCE: 0
    listed = 24.0  # in place of ``edit_distance``, for a correction that a lexicon lists
    frequency = 0.7  # times the logarithm of the number of occurrences
    same_letters = 10.0  # added if the words differ in case alone: only a far more frequent word can then win


class Candidates(NamedTuple):
    """The K words of the dictionary that are most similar to each of n words, most similar first."""

    ids: Integers  # (n, K)
    ngram_overlap: Floats  # (n, K) n-grams in common, divided by the geometric mean of the numbers of both words
    edit_distance: Integers  # (n, K) optimal string alignment, at most MAX_DISTANCE; or LISTED


def words_and_counts(dictionary: TokenDictionary) -> tuple[list[str], list[int]]:
    """Returns the words of a dictionary and how often they occur; a special symbol is an empty, most familiar word."""
    specials = dictionary.nspecial
    counts = [*[LEVELS[-1]] * specials, *dictionary.count[specials:]]
    return [*[""] * specials, *dictionary.symbols[specials:]], counts


def lexical_count(word: str, lexicon: Lexicon | None) -> int:
    """Returns how often the training text counts as having a word that the dictionary lacks.

    >>> lexical_count("▁Backends", Lexicon.of_lines(["backends"])), lexical_count("▁Backends", None)
    (1, 0)
    """
    return LEXICAL_COUNT if lexicon is not None and lexicon.knows(lower_case(word)) else 0


class WordIndex:
    """Finds the words of a dictionary that are most similar to any word, by an inverted index of their n-grams.

    The similarity is the cosine of the two sets of n-grams, plus ``FREQUENCY_WEIGHT`` times the logarithm of the
    frequency. The case of letters does not matter.

    >>> index = WordIndex(["", "the", "tea", "form", "from"], [0, 50, 3, 9, 9], buckets=1000)
    >>> candidates = index.nearest(["teh", "frm"])
    >>> [[index.words[i] for i in row[:2]] for row in candidates.ids], candidates.edit_distance[:, :2].tolist()
    ([['tea', 'the'], ['form', 'from']], [[1, 1], [1, 1]])
    >>> [index.words[i] for i in index.guesses(candidates)[0]]
    ['the', 'form']
    """

    def __init__(
        self,
        words: Iterable[str],
        counts: Sequence[int],
        buckets: int,
        pieces: WordPieces | None = None,
        cache_size: int = CACHED_CANDIDATES,
        lexicon: Lexicon | None = None,
    ) -> None:
        """
        Args:
            words: the dictionary; special symbols come first, as empty words
            counts: how often each word occurs in the training text
            buckets: the number of hash buckets for n-grams
            pieces: how a pre-trained model reads words, with ``levt --backbone``
            cache_size: the number of words whose candidates are remembered
            lexicon: words and misspellings that everybody knows
        """
        self.words, self.counts, self.buckets = list(words), np.asarray(counts, dtype=np.int64), buckets
        self.pieces, self.cache_size, self.lexicon = pieces, cache_size, lexicon
        self.all_counts = np.append(self.counts, LEVELS[-1])  # (V + 1,), with the placeholder, which is familiar
        self.specials = next((i for i, word in enumerate(self.words) if word), len(self.words))
        self.log_counts = np.log(self.counts + 1.0).astype(np.float32)
        self.cache: dict[str, NDArray[np.void]] = {}

    @classmethod
    def of_dictionary(
        cls,
        dictionary: TokenDictionary,
        buckets: int,
        pieces: WordPieces | None = None,
        lexicon: Lexicon | None = None,
    ) -> WordIndex:
        return cls(*words_and_counts(dictionary), buckets, pieces, lexicon=lexicon)

    def __deepcopy__(self, memo: object) -> WordIndex:
        """Copies of a model share the index: what it caches does not change its answers."""
        return self

    @cached_property
    def spellings(self) -> Spellings:
        """The spellings of the dictionary's words and, last, of the placeholder, which has none."""
        return Spellings.of_words([*self.words, ""], self.buckets)

    @cached_property
    def hash_counts(self) -> tuple[Integers, Integers]:
        """The letter hashes of all words, ascending, and how often words with these letters occur, in any case.

        >>> WordIndex(["", "to", "do", "To"], [64, 1, 2, 4], buckets=1000).hash_counts[1].tolist()
        [2, 5]
        """
        hashes, _ = self.spellings.letter_hashes
        values, places = np.unique(hashes[hashes != 0], return_inverse=True)
        return values, np.bincount(places, weights=self.all_counts[hashes != 0]).astype(np.int64)

    @cached_property
    def inverted_lists(self) -> tuple[NDArray[np.int32], Integers]:
        """The words (P,) that have an n-gram in each bucket, bucket after bucket, and where each bucket begins."""
        ngrams, starts, *_ = self.spellings
        owners = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        words = owners[np.argsort(ngrams, kind="stable")]
        return words, np.concatenate([[0], np.bincount(ngrams, minlength=self.buckets).cumsum()])

    def owners(self, ngrams: Sequence[int]) -> list[NDArray[np.int32]]:
        """Returns, for each of these buckets, the words that have an n-gram in it, ascending."""
        words, begins = self.inverted_lists
        return [words[begins[ngram] : begins[ngram + 1]] for ngram in ngrams]

    @cached_property
    def ngram_numbers(self) -> Integers:
        """(V,) the number of each word's n-grams."""
        return np.diff(self.spellings.ngram_starts)[: len(self.words)]

    @cached_property
    def inverse_norms(self) -> Floats:
        """(V,) 1 divided by the square root of the number of each word's n-grams: the word's factor of the cosine."""
        return np.reciprocal(np.sqrt(self.ngram_numbers.clip(min=1).astype(np.float32)))

    def nearest(self, words: Sequence[str]) -> Candidates:
        """Returns the candidates of any words; words that differ in case alone are looked up once."""
        keys = [lower_case(word) for word in words]
        cache = self.cache  # read once, since another thread may replace it below
        rows = {key: cache[key] for key in keys if key in cache}
        missing = [key for key in dict.fromkeys(keys) if key not in rows]
        if missing:
            rows |= zip(missing, self.search(missing), strict=True)
            if len(cache) + len(missing) > self.cache_size:
                self.cache = {}
            self.cache.update((key, rows[key].copy()) for key in missing[: self.cache_size])
        return self.candidates([rows[key] for key in keys])

    def nearest_to(self, rows: Iterable[int], unknown: Sequence[str]) -> Candidates:
        """Returns the candidates of ids, of which those past the placeholder (V) are ``unknown`` words of a batch."""
        size = len(self.words)
        return self.nearest([self.words[row] if row < size else unknown[row - size - 1] for row in rows])

    def candidates(self, rows: Sequence[NDArray[np.void]] | NDArray[np.void]) -> Candidates:
        """Returns the columns of rows (K,) of CANDIDATE."""
        table = np.stack(list(rows)) if len(rows) else np.empty((0, min(MAX_CANDIDATES, len(self.words))), CANDIDATE)
        ids, overlap, distance = (np.ascontiguousarray(table[name]) for name in CANDIDATE.names or ())
        return Candidates(ids.astype(np.int64), overlap, distance.astype(np.int64))

    def counts_of_unknown(self, words: Sequence[str]) -> Integers:
        """Returns how often the training text counts as having words that the dictionary lacks: (n,)."""
        return np.array([lexical_count(word, self.lexicon) for word in words], dtype=np.int64)

    def guesses(self, candidates: Candidates) -> Integers:
        """Returns the likeliest candidate of each word, and its edit distance: (2, n)."""
        weights = GuessWeights()
        of_distance = np.array([*weights.edit_distance, 0.0, weights.listed], dtype=np.float32)
        of_distance[0] += weights.same_letters
        scores = of_distance[candidates.edit_distance] + np.float32(weights.ngram_overlap) * candidates.ngram_overlap
        scores += np.float32(weights.frequency) * self.log_counts[candidates.ids]
        best = scores.argmax(1)[:, None]
        columns = (candidates.ids, candidates.edit_distance)
        return np.stack([np.take_along_axis(column, best, 1)[:, 0] for column in columns])

    def held_out_guesses(self) -> Integers:
        """Returns the guess for each word that occurs once, as if it never did; 0 for all others: (2, V)."""
        once, guesses = np.flatnonzero(self.counts == 1), np.zeros((2, len(self.words)), dtype=np.int64)
        if len(once):
            guesses[:, once] = self.guesses(self.candidates(self.search([self.words[i] for i in once], once)))
        return guesses

    def search(self, words: Sequence[str], excluded: Integers | None = None) -> NDArray[np.void]:
        """Returns (n, K) candidates; ``excluded`` (n,): a word of the dictionary that must not be one, for each."""
        table = self.similar(words, excluded)
        if self.lexicon is not None:
            for row, word in enumerate(words):
                if corrections := self.lexicon.corrections(lower_case(word)):
                    table[row] = with_listed(table[row], self.places_of(corrections))
        return table

    def places_of(self, words: Sequence[str]) -> list[int]:
        """Returns the places in the dictionary of words in small letters, and of the same with capitals."""
        places = dict.fromkeys(self.similar(words)["ids"].flatten().tolist())
        return [place for place in places if lower_case(self.words[place]) in words]

    def similar(self, words: Sequence[str], excluded: Integers | None = None) -> NDArray[np.void]:
        """Returns (n, K) candidates by their letters alone."""
        table = np.empty((len(words), min(MAX_CANDIDATES, len(self.words))), CANDIDATE)
        self.most_similar(words, excluded, table)
        letters = [compared_letters(word) for word in words]
        queries = [word for word in letters for _ in range(table.shape[1])]
        candidates = [compared_letters(self.words[i]) for i in table["ids"].flat]
        if queries:
            distances = cpdist(queries, candidates, scorer=OSA.distance, score_cutoff=MAX_DISTANCE - 1, dtype=np.uint8)
            # the distance to a number or a sign, which has no letters, means nothing
            have_letters = np.array([all(pair) for pair in zip(queries, candidates, strict=True)])
            comparable = (table["ngram_overlap"] > 0) & have_letters.reshape(table.shape)
            distances = distances.reshape(table.shape).clip(max=MAX_DISTANCE)
            table["edit_distance"] = np.where(comparable, distances, MAX_DISTANCE)
        return table

    def most_similar(self, words: Sequence[str], excluded: Integers | None, table: NDArray[np.void]) -> None:
        """Write the most similar words of the dictionary, and their n-gram overlaps, to a ``table`` (n, K)."""
        ngrams, starts = flat_ngrams(words, self.buckets)
        frequency = np.float32(FREQUENCY_WEIGHT) * self.log_counts
        for i in range(len(words)):
            in_word = ngrams[starts[i] : starts[i + 1]].tolist()
            owners = np.concatenate([np.empty(0, np.int32), *self.owners(in_word)])
            overlap = np.bincount(owners, minlength=len(self.words)).astype(np.float32)  # n-grams in common
            overlap *= self.inverse_norms
            overlap *= np.float32(1 / np.sqrt(np.float32(max(len(in_word), 1))))
            score = frequency * (overlap > 0)
            score += overlap
            if excluded is not None:
                overlap[excluded[i]] = score[excluded[i]] = -1
            nearest = best_places(score, table.shape[1])
            table["ids"][i], table["ngram_overlap"][i] = nearest, overlap[nearest]


def with_listed(row: NDArray[np.void], places: Sequence[int]) -> NDArray[np.void]:
    """Returns a row (K,) of CANDIDATE that begins with the words in these places, as listed corrections.

    >>> row = np.array([(5, 0.5, 2), (6, 0.25, 3)], CANDIDATE)
    >>> with_listed(row, [6]).tolist(), with_listed(row, [7]).tolist()
    ([(6, 1.0, 5), (5, 0.5, 2)], [(7, 1.0, 5), (5, 0.5, 2)])
    """
    listed = np.array([(place, 1.0, LISTED) for place in places], CANDIDATE)
    return np.concatenate([listed, row[~np.isin(row["ids"], listed["ids"])]])[: len(row)]


def best_places(scores: Floats, number: int) -> Integers:
    """Returns the places of the best scores, best first; of equal ones, the earlier comes first.

    >>> best_places(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    blocks = len(scores) // BLOCK
    if blocks > number:  # the ``number`` best maxima of blocks bound the ``number`` best scores from below
        maxima = scores[: blocks * BLOCK].reshape(blocks, BLOCK).max(1)
        places = np.flatnonzero(scores >= np.partition(maxima, blocks - number)[blocks - number])
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")[:number]]
