"""Terms of a glossary in a text, their marks, and glossary files."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.text.edited import Term
from lev_plugins.text.glossary import Glossary, find_terms, mark_terms
from lev_plugins.text.lines import read_lines
from lev_plugins.text.marks import parse_marks
from lev_plugins.utils.errors import UserError
from tests.helpers import thorough


def targets(glossary: dict[str, str], source: str) -> list[str]:
    return [term.target for term in Glossary(glossary).terms_in(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("in New York City, in New York", ["NYC", "N.Y."]),  # contained: the longer one
        ("the York Times Square", ["Platz"]),  # overlapping: the longer one
        ("Hat. Hat, that", ["Hut", "Hut"]),  # with a capital
        ("hats, HAT, that", []),  # inflected, other capitals, a part of a word
        ("café, cafe\u0301", ["Kaffee", "Kaffee"]),  # accents may be written apart
        ("hat-hat", ["Hut", "Hut"]),
        ("i use C++.", ["C++"]),
        ("帽子很大", ["hat"]),
        ("", []),
    ],
)
def test_the_longest_terms_of_a_source_are_matched_as_whole_words(source: str, expected: list[str]) -> None:
    glossary = {"New York": "N.Y.", "New York City": "NYC", "York Times": "Zeit", "Times Square": "Platz"}
    glossary |= {"York Times Square": "Platz", "hat": "Hut", "cafe\u0301": "Kaffee", "C++": "C++", "帽子": "hat"}
    assert targets(glossary, source) == expected


@pytest.mark.parametrize("text", [5, None, "", " ", "a\nb", "a\tb", "\ud800"])
def test_terms_and_translations_that_no_file_can_have_are_refused(text: Any) -> None:
    for terms in ({"hat": text}, {text: "Hut"}):
        with pytest.raises(UserError, match="term or translation"):
            Glossary(terms)


@pytest.mark.parametrize("terms", [5, "terms.tsv", [("hat", "Hut")]])
def test_a_glossary_that_is_no_table_is_refused(terms: Any) -> None:
    with pytest.raises(UserError, match="glossary must be a table"):
        Glossary(terms)


def test_every_occurrence_of_a_term_needs_a_translation() -> None:
    terms = [Term("hat", "Hut"), Term("cap", "Hut"), Term("hat", "Hut")]
    assert len(find_terms(terms, "Hut und Hut")[1]) == 1
    assert find_terms([Term("red hat", "roter Hut"), Term("hat", "Hut")], "ein roter Hut")[1] == [Term("hat", "Hut")]


# ---- marks on terms --------------------------------------------------------------------------------------------------


def with_marks(draft: str, *targets: str, kind: str = "!") -> str:
    return mark_terms(draft, [Term(f"t{i}", target) for i, target in enumerate(targets)], kind)


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ("ein Hut .", "ein ⟦!Hut⟧ ."),
        ("Hut, Hut", "⟦!Hut⟧, ⟦!Hut⟧"),
        ("ein Haus", "ein Haus"),
        ("", ""),
        ("ein ⟦!roter Hut⟧", "ein ⟦!roter Hut⟧"),
        ("Hut ⟦-Hut⟧ ⟦+⟧", "⟦!Hut⟧ ⟦-Hut⟧ ⟦+⟧"),
        ("⟦~ein Hut⟧ da", "⟦~ein Hut⟧ da"),
        ("\\Hut", "\\Hut"),  # a mark behind a backslash would be ordinary text
        ("⟦Hut⟧", "\\⟦⟦!Hut⟧\\⟧"),  # brackets of the text
        ("我帽子Hut很大。", "我帽子⟦!Hut⟧很大。"),
    ],
)
def test_terms_in_a_draft_are_marked_outside_of_other_marks(draft: str, expected: str) -> None:
    assert with_marks(draft, "Hut") == expected
    assert parse_marks(expected)[0] == parse_marks(draft)[0]


def test_terms_get_marks_of_the_requested_kind() -> None:
    assert with_marks("ein Hut .", "Hut", kind="~") == "ein ⟦~Hut⟧ ."


words = st.sampled_from(["a", "Hut", "roter Hut", "⟦!a b⟧", "⟦-Hut⟧", "⟦~Hut c⟧", "⟦+⟧", "\\⟦Hut\\⟧", "\\", "b"])


@thorough
@given(draft=st.lists(words, max_size=6).map(" ".join))
def test_marking_terms_keeps_the_text_and_all_marks(draft: str) -> None:
    text, marks = parse_marks(draft)
    same_text, more_marks = parse_marks(with_marks(draft, "Hut", "roter Hut"))
    assert same_text == text and set(marks) <= set(more_marks)


# ---- files -----------------------------------------------------------------------------------------------------------


def test_a_glossary_file_is_parsed_without_blank_lines_and_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(b"hat\tHut\r\n\n  red hat \t roter Hut\nhat\tHut\n")
    assert Glossary.parse(read_lines(path), "terms").terms == {"hat": "Hut", "red hat": "roter Hut"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hat Hut\n", "line 1: .* TAB .*'hat Hut'"),
        (b"\nhat\t\n", "line 2: .* TAB "),
        (b"a\tb\tc\n", "line 1: .* TAB "),
        (b"hat\tHut\nhat\tHuete\n", "line 2: 'hat' .*'Hut'"),
        (b"hat\tH\xfct\n", "line 1 is not UTF-8"),
        (b"\xef\xbb\xbfhat\tHut\n", "byte order mark"),
        (b"hat\t" + b"x" * 201, "line 1: .* 200 characters"),
    ],
)
def test_a_wrong_glossary_file_is_refused_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        Glossary.parse(read_lines(path), str(path))
    assert str(path) in str(error.value)
