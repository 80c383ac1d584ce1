"""Where the terms of a glossary go in a draft, with a score that needs no model."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.text.edited import Edit, Edited, Term, apply, follow
from lev_plugins.text.glossary import find_terms
from lev_plugins.text.marks import parse_marks
from lev_plugins.text.terms import with_terms
from tests.helpers import thorough


def nearest_to(wanted: str) -> object:
    def fits(texts: list[str]) -> Sequence[float]:
        return [0.0 if text == wanted else -100.0 for text in texts]

    return fits


def put(draft: str, *terms: tuple[str, str], wanted: str = "", kind: str = "!") -> str:
    return with_terms(draft, [Term(*term) for term in terms], kind, nearest_to(wanted))[0]


def test_a_term_that_the_draft_has_gets_a_mark() -> None:
    assert put("ein Hut .", ("hat", "Hut")) == "ein ⟦!Hut⟧ ."
    assert put("ein Hut .", ("hat", "Hut"), kind="~") == "ein ⟦~Hut⟧ ."
    assert put("Hut, Hut", ("hat", "Hut")) == "⟦!Hut⟧, ⟦!Hut⟧"
    assert put("ein ⟦!roter Hut⟧", ("hat", "Hut")) == "ein ⟦!roter Hut⟧"  # it has one already


@pytest.mark.parametrize(
    ("draft", "wanted"),
    [
        ("ein Haus .", "ein Hut Haus ."),
        ("ein Haus.", "ein Haus Hut."),
        ("ein Haus.", "ein Hut."),
        ("(ein Haus)", "(ein Hut)"),
        ("ein graues Haus .", "ein Hut ."),
        ("", "Hut"),
        ("\r", "Hut\r"),
    ],
)
def test_a_missing_term_goes_where_the_text_fits_best(draft: str, wanted: str) -> None:
    assert parse_marks(put(draft, ("hat", "Hut"), wanted=wanted))[0] == wanted


def test_words_that_look_like_the_term_are_replaced_first() -> None:
    assert put("zwei Hüte liegen", ("hat", "Hut")) == "zwei ⟦!Hut⟧ liegen"


def test_marks_of_a_person_come_first() -> None:
    assert put("ein ⟦-Hut⟧", ("hat", "Hut"), wanted="ein Hut Hut") == "ein ⟦!Hut⟧ ⟦-Hut⟧"
    line = put("⟦!a b⟧ c⟦+⟧", ("hat", "Hut"), ("cap", "Kappe"))
    text, marks = parse_marks(line)
    kept = [text[start:end] for kind, start, end in marks]
    assert sorted(kept) == ["", "Hut", "Kappe", "a b"]


def test_more_terms_than_places() -> None:
    assert parse_marks(put("", *[("hat", "Hut")] * 3))[0] == "Hut Hut Hut"
    assert parse_marks(put("⟦!a⟧", *[("hat", "Hut")] * 4))[0].count("Hut") == 4


def test_a_text_without_blanks() -> None:
    assert parse_marks(put("我很大。", ("hat", "帽子"), wanted="我帽子很大。"))[0] == "我帽子很大。"


texts = st.text("ab ", min_size=0, max_size=8)


@st.composite
def edits_of(draw: st.DrawFn, size: int) -> list[Edit]:
    places = sorted(draw(st.lists(st.integers(0, size), max_size=6)))
    words = st.text("xy ", min_size=1, max_size=3)
    return [Edit(start, end, draw(words), 0.5) for start, end in zip(places[::2], places[1::2], strict=False)]


@thorough
@given(data=st.data(), text=texts)
def test_edits_that_follow_others_give_the_same_text(data: st.DataObject, text: str) -> None:
    first = data.draw(edits_of(len(text)))
    between = apply(text, first)
    edited = Edited(between, tuple(data.draw(edits_of(len(between)))))
    both = follow(text, first, edited)
    assert both.original == text and both.text == edited.text


def test_no_words_are_replaced_across_a_term() -> None:
    def fits(texts: list[str]) -> list[float]:
        return [-len(text) if "T2" in text else -len(text) - 99 * (text != "a T1 b") for text in texts]

    line, edits = with_terms("a b", [Term("x", "T1", place=0.5), Term("y", "T2")], "!", fits)
    assert parse_marks(line)[0] == "T2 T1 b" and apply("a b", edits) == "T2 T1 b"


@pytest.mark.parametrize(
    ("draft", "targets"),
    [
        ("ein ⟦!Haus⟧", ["!"]),  # of the mark itself
        ("a\\Hut\\b c", ["Hut", "x"]),  # a mark behind a backslash would be ordinary text
        ("ein \\⟦b⟧ c", ["x", "y"]),  # brackets of the text
        ("HutundKaffee我很", ["a b", "a b"]),
        ("⟦~ein Hut⟧ da", ["Hut"]),
    ],
)
def test_odd_drafts_get_all_terms(draft: str, targets: list[str]) -> None:
    terms = [Term(f"t{i}", target) for i, target in enumerate(targets)]
    line, edits = with_terms(draft, terms, "!", lambda texts: [-len(text) for text in texts])
    assert apply(parse_marks(draft)[0], edits) == parse_marks(line)[0]
    assert find_terms(terms, parse_marks(line)[0])[1] == []


def test_many_terms_find_places_that_do_not_overlap() -> None:
    terms = [("hat", f"Hut{number}") for number in range(100)]  # so the model compares few places for each
    text = put(" ".join("abcdefgh"), *terms)
    assert all(parse_marks(text)[0].split().count(target) == 1 for _, target in terms)
