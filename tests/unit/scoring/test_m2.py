"""MaxMatch against all paths, by hand, and on the official scorer's example; edits of ERRANT."""

import re
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.scoring import m2
from lev_plugins.scoring.m2 import Counts, Gold, GoldEdit, Node
from lev_plugins.utils.errors import UserError
from tests.helpers import licensed_data, thorough

# what the official scorer comes with, which has another licence than this package
OFFICIAL = licensed_data("M2_SCORER_EXAMPLE", "gec-m2-example")

BY_HAND = """\
S He go to school yesterday .
A 1 2|||Vform|||went|||REQUIRED|||-NONE-|||0
A 1 2|||Vform|||had gone|||REQUIRED|||-NONE-|||1

S She have a apples
A 1 2|||SVA|||has|||REQUIRED|||-NONE-|||0
A 2 3|||ArtOrDet|||-NONE-|||REQUIRED|||-NONE-|||0

S It is fine .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
"""


def test_scores_by_hand() -> None:
    gold = m2.parse(BY_HAND)
    evaluation = m2.evaluate(gold, ["He went to school yesterday .", "She has a apple", "It was fine ."])
    # went: 1 right of 1 proposed and 1 wanted; has, apple: 1 of 2 and 2; was: 0 of 1 and 0
    assert evaluation.details == {"precision": 2 / 4, "recall": 2 / 3, "correct": 2, "proposed": 4, "gold": 3}
    assert evaluation.score == pytest.approx(1.25 * 2 / (0.25 * 3 + 4))
    assert evaluation.sentences.tolist() == pytest.approx([1, 1.25 / 2.5, 0])
    assert evaluation.describe() == "F0.5 = 0.5263 (precision 0.5000, recall 0.6667, correct 2, proposed 4, gold 3)"
    assert m2.evaluate(gold, ["He had gone to school yesterday .", "She has apples", "It is fine ."]).score == 1.0
    assert m2.evaluate(gold, ["He went to school yesterday .", "She has a apple", "It was fine ."], beta=1).score == (
        pytest.approx(2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3))
    )


def test_by_kind_counts_edits_of_each_kind() -> None:
    evaluation = m2.evaluate(m2.parse(BY_HAND), ["He went to school", "She has a apple", "It is fine ."], by_kind=True)
    kinds = {name: number for name, number in evaluation.details.items() if ": " in name}
    assert kinds == {
        **{"Vform: edits": 2, "Vform: found": 1, "SVA: edits": 1, "SVA: found": 1},
        **{"ArtOrDet: edits": 1, "ArtOrDet: found": 0},
    }
    with pytest.raises(UserError, match="--by-kind applies to MaxMatch"):
        m2.evaluate([], [], by_kind=True, errant=True)


def test_parse_reads_annotators_and_corrections() -> None:
    edits = "A 1 2|||X|||c  d||-NONE-|||R|||-|||2\nA 0 1|||Y|||e|||R|||-|||2\nA 0 0|||Z|||f|||R|||-|||0\n"
    sentences = m2.parse(f"S a b\n{edits}A 0 0|||noop|||-NONE-|||R|||-|||1\n\nS\n\nS c\nA 0 1|||U|||-NONE-|||R|||-|||0")
    last = [GoldEdit(0, 1, ("e",), "Y"), GoldEdit(1, 2, ("c d", ""), "X")]
    assert sentences == [
        Gold(["a", "b"], [[GoldEdit(0, 0, ("f",), "Z")], [], last]),
        Gold([], [[]]),
        Gold(["c"], [[GoldEdit(0, 1, ("",), "U")]]),
    ]


def test_corrected_applies_the_edits_of_an_annotator() -> None:
    edits = "A 0 0|||X|||Yes ,|||R|||-|||0\nA 1 2|||SVA|||goes||went|||R|||-|||0\nA 3 4|||X|||-NONE-|||R|||-|||1\n"
    edits += "A 2 3|||UNK|||-NONE-|||R|||-|||0\nA 3 4|||Um|||later|||R|||-|||0\n"
    (sentence,) = m2.parse(f"S he go home now\n{edits}")
    assert m2.corrected(sentence) == ["Yes", ",", "he", "goes", "home", "now"]  # what is unclear stays
    assert m2.corrected(sentence, 1) == ["he", "go", "home"] and sentence.source == ["he", "go", "home", "now"]


def test_unchanged_text_has_precision_1_and_recall_0() -> None:
    result = m2.evaluate(m2.parse(BY_HAND), ["He go to school yesterday .", "She have a apples", "It is fine ."])
    assert (result.details["precision"], result.details["recall"], result.sentences.tolist()) == (1.0, 0.0, [0, 0, 1])


def test_texts_with_very_many_alignments_are_scored() -> None:
    """Such texts have too many possible edits to enumerate."""
    source = [f"w{number}" for number in range(60)]
    gold = Gold(source, [[GoldEdit(3, 4, ("w3", "the"))], [GoldEdit(0, 60, ("the " * 199 + "the",))]])
    assert m2.sentence_counts(gold, "the " * 200) == [Counts(1, 3, 1), Counts(1, 1, 1)]


def test_the_annotator_maximizes_the_cumulative_score() -> None:
    last = [Counts(1, 1, 2), Counts(2, 3, 2)]
    alone = m2.from_counts([last])  # F0.5 = 0.83 with the first, 0.71 with the second
    assert alone.details["proposed"] == 1
    total = m2.from_counts([[Counts(0, 5, 5)], last])  # 0.16 with the first, 0.26 with the second
    assert (total.details["correct"], total.details["proposed"], total.details["gold"]) == (2, 8, 7)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_annotators_are_ranked_by_score_matches_and_edits(beta: float) -> None:
    def worth(counts: list[int]) -> tuple[Fraction, int, float]:
        correct, *edits = counts
        both = edits[0] + Fraction(beta) ** 2 * edits[1]
        return (1 + Fraction(beta) ** 2) * correct / both if both else Fraction(1), correct, -both

    options = np.random.default_rng(1).integers(0, 4, (300, 3, 3))
    options[:150, :, 0] = 0  # all score 0, unless nothing is proposed and nothing wanted
    options[:, :, 1:] = np.maximum(options[:, :, 1:], options[:, :, :1])  # at most as many are right
    expected = [max(annotators, key=worth) for annotators in options.tolist()]  # the first of the best
    assert m2.choose(options.astype(float), beta).tolist() == expected


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="M2_SCORER_EXAMPLE is not the official example")
@pytest.mark.parametrize(
    ("system", "precision", "recall", "score"), [("system", 0.8, 0.8, 0.8), ("system2", 0.75, 0.6, 0.7143)]
)
def test_scores_match_the_official_scorer(system: str, precision: float, recall: float, score: float) -> None:
    gold = m2.parse((OFFICIAL / "source_gold").read_text("utf-8"))
    evaluation = m2.evaluate(gold, (OFFICIAL / system).read_text("utf-8").splitlines())
    assert round(evaluation.score, 4) == score
    assert (evaluation.details["precision"], evaluation.details["recall"]) == (precision, recall)


# ---- against every path ----------------------------------------------------------------------------------------------


def alignments(source: list[str], text: list[str], i: int = 0, j: int = 0) -> Iterator[list[Node]]:
    """Yields every alignment as the nodes that it passes after (i, j)."""
    if (i, j) == (len(source), len(text)):
        yield []
    for k, m in ((i + 1, j), (i, j + 1), (i + 1, j + 1)):
        if k <= len(source) and m <= len(text):
            for rest in alignments(source, text, k, m):
                yield [(k, m), *rest]


def slow_steps(source: list[str], text: list[str]) -> set[tuple[Node, Node]]:
    """Returns the steps of all cheapest alignments, for both prices of a replacement."""
    paths = [[*pairwise([(0, 0), *nodes])] for nodes in alignments(source, text)]
    steps = set()
    for price in (1, 2):

        def cost(path: list[tuple[Node, Node]], price: int = price) -> int:
            return sum(1 if i == k or j == m else 0 if source[i] == text[j] else price for (i, j), (k, m) in path)

        lowest_cost = min(map(cost, paths))
        steps |= {step for path in paths if cost(path) == lowest_cost for step in path}
    return steps


def slow_m2_counts(source: list[str], text: list[str], gold: list[GoldEdit], max_unchanged: int) -> tuple[int, int]:
    """Counts correct and proposed edits, over all ways to cut all paths into pieces."""
    steps = slow_steps(source, text)

    def pieces(node: Node) -> Iterator[tuple[Node, int, int]]:
        """Yields the end of each path from a node, its steps, and its unchanged words."""
        for (i, j), (k, m) in steps:
            if (i, j) == node:
                is_match = k > i and m > j and source[i] == text[j]
                yield (k, m), 1, is_match
                yield from ((end, length + 1, unchanged + is_match) for end, length, unchanged in pieces((k, m)))

    def best(node: Node, number: int = 0) -> tuple[int, int, int]:
        """Returns minus the matches, the words outside them, and the edits of the best path from a node on."""
        options = [(0, 0, 0)] if node == (len(source), len(text)) else []
        for end, length, unchanged in pieces(node):
            words, output = source[node[0] : end[0]], text[node[1] : end[1]]
            if length == 1 or (unchanged <= max_unchanged and words != output):
                misses, outside, edits = best(end, number)
                options.append((misses, outside + length, edits + (words != output)))
                for i, edit in enumerate(gold[number:], number):
                    if words != output and edit[:2] == (node[0], end[0]) and " ".join(output) in edit.corrections:
                        misses, outside, edits = best(end, i + 1)
                        options.append((misses - 1, outside, edits + 1))
        return min(options)

    misses, _, edits = best((0, 0))
    return -misses, edits


few_words = st.lists(st.sampled_from("abc"), max_size=3)


@st.composite
def annotated(draw: st.DrawFn) -> tuple[list[str], list[str], list[GoldEdit]]:
    source, text = draw(few_words), draw(few_words)
    places = draw(st.lists(st.integers(0, len(source)), max_size=6))
    gold, at = [], 0
    for start, end in zip(sorted(places)[::2], sorted(places)[1::2], strict=False):
        if start >= at:
            corrections = draw(st.lists(st.lists(st.sampled_from("abc"), max_size=2), min_size=1, max_size=2))
            corrected_words = tuple(" ".join(words) for words in corrections if words != source[start:end])
            gold.append(GoldEdit(start, end, corrected_words))
            at = end
    return source, text, gold


@thorough
@given(annotated(), st.integers(0, 2))
def test_counts_match_all_paths(example: tuple[list[str], list[str], list[GoldEdit]], max_unchanged: int) -> None:
    source, text, gold = example
    counts = m2.sentence_counts(Gold(source, [gold]), " ".join(text), max_unchanged)
    assert counts == [Counts(*slow_m2_counts(source, text, gold, max_unchanged), len(gold))]


# ---- resampling ------------------------------------------------------------------------------------------------------


def test_resamples_of_several_annotators_are_scored_as_texts() -> None:
    gold = m2.parse(BY_HAND) * 3
    texts = ["He go to the school yesterday .", "She has apples", "It was fine ."] * 2
    texts += ["He had gone to school yesterday .", "She have an apples", "It is fine ."]
    generator = np.random.default_rng(1)
    alone = [Gold(sentence.source, sentence.annotators[:1]) for sentence in gold]
    # of several annotators, one is chosen for all copies of a sentence in a resample, and one for each in a text
    for sentences, copies in ((gold, 1), (alone, 2)):
        counts = generator.integers(0, copies + 1, (20, len(texts)))
        counts[:, 0] = 1
        expected = []
        for row in counts:
            indices = [i for i, times in enumerate(row) for _ in range(times)]
            expected.append(m2.evaluate([sentences[i] for i in indices], [texts[i] for i in indices]).score)
        assert m2.evaluate(sentences, texts).scores_of(counts.astype(float)).tolist() == pytest.approx(expected)


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A 0 1|||X|||y|||R|||-|||0", "line 1: an edit .A. must follow"),
        ("S a\nB", "line 2: a line must begin with S or A or be empty, but is 'B'"),
        ("S a\nA 0 1|||X|||y|||0", "line 2: an edit must be `A START END"),
        ("S a\nA 0 one|||X|||y|||R|||-|||0", "line 2: .* three numbers"),
        ("S a\nA 1 0|||X|||y|||R|||-|||0", "must lie within its sentence of 1 words, but goes from 1 to 0"),
        ("\nS a b\nA 1 3|||X|||y|||R|||-|||0", "gold.m2, line 3: .* of 2 words, but goes from 1 to 3"),
    ],
)
def test_malformed_m2_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        m2.parse(text, "gold.m2")


def test_repeated_gold_insertions_are_matched_once() -> None:
    """The official scorer counts it twice, with more correct edits than there are."""
    insertion = "A 1 1|||X|||c|||R|||-|||0\n"
    once, twice = m2.parse(f"S a b\n{insertion}S a b\n{insertion}{insertion}")
    assert m2.sentence_counts(twice, "a c b") == [Counts(correct=1, proposed=1, gold=2)]
    for text in ("a c c b", "a c x c b"):
        assert m2.sentence_counts(once, text) == [Counts(correct=1, proposed=2, gold=1)]


def test_wrong_beta_is_refused() -> None:
    gold = m2.parse("S a")
    for beta in (0, -1, float("inf"), float("nan"), 1e200, 1e-200):
        with pytest.raises(UserError, match=f"beta must be above 0 and finite, but is {re.escape(str(beta))}"):
            m2.evaluate(gold, ["a"], beta=beta)
    with pytest.raises(UserError, match="--max-unchanged-words must be at least 0, but is -1"):
        m2.evaluate(gold, ["a"], max_unchanged_words=-1)


# ---- ERRANT ----------------------------------------------------------------------------------------------------------


class Annotator:
    """Stands in for ERRANT: every word that differs from the one at its place is an edit."""

    def parse(self, text: str) -> list[str]:
        return text.split()

    def annotate(self, source: list[str], text: list[str]) -> list[Any]:
        edits = [
            SimpleNamespace(o_start=i, o_end=i + 1, c_str=text_word, type="R:OTHER")
            for i, (source_word, text_word) in enumerate(zip(source, text, strict=True))
            if source_word != text_word
        ]
        return [*edits, SimpleNamespace(o_start=-1, o_end=-1, c_str="-NONE-", type="noop")]


def replace_errant(monkeypatch: pytest.MonkeyPatch, load: Callable[[str], Any]) -> None:
    monkeypatch.setitem(sys.modules, "errant", SimpleNamespace(load=load))
    monkeypatch.setattr(m2, "load_errant", m2.load_errant.__wrapped__)  # which does not cache the annotator


def test_edits_of_errant_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_errant(monkeypatch, lambda language: Annotator())
    gold = m2.parse(BY_HAND.replace("A 2 3|||ArtOrDet", "A 2 3|||UNK"))
    evaluation = m2.evaluate(gold, ["He went to school yesterday .", "She has an apples", "It is fine ."], errant=True)
    # went; has, and "an" for an error that is marked but not corrected; nothing
    assert evaluation.details == {"precision": 2 / 3, "recall": 1.0, "correct": 2, "proposed": 3, "gold": 2}
    assert evaluation.score == pytest.approx(1.25 * 2 / (0.25 * 2 + 3))
    assert evaluation.signature == "edits by ERRANT"


def test_errant_without_its_model_names_the_download(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(language: str) -> None:
        raise OSError("[E050] Can't find model")  # as spaCy does

    replace_errant(monkeypatch, load)
    with pytest.raises(UserError, match="en_core_web_sm"):
        m2.evaluate(m2.parse(BY_HAND), [""] * 3, errant=True)
