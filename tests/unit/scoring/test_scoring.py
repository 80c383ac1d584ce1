"""Scores against plain counts of the same; intervals and tests of significance on texts whose answer is known."""

import difflib
from functools import cache
from typing import Any

import editdistance
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.shared import recognised_words
from lev_plugins.errors import UserError
from lev_plugins.scoring import errors, exact_match, harm, resampling, ter
from lev_plugins.scoring.evaluation import Additive, additive, ratio
from lev_plugins.scoring.wrr import evaluate, recognition
from tests.helpers import thorough


def system(seed: int, right: float, sentences: int = 200) -> Additive:
    """Right in about that share of the sentences."""
    generator = np.random.default_rng(seed)
    rows = np.stack([generator.random(sentences) < right, np.ones(sentences)], axis=1)
    return additive("share", rows, ratio)


def test_resamples_are_drawn_with_replacement_and_by_the_seed() -> None:
    one = system(1, 0.5, sentences=7)
    scores = resampling.resample([one], 300, seed=3)[0]
    assert set(np.round(scores * 7)) <= set(range(8)) and len(set(scores)) > 3
    assert scores.tolist() == resampling.resample([one], 300, seed=3)[0].tolist()
    assert scores.tolist() != resampling.resample([one], 300, seed=4)[0].tolist()


@pytest.mark.parametrize(("numbers", "batches"), [(20, [2] * 25), (21, [3] * 16 + [2]), (6, [1] * 50)])
def test_how_many_are_drawn_at_a_time_changes_nothing(
    numbers: int, batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 7 sentences: ``numbers`` at a time, but at least one resample."""
    one = system(1, 0.5, sentences=7)
    scores = resampling.resample([one], 50, seed=3)[0]
    monkeypatch.setattr(resampling, "COUNTS_AT_ONCE", numbers)
    assert scores.tolist() == resampling.resample([one], 50, seed=3)[0].tolist()
    drawn = list(resampling.draw_counts(7, 50, np.random.default_rng(3)))
    assert list(map(len, drawn)) == batches and all((rows.sum(1) == 7).all() for rows in drawn)


def test_the_interval_is_that_of_a_binomial() -> None:
    one = system(2, 0.3)
    low, high = resampling.interval(resampling.resample([one], 2000, seed=1)[0])
    deviation = (one.score * (1 - one.score) / 200) ** 0.5
    assert low == pytest.approx(one.score - 1.96 * deviation, abs=0.01)
    assert high == pytest.approx(one.score + 1.96 * deviation, abs=0.01)


def test_a_clear_difference_is_not_chance_and_a_system_is_no_better_than_itself() -> None:
    good, bad = system(3, 0.7), system(4, 0.4)
    found = resampling.compare(good, bad, resampling.resample([good, bad], 999, seed=1))
    assert found.difference == pytest.approx(good.score - bad.score)
    assert found.bootstrap_p == 1 / 1000 and found.welch_p is not None and found.welch_p < 0.001
    assert 0 < found.low < found.difference < found.high
    same = resampling.compare(good, good, resampling.resample([good, good], 99, seed=1))
    assert (same.difference, same.low, same.high, same.bootstrap_p, same.welch_p) == (0, 0, 0, 1.0, 1.0)


def test_p_is_the_share_of_resamples_that_stray_as_far() -> None:
    one, other = system(5, 0.5, sentences=30), system(6, 0.55, sentences=30)
    drawn = resampling.resample([one, other], 500, seed=2)
    differences = [a - b for a, b in zip(*drawn.tolist(), strict=True)]
    mean = sum(differences) / len(differences)
    far = sum(abs(difference - mean) >= abs(one.score - other.score) for difference in differences)
    found = resampling.compare(one, other, drawn)
    assert found.bootstrap_p == (far + 1) / 501
    assert 0.02 < found.bootstrap_p < 1


def test_chance_is_called_significant_as_often_as_promised() -> None:
    """Pairs of systems that are equally good: 5 % of the tests say p < 0.05."""
    found = []
    for seed in range(200):
        one, other = system(2 * seed, 0.5, sentences=60), system(2 * seed + 1, 0.5, sentences=60)
        found.append(resampling.compare(one, other, resampling.resample([one, other], 200, seed)))
    for values in ([c.bootstrap_p for c in found], [c.welch_p or 1 for c in found]):
        assert 0.01 < np.mean(np.array(values) < 0.05) < 0.12


def test_of_scores_that_are_all_alike_there_is_no_t_test() -> None:
    right, wrong = exact_match.evaluate(["a"] * 5, ["a"] * 5), exact_match.evaluate(["a"] * 5, ["b"] * 5)
    found = resampling.compare(right, right, resampling.resample([right, right], 10, seed=1))
    assert (found.welch_t, found.welch_p) == (None, None)
    found = resampling.compare(right, wrong, resampling.resample([right, wrong], 10, seed=1))
    assert (found.welch_t, found.welch_p) == (None, None)
    assert found.difference == 1.0 and found.bootstrap_p == 1 / 11


def test_lower_is_better_for_some() -> None:
    references = ["a b c d", "e f g h", "i j k"]
    good, bad = ter.evaluate(references, references), ter.evaluate(references, ["a b x d", "e f", "y j k"])
    found = resampling.compare(good, bad, resampling.resample([good, bad], 50, seed=1))
    assert found.difference == bad.score > 0
    assert found.welch_t is not None and found.welch_t > 0


def test_bad_arguments() -> None:
    with pytest.raises(UserError, match="the number of resamples must be at least 2, but is 1"):
        resampling.resample([system(1, 0.5)], 1, seed=1)
    with pytest.raises(UserError, match="the seed must be at least 0, but is -1"):
        resampling.resample([system(1, 0.5)], 2, seed=-1)
    assert resampling.resample([system(1, 0.5, sentences=2)], 2, seed=0).shape == (1, 2)


# ---- words that were recognised, against every alignment there is ----------------------------------------------------


words = st.lists(st.sampled_from("abc"), max_size=6)


def by_brute_force(reference: tuple[str, ...], text: tuple[str, ...]) -> tuple[int, int]:
    """Least edits, and the most words recognised at that price."""

    @cache
    def best(i: int, j: int) -> tuple[int, int]:
        if i == len(reference) or j == len(text):
            return len(reference) - i + len(text) - j, 0
        same = reference[i] == text[j]
        ways = []
        for (edits, found), price, won in (
            (best(i + 1, j + 1), not same, same),
            (best(i + 1, j), 1, 0),
            (best(i, j + 1), 1, 0),
        ):
            ways.append((edits + price, found + won))
        return min(ways, key=lambda way: (way[0], -way[1]))

    return best(0, 0)


@thorough
@given(words, words)
def test_cheapest_alignment_that_recognises_most(reference: list[str], text: list[str]) -> None:
    edits, most = by_brute_force(tuple(reference), tuple(text))
    assert edits == editdistance.eval(reference, text)
    assert sum(recognised_words(reference, text)) == most
    assert recognition(" ".join(reference), " ".join(text)) == (most, len(reference))


def test_rate_weighs_sentences_by_their_words() -> None:
    assert evaluate(["a", "b c d"], ["x", "b c d"]).score == 0.75
    assert evaluate(["a b"], ["a  b and more"]).score == 1.0  # white space and words too many cost nothing
    assert evaluate(["", "a"], ["b", "a"]).score == 1.0


# ---- ``score harm`` against a plain count of the same thing ----------------------------------------------------------


odd_words = st.lists(st.sampled_from(["a", "b", "C", "d.", "e1"]), max_size=8).map(" ".join)
lines = st.lists(st.tuples(odd_words, odd_words, odd_words), min_size=1, max_size=4)


def hits(clean: list[str], output: list[str]) -> set[int]:
    found: set[int] = set()
    for op, start, end, _, _ in difflib.SequenceMatcher(None, clean, output, autojunk=False).get_opcodes():
        if op == "equal":
            found.update(range(start, end))
    return found


@thorough
@given(lines)
def test_words_are_counted_one_by_one(rows: list[Any]) -> None:
    sources, cleans, outputs = map(list, zip(*rows, strict=True))
    right = wrong = broken = repaired = missing = 0
    for source, clean, output in ([text.split() for text in row] for row in rows):
        before, after = hits(clean, source), hits(clean, output)
        missing += len(clean) - len(after)
        for place in range(len(clean)):
            if place in before:
                right, broken = right + 1, broken + (place not in after)
            else:
                wrong, repaired = wrong + 1, repaired + (place in after)
    total = right + wrong
    plain = harm.evaluate(None, cleans, outputs)
    assert plain.score == pytest.approx(1000 * missing / total if total else 0)
    against = harm.evaluate(sources, cleans, outputs)
    assert against.score == pytest.approx(1000 * broken / right if right else 0)
    assert against.details["% of typos repaired"] == pytest.approx(100 * repaired / wrong if wrong else 100)
    assert against.details["% of words right"] == pytest.approx(
        100 * (right - broken + repaired) / total if total else 0
    )


def test_each_kind_of_word_has_its_share() -> None:
    clean = "Paris is in France , where NASA has 20 e-mail lists"
    score = harm.evaluate(None, [clean], [clean.replace("France", "france").replace("has 20", "had 21")])
    shares = {name: share for name, share in score.details.items() if share}
    assert shares.pop("% of lines changed") == 100
    assert shares == {"capitalised inside a line": 1000, "lower-case": 200, "with digits": 1000}
    assert not harm.evaluate(None, ["a b"], ["a  b "]).details["% of lines changed"]  # blanks are not words


# ---- ``score errors`` ------------------------------------------------------------------------------------------------

ONE, SEVERAL, FIRST, LATER, REAL, NONWORD = "one letter", "several letters", *errors.LETTERS[2:]


@pytest.mark.parametrize(
    ("text", "reference", "found"),
    [
        ("the cat", "the cat", []),
        ("", "", []),
        ("teh cat", "the cat", [(0, 1, SEVERAL, LATER, NONWORD)]),  # two letters are others
        ("the bat", "the cat", [(1, 2, ONE, FIRST, REAL)]),  # the lexicon has it
        ("the Bat!", "the cat", [(1, 2, SEVERAL, FIRST, REAL)]),
        ("th cat", "the cat", [(0, 1, ONE, LATER, NONWORD)]),
        ("the", "the cat", [(1, 2, "other words")]),
        ("the big cat", "the cat", [(1, 1, "other words")]),
        ("", "the", [(0, 1, "other words")]),
        ("xy house", "hous qq", [(0, 0, "other words"), (0, 1, ONE, LATER, NONWORD), (1, 2, "other words")]),
        ("thecat sat", "the cat sat", [(0, 2, "run-on")]),
        ("th ecat sat", "the cat sat", [(0, 1, ONE, LATER, NONWORD), (1, 2, ONE, FIRST, NONWORD)]),
        ("the c at", "the cat", [(1, 2, "split")]),
        ("the ca ts i t", "the cats it", [(1, 2, "split"), (2, 3, "split")]),
        ("thecatsat", "the cat sat", [(0, 3, "run-on")]),
        ("abcde fghi", "abcdefghXi", [(0, 1, "split")]),  # 1 of 10 letters differs
        ("abcd e", "abcdX", [(0, 1, "split")]),  # 1 of 5, the most
        ("abc d", "abcX", [(0, 1, ONE, LATER, NONWORD), (1, 1, "other words")]),  # 1 of 4
    ],
)
def test_errors_by_class(text: str, reference: str, found: list[tuple[Any, ...]]) -> None:
    assert [(*error[:2], *error.classes) for error in errors.errors_in(text, reference, {"bat", "the"})] == found


def test_words_pair_at_the_least_cost() -> None:
    """Against every way to pair them."""

    def ways(given: list[str], right: list[str]) -> list[float]:
        if not (given or right):
            return [0.0]
        spans = [(m, n) for m, n in errors.SPANS if m <= len(given) and n <= len(right)]
        return [errors.pair_cost(given[:m], right[:n]) + rest for m, n in spans for rest in ways(given[m:], right[n:])]

    draw = np.random.default_rng(1)
    for _ in range(50):
        given, right = (["".join(draw.choice([*"ab"], n)) for n in draw.integers(1, 4, draw.integers(4))] for _ in "12")
        pairs = errors.pair_words(given, right)
        assert given == [word for words, _ in pairs for word in words]
        assert right == [word for _, words in pairs for word in words]
        assert sum(errors.pair_cost(*pair) for pair in pairs) == pytest.approx(min(ways(given, right)))


def test_errors_repaired_and_introduced() -> None:
    """Those of the same words are the same, and an extra word is between two of them."""
    sources, references = ["teh cat", "the big cat", "a b"], ["the cat", "the cat", "a b"]
    score = errors.evaluate(sources, references, ["the bat", "the odd cat", "a c b"])
    counts = {
        name: [score.details[f"{name}: {column}"] for column in errors.COLUMNS] for name in ("all", *errors.CLASSES)
    }
    assert score.sentences.tolist() == [1, 0, 1] and score.score == 1 / 2
    assert counts["all"] == [2, 1, 2] and counts["other words"] == [1, 0, 1] and counts[SEVERAL] == [1, 1, 0]
    assert counts[ONE] == [0, 0, 1] and counts["real word"] == [0, 0, 0]
    nearest = errors.evaluate(["teh cat"], [["the dog", "the cat"]], ["the cat"])  # the reference with fewest errors
    assert (nearest.score, nearest.details["all: in the source"]) == (1.0, 1)
