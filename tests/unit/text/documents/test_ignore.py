"""Comments of this and other spelling checkers say what to leave alone."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.text.documents.ignore import ignored_spans
from tests.helpers import growth, thorough


def typos_left(text: str, typo: str = "teh") -> list[int]:
    """Returns the numbers, from 1, of the lines with a typo that may be corrected."""
    spans = ignored_spans(text)
    places = [match.span() for match in re.finditer(rf"\b{typo}\b", text)]
    open_places = [a for a, b in places if not any(start < b and a < end for start, end in spans)]
    return sorted({text.count("\n", 0, place) + 1 for place in open_places})


LINES = "teh one\nteh two {}\n\nteh four\nteh five\n"


@pytest.mark.parametrize(
    ("comment", "lines"),
    [
        ("", [1, 2, 4, 5]),
        ("# lev-plugins: ignore", [1, 4, 5]),
        ("// Lev-Plugins:ignore", [1, 4, 5]),
        ("<!-- lev-plugins: ignore teh, recieve -->", [1, 4, 5]),
        ("% lev-plugins: ignore recieve", [1, 2, 4, 5]),
        ("# lev-plugins: ignore tehran", [1, 2, 4, 5]),
        ("; lev-plugins: ignore because-of teh name", [1, 4, 5]),
        ("# lev-plugins: ignore recieve -- not teh", [1, 2, 4, 5]),
        ("/* lev-plugins: ignore-next-line */", [1, 2, 5]),
        ("-- lev-plugins: ignore-next-line recieve", [1, 2, 4, 5]),
        ("# lev-plugins: off", [1, 2]),
        ("# codespell:ignore", [1, 4, 5]),
        ("# codespell:ignore teh,recieve", [1, 4, 5]),
        ("# codespell:ignore recieve", [1, 2, 4, 5]),
        ("# spellchecker:disable-line", [1, 4, 5]),
        ("# spellchecker:ignore-next-line", [1, 2, 5]),
        ("# spellchecker:off", [1, 2]),
        ("// cSpell:disable", [1, 2]),
        ("// cspell:disable-line", [1, 4, 5]),
        ("// cspell:disable-next-line", [1, 2, 5]),
        ("// spell-checker: ignore recieve teh", []),
        ("// cspell:words Teh", []),
        ("// cspell:ignoreRegExp teh", [1, 2, 4, 5]),
        ("--harper:ignore", [4, 5]),
        ("# spellchecker: ignore", [4, 5]),
        ("`lev-plugins: off` turns it off", [1, 2, 4, 5]),
        ('"codespell:ignore" is a comment', [1, 2, 4, 5]),
        ("#xcodespell:ignore", [1, 2, 4, 5]),
    ],
)
def test_a_comment(comment: str, lines: list[int]) -> None:
    assert typos_left(LINES.format(comment)) == lines


@pytest.mark.parametrize(
    ("off", "on", "closes"),
    [
        ("lev-plugins: off", "lev-plugins: on", True),
        ("spellchecker:off", "spellchecker:on", True),
        ("cspell:disable", "cSpell:enable", True),
        ("cspell:disable", "spell-checker:enable", True),
        ("lev-plugins: off", "cspell:enable", False),
    ],
)
def test_off_and_on(off: str, on: str, closes: bool) -> None:
    text = f"teh\r\n# {off}\r\nteh\r\n# {on}\r\nteh\r\n"
    assert typos_left(text) == ([1, 5] if closes else [1])


def test_the_word_before_sic() -> None:
    assert typos_left("teh teh [sic]\nteh [sick]\nteh\n(SIC)\nteh,[*sic*]\n[sic]") == [1, 2]
    assert ignored_spans("[sic]") == []


def test_the_words_of_a_comment_are_not_corrected_either() -> None:
    text = "# lev-plugins: ignore-next-line recieve\nteh\n"
    assert [text[start:end] for start, end in ignored_spans(text)] == ["lev-plugins: ignore-next-line recieve"]


PIECES = ["lev-plugins: ignore", "cspell:", "spellchecker:off", "-next-line", " on", "[sic]", "harper:ignore", "teh"]


@pytest.mark.parametrize(
    "unit", ["lev-plugins: ignore teh ", "cspell:off ", "a [sic]", "harper:ignore\n", "'a", " ", "\n"]
)
def test_time_is_linear_in_the_length_of_the_text(unit: str) -> None:
    assert growth(lambda size: ignored_spans(unit * size + "cspell:disable-line"), 2_000) < 10


@thorough
@given(st.lists(st.one_of(st.sampled_from([*PIECES, *" \n\r\t,-#'\u2019"]), st.text(max_size=3))).map("".join))
def test_spans_are_sorted_apart_and_inside_the_text(text: str) -> None:
    spans = ignored_spans(text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(set(edges)) and all(0 <= edge <= len(text) for edge in edges)
