"""Candidates of misspelled words against slow references."""

import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from lev_plugins.edits.candidates import (
    FREQUENCY_WEIGHT,
    LISTED,
    MAX_CANDIDATES,
    MAX_DISTANCE,
    WordIndex,
    letter_ngrams,
    ngram_buckets,
    words_and_counts,
)
from lev_plugins.text.lexicon import Lexicon
from tests.helpers import thorough
from tests.spelling import BUCKETS, KNOWN, UNKNOWN, batch_words, dictionary, index_of


@thorough
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_every_word_has_two_or_more_distinct_ngrams(word: str) -> None:
    assert len(letter_ngrams(word)) == len(set(letter_ngrams(word))) >= 2
    assert all(0 <= bucket < BUCKETS for bucket in ngram_buckets(word, BUCKETS))


def random_words(count: int) -> list[str]:
    draw = random.Random(1)
    return ["".join(draw.choices("abcdef", k=draw.randint(1, 9))) for _ in range(count)]


def test_candidates_do_not_depend_on_other_words_of_the_search() -> None:
    words, excluded = random_words(70), np.arange(70) % 8 + 4
    together = index_of().search(words, excluded)
    assert not ((together["ids"] == excluded[:, None]) & (together["ngram_overlap"] >= 0)).any()
    alone = [index_of().search([word], excluded[i : i + 1])[0] for i, word in enumerate(words)]
    assert np.array_equal(together, np.stack(alone))


def test_candidates_match_a_comparison_with_every_word() -> None:
    words = random_words(4000)
    counts = [1 + i % 1000 for i in range(len(words))]
    index, ngrams = WordIndex(words, counts, 1 << 20), [set(letter_ngrams(word)) for word in words]
    typos = ["abcd", "fade", "cabbage", "zzz"]
    for typo, ids in zip(typos, index.nearest(typos).ids.tolist(), strict=True):
        typo_ngrams = set(letter_ngrams(typo))
        shares = [len(typo_ngrams & word) / (len(typo_ngrams) * len(word)) ** 0.5 for word in ngrams]
        scores = [
            share + FREQUENCY_WEIGHT * np.log(n + 1) * (share > 0) for share, n in zip(shares, counts, strict=True)
        ]
        expected = sorted(scores, reverse=True)[:MAX_CANDIDATES]
        assert [scores[i] for i in ids] == pytest.approx(expected, abs=1e-6)


def test_searching_375_typos_takes_less_time_than_comparing_40_in_plain_python() -> None:
    draw = random.Random(1)
    words = ["".join(draw.choices("etaoinshrdlucmfwypvbgkqjxz", range(26, 0, -1), k=draw.randint(3, 12)))
             for _ in range(45_000)]  # fmt: skip
    index, ngrams = WordIndex(words, [1] * len(words), 1 << 15), [set(letter_ngrams(word)) for word in words]
    index.nearest(["warm"])
    typos = [word[:1] + word[2:] for word in words[:375]]
    start = time.process_time()
    index.nearest(typos)
    middle = time.process_time()
    for typo in typos[:4]:
        typo_ngrams = set(letter_ngrams(typo))
        assert len([len(typo_ngrams & word_ngrams) for word_ngrams in ngrams]) == len(words)
    assert middle - start < 10 * (time.process_time() - middle)


def test_the_cache_of_candidates_is_bounded_and_changes_no_result() -> None:
    index, large_cache = WordIndex(*words_and_counts(dictionary()), BUCKETS, cache_size=4), index_of()
    index.nearest(["▁vlaue", "Teh"])
    words = [*UNKNOWN, "▁TEH"]  # and more than one word with the same letters
    for columns in (index.nearest(words), index.nearest(words)):
        for column, expected in zip(columns, large_cache.nearest(words), strict=True):
            assert np.array_equal(column, expected)
    for word in "abcdef":
        index.nearest([word])
        assert len(index.cache) <= 4


@thorough
@given(st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=5), st.text("abc", min_size=1, max_size=5))
def test_edit_distances_are_those_of_osa_up_to_the_maximum(words: list[str], typo: str) -> None:
    candidates = WordIndex(words, [1] * len(words), 1 << 20).nearest([typo])
    for word, overlap, distance in zip(*(column[0].tolist() for column in candidates), strict=True):
        assert distance == (min(OSA.distance(typo, words[word]), MAX_DISTANCE) if overlap else MAX_DISTANCE)


def test_the_guess_for_an_unknown_word_is_the_most_similar_word() -> None:
    word, distances = batch_words()["guesses"].tolist()
    assert [dictionary()[i] for i in word] == ["▁value", "▁the", "▁function"] and distances == [1, 1, 1]


def test_the_guess_for_a_held_out_word_is_another_word() -> None:
    word, distances = index_of().held_out_guesses()
    form = 4 + KNOWN.index("▁form")
    assert dictionary()[int(word[form])] == "▁from" and distances[form] == 1
    assert np.delete(word, form).sum() == 0  # all others are frequent


def test_corrections_of_the_lexicon_come_first() -> None:
    words = ["", *(f"▁{word}" for word in ("homogeneous", "Homogeneous", "homogenised", "theme")), "homogeneous"]
    lexicon = Lexicon.of_lines(["homogenous,homogeneous", "cyclic,cyclix", "cyclix,cyclic", "etcd"])
    index = WordIndex(words, [64, *[5] * 5], BUCKETS, lexicon=lexicon)
    candidates = index.nearest(["▁Homogenous", "▁homogenised", "cyclic", "▁Etcd"])
    assert {index.words[i] for i in candidates.ids[0, :3]} == {"▁homogeneous", "▁Homogeneous", "homogeneous"}
    assert candidates.edit_distance[0].tolist()[:4] == [LISTED] * 3 + [MAX_DISTANCE]
    assert candidates.ngram_overlap[0, 0] == 1
    assert (candidates.edit_distance[1:] < LISTED).all()
    guess, distance = index.guesses(candidates)[:, 0]
    assert index.words[guess].endswith("homogeneous") and distance == LISTED
    assert index.counts_of_unknown(["▁Homogenous", "▁Etcd", "Etc"]).tolist() == [0, 1, 0]
    assert WordIndex(words=[""], counts=[64], buckets=BUCKETS).counts_of_unknown(["▁Etcd"]).tolist() == [0]
