"""Edits of a text: applying, trimming, composing, and refusing them."""

from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.text.edited import Edit, Edited, apply, follow, in_word, parts_of, trim
from lev_plugins.utils.errors import UserError
from tests.helpers import growth, thorough

MIXED_CHARACTERS = " \t\r\n\u00a0\u2028ab1'\u2019.,é\u0301\u200d😀👩ßﬁ½日本のกا\ufeff"
texts = st.text(st.sampled_from(MIXED_CHARACTERS) | st.characters(exclude_categories=["Cs"]), max_size=30)


@st.composite
def edited_texts(draw: st.DrawFn) -> Edited:
    text = draw(texts)
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = list(pairwise(places))[::2]
    return Edited(text, tuple(Edit(start, end, draw(texts), draw(st.floats(0, 1))) for start, end in pairs))


FLAGS = st.text(st.sampled_from("\U0001f1e9\U0001f1ea\u0301\u200d\u0903\u0600a😀"), max_size=9)


@given(FLAGS)
@thorough
def test_flags_are_parts_as_unicode_says(text: str) -> None:
    graphemes = iter(regex.findall(r"\X", text))
    for part in parts_of(text):  # a word, or one grapheme
        grapheme = next(graphemes)
        while len(grapheme) < len(part):
            grapheme += next(graphemes)
        assert part == grapheme


def test_a_row_of_flags_takes_linear_time() -> None:
    assert growth(lambda size: parts_of("\U0001f1e9" * size), 4000) < 8


@given(edited_texts())
@thorough
def test_text_outside_the_edits_is_unchanged(edited: Edited) -> None:
    rest, position = edited.text, 0
    for edit in edited.edits:
        prefix = edited.original[position : edit.start] + edit.replacement
        assert rest.startswith(prefix)
        rest, position = rest[len(prefix) :], edit.end
    assert rest == edited.original[position:]


@given(edited_texts())
@thorough
def test_trimmed_edits_give_the_same_text_and_share_no_part_at_their_ends(edited: Edited) -> None:
    for edit in edited.edits:
        short = trim(edited.original, edit)
        assert apply(edited.original, [short]) == apply(edited.original, [edit])
        assert edit.start <= short.start <= short.end <= edit.end
        original, replacement = parts_of(edited.original[short.start : short.end]), parts_of(short.replacement)
        assert not original or not replacement or all(original[i] != replacement[i] for i in (0, -1))


@given(texts)
@thorough
def test_parts_join_to_the_text(text: str) -> None:
    assert "".join(parts_of(text)) == text


@given(edited_texts(), st.floats(0, 1))
@thorough
def test_without_unsure_removes_only_edits_below_the_threshold(edited: Edited, threshold: float) -> None:
    confident = edited.without_unsure(threshold)
    assert confident.original == edited.original
    assert list(confident.edits) == [edit for edit in edited.edits if not edit.confidence < threshold]


@pytest.mark.parametrize(
    ("text", "edit", "short"),
    [
        ("say teh word", Edit(0, 12, "say the word"), Edit(4, 7, "the")),
        ("a very big hat", Edit(1, 10, " big"), Edit(2, 7, "")),  # with one blank
        ("a hat", Edit(1, 2, " big "), Edit(2, 2, "big ")),
        ("the end", Edit(4, 7, "end."), Edit(7, 7, ".")),
        ("re\u0301sume", Edit(0, 7, "résume"), Edit(0, 7, "résume")),  # normalization is an edit
        ("日本誤", Edit(0, 3, "日本語"), Edit(2, 3, "語")),
        ("👩‍👩‍👧!", Edit(0, 6, "👩‍👩‍👧?"), Edit(5, 6, "?")),
        ("same", Edit(0, 4, "same"), Edit(4, 4, "")),
    ],
)
def test_trimmed_edits_cover_only_the_changed_words(text: str, edit: Edit, short: Edit) -> None:
    assert trim(text, edit) == short


def test_edits_that_overlap_or_lie_outside_are_refused() -> None:
    with pytest.raises(UserError, match=r"3 characters.* from 1 to 2.* ends at 2"):
        Edited("abc", (Edit(0, 2, "x"), Edit(1, 2, "y")))
    with pytest.raises(UserError, match=r"from 2 to 4.* ends at 0"):
        apply("abc", [Edit(2, 4, "")])


def test_in_word_needs_letters_on_both_sides_and_a_script_with_blanks() -> None:
    assert in_word("e\u0301a", 1) and not in_word("a-b", 1)
    assert not any(in_word(text, 1) for text in ("日本", "ไทย", "ລາວ", "កខ", "မမ"))  # no blanks between words


def test_as_dict_has_text_edits_and_rounded_confidences() -> None:
    edited = Edited("a", (Edit(0, 1, "b", 0.123456, 2, alternatives=(Edit(0, 1, "c", 0.01),)),))
    edit = {"start": 0, "end": 1, "replacement": "b", "confidence": 0.1235, "iteration": 2}
    edit["alternatives"] = [{"replacement": "c", "confidence": 0.01}]
    assert edited.as_dict() == {"text": "b", "edits": [edit]}


# ---- composed edits --------------------------------------------------------------------------------------------------


@st.composite
def drawn_edits(draw: st.DrawFn, size: int) -> list[Edit]:
    places = sorted(draw(st.lists(st.integers(0, size), max_size=6)))
    words = st.text("xy ", min_size=1, max_size=3)
    return [Edit(start, end, draw(words), 0.5) for start, end in zip(places[::2], places[1::2], strict=False)]


@thorough
@given(data=st.data(), text=st.text("ab ", max_size=8))
def test_composed_edits_give_the_text_of_both_steps(data: st.DataObject, text: str) -> None:
    prior = data.draw(drawn_edits(len(text)))
    between = apply(text, prior)
    edited = Edited(between, tuple(data.draw(drawn_edits(len(between)))))
    both = follow(text, prior, edited)
    assert both.original == text and both.text == edited.text
