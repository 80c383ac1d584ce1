"""Candidates of misspelt words: against slow references, however many words are looked up at a time."""

import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from lev_plugins.edits.candidates import (
    FREQUENCY_WEIGHT,
    MAX_CANDIDATES,
    MAX_DISTANCE,
    WordIndex,
    letter_ngrams,
    ngram_buckets,
    words_and_counts,
)
from tests.helpers import thorough
from tests.spelling import BUCKETS, UNKNOWN, WORDS, batch_words, dictionary, index_of


@thorough
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_every_word_has_parts_and_each_once(word: str) -> None:
    assert len(letter_ngrams(word)) == len(set(letter_ngrams(word))) >= 2
    assert all(0 <= bucket < BUCKETS for bucket in ngram_buckets(word, BUCKETS))


def random_words(count: int) -> list[str]:
    draw = random.Random(1)
    return ["".join(draw.choices("abcdef", k=draw.randint(1, 9))) for _ in range(count)]


def test_many_words_are_looked_up_as_each_alone() -> None:
    words, excluded = random_words(70), np.arange(70) % 8 + 4
    together = index_of().search(words, excluded)
    assert not ((together["ids"] == excluded[:, None]) & (together["ngram_overlap"] >= 0)).any()
    alone = [index_of().search([word], excluded[i : i + 1])[0] for i, word in enumerate(words)]
    assert np.array_equal(together, np.stack(alone))


def test_candidates_are_the_best_of_a_large_dictionary() -> None:
    """Against a dictionary that is compared word by word."""
    words = random_words(4000)
    counts = [1 + i % 1000 for i in range(len(words))]
    index, ngrams = WordIndex(words, counts, 1 << 20), [set(letter_ngrams(word)) for word in words]
    typos = ["abcd", "fade", "cabbage", "zzz"]
    for typo, ids in zip(typos, index.nearest(typos).ids.tolist(), strict=True):
        own = set(letter_ngrams(typo))
        shares = [len(own & theirs) / (len(own) * len(theirs)) ** 0.5 for theirs in ngrams]
        scores = [
            share + FREQUENCY_WEIGHT * np.log(n + 1) * (share > 0) for share, n in zip(shares, counts, strict=True)
        ]
        expected = sorted(scores, reverse=True)[:MAX_CANDIDATES]
        assert [scores[i] for i in ids] == pytest.approx(expected, abs=1e-6)


def test_a_batch_of_new_misspellings_takes_little_time() -> None:
    """375 of them among 45,000 words take 0.15 s of one core at 3 GHz; the bound allows for a slow one."""
    draw = random.Random(1)
    words = ["".join(draw.choices("etaoinshrdlucmfwypvbgkqjxz", range(26, 0, -1), k=draw.randint(3, 12)))
             for _ in range(45_000)]  # fmt: skip
    index = WordIndex(words, [1] * len(words), 1 << 15)
    index.nearest(["warm"])
    typos = [word[:1] + word[2:] for word in words[:375]]
    start = time.process_time()
    index.nearest(typos)
    assert time.process_time() - start < 1.5


def test_words_that_were_compared_before_are_as_if_they_had_not_been() -> None:
    """Few of them are remembered."""
    index, other = WordIndex(*words_and_counts(dictionary()), BUCKETS, cache_size=4), index_of()
    index.nearest(["▁vlaue", "Teh"])
    words = [*UNKNOWN, "▁TEH"]  # and more than one word with the same letters
    for again in (index.nearest(words), index.nearest(words)):
        for found, expected in zip(again, other.nearest(words), strict=True):
            assert np.array_equal(found, expected)
    for word in "abcdef":
        index.nearest([word])
        assert len(index.cache) <= 4


@thorough
@given(st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=5), st.text("abc", min_size=1, max_size=5))
def test_slips_are_counted_up_to_a_limit(words: list[str], typo: str) -> None:
    found = WordIndex(words, [1] * len(words), 1 << 20).nearest([typo])
    for near, alike, number in zip(*(column[0].tolist() for column in found), strict=True):
        assert number == (min(OSA.distance(typo, words[near]), MAX_DISTANCE) if alike else MAX_DISTANCE)


def test_the_guess_for_an_unknown_word_is_the_one_most_like_it() -> None:
    word, slips = batch_words()["guesses"].tolist()
    assert [dictionary()[i] for i in word] == ["▁value", "▁the", "▁function"] and slips == [1, 1, 1]


def test_the_guess_for_a_word_that_is_held_out_is_another() -> None:
    word, slips = index_of().held_out_guesses()
    form = 4 + WORDS.index("▁form")
    assert dictionary()[int(word[form])] == "▁from" and slips[form] == 1
    assert np.delete(word, form).sum() == 0  # all others were seen more often
