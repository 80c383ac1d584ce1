"""Sentences and lines of a text, with their positions."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.text.edited import Span
from lev_plugins.text.sentences import lines, sentences, split_to_fit
from tests.helpers import thorough

SENTENCE_CHARACTERS = " .!?\n\t\r\x0b\x1c\x85\u2028\u2029\xa0\u3000ab1A\"'“”«»()。\uff01\uff1f؟।…é\u0301😀\u200b-"
texts = st.text(st.sampled_from(SENTENCE_CHARACTERS) | st.characters(exclude_categories=["Cs"]), max_size=60)
languages = st.sampled_from([None, "en", "de", "fi", "ja", "zh", "hi", "ar", "th", "none"])


def white(text: str) -> bool:
    return not text.strip()


@given(texts, languages)
@thorough
def test_sentences_cover_the_text_except_white_space(text: str, language: str | None) -> None:
    at = 0
    for start, end in sentences(text, language):
        assert at <= start < end and white(text[at:start])
        assert text[start:end] == text[start:end].strip()
        assert len(text[start:end].splitlines()) == 1
        at = end
    assert white(text[at:])


@given(texts)
@thorough
def test_lines_match_splitlines(text: str) -> None:
    assert [text[slice(*span)] for span in lines(text)] == [x.strip() for x in text.splitlines() if x.strip()]


@given(st.text(" ab,c。", max_size=40), st.integers(1, 12))
@thorough
def test_long_sentences_are_split_between_words(text: str, limit: int) -> None:
    for span in lines(text):
        at = span.start
        for start, end in split_to_fit(text, span, lambda part: len(part) <= limit):
            assert at <= start < end <= span.end and end - start <= limit
            for place in (start, end):
                assert place in (span.start, span.end) or " " in text[place - 1 : place + 1] or text[place - 1] == "。"
            # what is left out has no place to be cut at
            assert all(len(part) > limit for part in re.split(r"\s+|(?<=。)", text[at:start]) if part)
            at = end


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Mr. Lee e.g. is here. And so on!", None, ["Mr. Lee e.g. is here.", "And so on!"]),
        ("“Why?” she asked. He left.", None, ["“Why?” she asked.", "He left."]),
        ("Das ist z.B. gut. Ja.", "de", ["Das ist z.B. gut.", "Ja."]),
        ("東京は大きい。京都は古い。", None, ["東京は大きい。", "京都は古い。"]),
        ("One\nTwo", None, ["One", "Two"]),
    ],
)
def test_where_sentences_end(text: str, language: str | None, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text, language)] == expected


def test_line_separators_end_sentences() -> None:
    text = "A.B\u2028.b\u2028 C. d"
    assert [text[slice(*span)] for span in sentences(text)] == ["A.B", ".b", "C. d"]


def test_long_sentences_are_split_in_the_middle() -> None:
    text = "a b c d e f g h"
    assert split_to_fit(text, Span(0, 15), lambda part: len(part) <= 7) == [Span(0, 7), Span(8, 15)]


def test_lone_surrogates_are_part_of_a_sentence() -> None:
    text = "Half a\ud800 sign. The rest."
    assert [text[slice(*span)] for span in sentences(text, "en")] == ["Half a\ud800 sign.", "The rest."]


@pytest.mark.parametrize("code", ["de", "de-AT", "DE", "de_CH"])
def test_language_codes_may_have_a_country(code: str) -> None:
    text = "Das ist z.B. Herr Dr. Müller am 3. Oktober."
    assert sentences(text, code) == [Span(0, len(text))] and len(sentences(text, "en")) > 1


def test_byte_order_marks_are_outside_sentences() -> None:
    assert sentences("\ufeffTeh cat. \ufeff Yes.")[0] == Span(1, 9)
