"""MaxMatch against every path there is, by hand, and on the official scorer's example; ERRANT's route beside it."""

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


def test_by_hand() -> None:
    gold = m2.parse(BY_HAND)
    found = m2.evaluate(gold, ["He went to school yesterday .", "She has a apple", "It was fine ."])
    # went: 1 right of 1 proposed and 1 wanted; has, apple: 1 of 2 and 2; was: 0 of 1 and 0
    assert found.details == {"precision": 2 / 4, "recall": 2 / 3, "correct": 2, "proposed": 4, "gold": 3}
    assert found.score == pytest.approx(1.25 * 2 / (0.25 * 3 + 4))
    assert found.sentences.tolist() == pytest.approx([1, 1.25 / 2.5, 0])
    assert found.describe() == "F0.5 = 0.5263 (precision 0.5000, recall 0.6667, correct 2, proposed 4, gold 3)"
    assert m2.evaluate(gold, ["He had gone to school yesterday .", "She has apples", "It is fine ."]).score == 1.0
    assert m2.evaluate(gold, ["He went to school yesterday .", "She has a apple", "It was fine ."], beta=1).score == (
        pytest.approx(2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3))
    )


def test_edits_are_found_by_kind() -> None:
    found = m2.evaluate(m2.parse(BY_HAND), ["He went to school", "She has a apple", "It is fine ."], by_kind=True)
    kinds = {name: number for name, number in found.details.items() if ": " in name}
    assert kinds == {
        **{"Vform: edits": 2, "Vform: found": 1, "SVA: edits": 1, "SVA: found": 1},
        **{"ArtOrDet: edits": 1, "ArtOrDet: found": 0},
    }
    with pytest.raises(UserError, match="--by-kind applies to MaxMatch"):
        m2.evaluate([], [], by_kind=True, errant=True)


def test_a_file_is_read() -> None:
    edits = "A 1 2|||X|||c  d||-NONE-|||R|||-|||2\nA 0 1|||Y|||e|||R|||-|||2\nA 0 0|||Z|||f|||R|||-|||0\n"
    found = m2.parse(f"S a b\n{edits}A 0 0|||noop|||-NONE-|||R|||-|||1\n\nS\n\nS c\nA 0 1|||U|||-NONE-|||R|||-|||0")
    last = [GoldEdit(0, 1, ("e",), "Y"), GoldEdit(1, 2, ("c d", ""), "X")]
    assert found == [
        Gold(["a", "b"], [[GoldEdit(0, 0, ("f",), "Z")], [], last]),
        Gold([], [[]]),
        Gold(["c"], [[GoldEdit(0, 1, ("",), "U")]]),
    ]


def test_a_sentence_as_an_annotator_corrects_it() -> None:
    edits = "A 0 0|||X|||Yes ,|||R|||-|||0\nA 1 2|||SVA|||goes||went|||R|||-|||0\nA 3 4|||X|||-NONE-|||R|||-|||1\n"
    edits += "A 2 3|||UNK|||-NONE-|||R|||-|||0\nA 3 4|||Um|||later|||R|||-|||0\n"
    (sentence,) = m2.parse(f"S he go home now\n{edits}")
    assert m2.corrected(sentence) == ["Yes", ",", "he", "goes", "home", "now"]  # what is unclear stays
    assert m2.corrected(sentence, 1) == ["he", "go", "home"] and sentence.source == ["he", "go", "home", "now"]


def test_doing_nothing_is_precise_and_recalls_nothing() -> None:
    result = m2.evaluate(m2.parse(BY_HAND), ["He go to school yesterday .", "She have a apples", "It is fine ."])
    assert (result.details["precision"], result.details["recall"], result.sentences.tolist()) == (1.0, 0.0, [0, 0, 1])


def test_a_text_that_goes_round_in_circles_is_scored() -> None:
    """There are far too many edits between such texts to look at each of them."""
    source = [f"w{number}" for number in range(60)]
    gold = Gold(source, [[GoldEdit(3, 4, ("w3", "the"))], [GoldEdit(0, 60, ("the " * 199 + "the",))]])
    assert m2.sentence_counts(gold, "the " * 200) == [Counts(1, 3, 1), Counts(1, 1, 1)]


def test_the_annotator_who_is_best_for_the_score_so_far() -> None:
    last = [Counts(1, 1, 2), Counts(2, 3, 2)]
    alone = m2.from_counts([last])  # F0.5 = 0.83 with the first, 0.71 with the second
    assert alone.details["proposed"] == 1
    after = m2.from_counts([[Counts(0, 5, 5)], last])  # 0.16 with the first, 0.26 with the second
    assert (after.details["correct"], after.details["proposed"], after.details["gold"]) == (2, 8, 7)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_annotators_are_chosen_by_score_then_by_matches_then_by_edits(beta: float) -> None:
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
def test_official_numbers(system: str, precision: float, recall: float, score: float) -> None:
    gold = m2.parse((OFFICIAL / "source_gold").read_text("utf-8"))
    found = m2.evaluate(gold, (OFFICIAL / system).read_text("utf-8").splitlines())
    assert round(found.score, 4) == score
    assert (found.details["precision"], found.details["recall"]) == (precision, recall)


# ---- against every path ----------------------------------------------------------------------------------------------


def alignments(source: list[str], text: list[str], i: int = 0, j: int = 0) -> Iterator[list[Node]]:
    """All of them, as the nodes they pass after (i, j)."""
    if (i, j) == (len(source), len(text)):
        yield []
    for k, m in ((i + 1, j), (i, j + 1), (i + 1, j + 1)):
        if k <= len(source) and m <= len(text):
            for rest in alignments(source, text, k, m):
                yield [(k, m), *rest]


def slow_steps(source: list[str], text: list[str]) -> set[tuple[Node, Node]]:
    """Those of all cheapest alignments, at one price of replacing a word and at the other."""
    ways = [[*pairwise([(0, 0), *nodes])] for nodes in alignments(source, text)]
    steps = set()
    for price in (1, 2):

        def cost(way: list[tuple[Node, Node]], price: int = price) -> int:
            return sum(1 if i == k or j == m else 0 if source[i] == text[j] else price for (i, j), (k, m) in way)

        least = min(map(cost, ways))
        steps |= {step for way in ways if cost(way) == least for step in way}
    return steps


def slow_counts(source: list[str], text: list[str], gold: list[GoldEdit], max_unchanged: int) -> tuple[int, int]:
    """Correct and proposed edits, by all ways to cut all paths into pieces."""
    steps = slow_steps(source, text)

    def pieces(node: Node) -> Iterator[tuple[Node, int, int]]:
        """The end of each path from a node, its steps, and the words that it keeps."""
        for (i, j), (k, m) in steps:
            if (i, j) == node:
                keeps = k > i and m > j and source[i] == text[j]
                yield (k, m), 1, keeps
                yield from ((end, length + 1, kept + keeps) for end, length, kept in pieces((k, m)))

    def best(node: Node, number: int = 0) -> tuple[int, int, int]:
        """From a node on, with the gold edits from this number on: minus the matches, words outside them, edits."""
        ways = [(0, 0, 0)] if node == (len(source), len(text)) else []
        for end, length, kept in pieces(node):
            old, new = source[node[0] : end[0]], text[node[1] : end[1]]
            if length == 1 or (kept <= max_unchanged and old != new):
                misses, outside, edits = best(end, number)
                ways.append((misses, outside + length, edits + (old != new)))
                for i, edit in enumerate(gold[number:], number):
                    if old != new and edit[:2] == (node[0], end[0]) and " ".join(new) in edit.corrections:
                        misses, outside, edits = best(end, i + 1)
                        ways.append((misses - 1, outside, edits + 1))
        return min(ways)

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
            wanted = tuple(" ".join(words) for words in corrections if words != source[start:end])
            gold.append(GoldEdit(start, end, wanted))
            at = end
    return source, text, gold


@thorough
@given(annotated(), st.integers(0, 2))
def test_the_best_of_all_paths(found: tuple[list[str], list[str], list[GoldEdit]], max_unchanged: int) -> None:
    source, text, gold = found
    ours = m2.sentence_counts(Gold(source, [gold]), " ".join(text), max_unchanged)
    assert ours == [Counts(*slow_counts(source, text, gold, max_unchanged), len(gold))]


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
            chosen = [i for i, times in enumerate(row) for _ in range(times)]
            expected.append(m2.evaluate([sentences[i] for i in chosen], [texts[i] for i in chosen]).score)
        assert m2.evaluate(sentences, texts).scores_of(counts.astype(float)).tolist() == pytest.approx(expected)


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A 0 1|||X|||y|||R|||-|||0", "line 1: an edit .A. must follow its sentence .S., but there is no sentence"),
        ("S a\nB", "line 2: a line must begin with S or A or be empty, but is 'B'"),
        ("S a\nA 0 1|||X|||y|||0", "line 2: an edit must be `A START END|||KIND|||CORRECTIONS|||...|||...|||ANNOTATOR"),
        ("S a\nA 0 one|||X|||y|||R|||-|||0", " with three numbers, but is '0 one|||X|||y|||R|||-|||0'"),
        ("S a\nA 1 0|||X|||y|||R|||-|||0", "must lie within its sentence of 1 words, but goes from 1 to 0"),
        ("\nS a b\nA 1 3|||X|||y|||R|||-|||0", "gold.m2, line 3: .* of 2 words, but goes from 1 to 3"),
    ],
)
def test_bad_m2(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message.replace("|", r"\|").replace("...", r"\.\.\.")):
        m2.parse(text, "gold.m2")


def test_an_insertion_that_gold_repeats_is_matched_once_by_one_edit() -> None:
    """The official scorer counts it twice, with more correct edits than there are."""
    insertion = "A 1 1|||X|||c|||R|||-|||0\n"
    once, twice = m2.parse(f"S a b\n{insertion}S a b\n{insertion}{insertion}")
    assert m2.sentence_counts(twice, "a c b") == [Counts(correct=1, proposed=1, gold=2)]
    for text in ("a c c b", "a c x c b"):
        assert m2.sentence_counts(once, text) == [Counts(correct=1, proposed=2, gold=1)]


def test_bad_arguments() -> None:
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
            SimpleNamespace(o_start=i, o_end=i + 1, c_str=new, type="R:OTHER")
            for i, (old, new) in enumerate(zip(source, text, strict=True))
            if old != new
        ]
        return [*edits, SimpleNamespace(o_start=-1, o_end=-1, c_str="-NONE-", type="noop")]


def replace_errant(monkeypatch: pytest.MonkeyPatch, load: Callable[[str], Any]) -> None:
    monkeypatch.setitem(sys.modules, "errant", SimpleNamespace(load=load))
    monkeypatch.setattr(m2, "load_errant", m2.load_errant.__wrapped__)  # which does not cache the annotator


def test_errant_finds_the_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_errant(monkeypatch, lambda language: Annotator())
    gold = m2.parse(BY_HAND.replace("A 2 3|||ArtOrDet", "A 2 3|||UNK"))
    found = m2.evaluate(gold, ["He went to school yesterday .", "She has an apples", "It is fine ."], errant=True)
    # went; has, and "an" for an error that is marked but not corrected; nothing
    assert found.details == {"precision": 2 / 3, "recall": 1.0, "correct": 2, "proposed": 3, "gold": 2}
    assert found.score == pytest.approx(1.25 * 2 / (0.25 * 2 + 3))
    assert found.signature == "edits by ERRANT"


def test_errant_lacks_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(language: str) -> None:
        raise OSError("[E050] Can't find model")  # as spaCy does

    replace_errant(monkeypatch, load)
    commands = r"pip install 'lev-plugins\[errant\]' && python -m spacy download en_core_web_sm \(\[E050\]"
    with pytest.raises(UserError, match=commands):
        m2.evaluate(m2.parse(BY_HAND), [""] * 3, errant=True)
