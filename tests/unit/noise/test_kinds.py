"""What each kind of noise does to a text, and what it leaves alone."""

from collections import Counter
from collections.abc import Callable

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.noise.confusions import OCR, read_table
from lev_plugins.noise.kinds import known_alphabets
from lev_plugins.noise.layouts import neighbouring_keys
from tests.helpers import BUILT_IN, SAME_NUMBER, noise, thorough

SNIPPETS = [
    *("a", "e", "Rn", "ll", "Straße", "naïve", "nai\u0308ve", "e\u0301\u0323"),
    *("ﬁ", "\u017f", "İ", "ß", "ǅ", "9", "don't"),
    *("👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "🇫", "❤️", "1️⃣", "한국", "각", "ᄀ", "ᅡ", "ᆨ", "क्षि", "กำ", "ไทย", "مُحَمَّد", "שָׁלוֹם", "漢字"),
    *(" ", "  ", "\t", "\r", " \u0301", "\u0301", "\u200d", "\ufe0f", "\u0600", "\u00a0", "\u3000", "\u200b", ",", "—"),
]


anything = st.one_of(st.lists(st.sampled_from(SNIPPETS), max_size=12).map("".join), st.text(max_size=20))


def clusters(line: str) -> Counter[str]:
    """Counts grapheme clusters with the regular expression alone, without the package's fast path."""
    return Counter(regex.findall(r"\X", line))


LETTERS = {letter for letters in known_alphabets().values() for letter in letters}


KEYS = {key for near in neighbouring_keys("qwerty").values() for key in near}


CONFUSED = {part for confusion in read_table(OCR).confusions for part in confusion.noisy}


ANY_CASE = LETTERS | {letter.upper() for letter in LETTERS}


NO_LETTERS: set[str] = set()


ALLOWED_CHANGES: dict[str, tuple[set[str], Callable[[str], bool]]] = {  # what may be new, what may disappear
    "random": (ANY_CASE, lambda cluster: cluster[0].isalnum()),
    "insert": (ANY_CASE, lambda cluster: False),
    "delete": (NO_LETTERS, lambda cluster: cluster[0].isalnum()),
    "substitute": (ANY_CASE, lambda cluster: cluster[0].isalnum()),
    "keyboard": (KEYS, lambda cluster: cluster in KEYS),
    "swap-words": (NO_LETTERS, lambda cluster: False),
    "ocr": (CONFUSED, lambda cluster: any(cluster in variant.clean for variant in read_table(OCR).confusions)),
    "run-on": (NO_LETTERS, lambda cluster: cluster[0].isspace()),
    "split": ({" "}, lambda cluster: False),
}


@pytest.mark.parametrize("kind", [*ALLOWED_CHANGES])
@thorough
@given(anything, st.integers(0, 99), st.sampled_from([(1.0, None), (0.7, 0.5), (None, 0.3)]))
def test_no_cluster_is_broken(kind: str, line: str, index: int, rates: tuple[float | None, float | None]) -> None:
    clean_clusters, new_clusters = clusters(line), clusters(noise(kind, *rates)(line, index))
    allowed, may_be_lost = ALLOWED_CHANGES[kind]
    assert set(new_clusters - clean_clusters) <= allowed
    assert all(map(may_be_lost, clean_clusters - new_clusters))


@thorough
@given(anything, st.integers(0, 99), st.sampled_from([(1.0, None), (0.7, 0.5), (None, 0.3)]))
def test_a_swap_moves_clusters_and_keeps_capitals_in_place(
    line: str, index: int, rates: tuple[float | None, float | None]
) -> None:
    def without_case(counted: Counter[str]) -> Counter[str]:
        return Counter(cluster.upper().casefold() for cluster in counted.elements())

    result = noise("swap", *rates)(line, index)
    assert without_case(clusters(line)) == without_case(clusters(result))


@pytest.mark.parametrize("kind", [*SAME_NUMBER, "random,keyboard:3,swap,swap-words,ocr"])
@thorough
@given(anything, st.integers(0, 99))
def test_white_space_and_the_number_of_lines_stay(kind: str, line: str, index: int) -> None:
    def white(text: str) -> list[str]:
        return [cluster for cluster in regex.findall(r"\X", text) if cluster[0].isspace()]

    assert white(noise(kind, 0.8, 0.3)(line, index)) == white(line)


@thorough
@given(anything, st.integers(0, 99))
def test_a_mixture_of_all_kinds_writes_no_line_break(line: str, index: int) -> None:
    line = line.replace("\n", " ")
    result = noise(",".join(BUILT_IN), 0.8, 0.3)(line, index)
    assert "\n" not in result and bool(result.strip()) == bool(line.strip())


def test_substitutes_come_from_the_script_of_the_word() -> None:
    for word, letters in (("Привет", "CYRILLIC"), ("γειά", "GREEK"), ("ひらがな", "HIRAGANA"), ("1990", "DIGIT")):
        allowed = set(known_alphabets()[letters])
        for index in range(50):
            letters_written = set(noise("substitute", 1.0, 1.0)(word, index).lower())
            assert letters_written <= allowed
    assert noise("substitute", 1.0)("漢字", 0) == "漢字"
    assert set(noise("substitute", 1.0, 1.0, alphabet="xyz")("漢字 abc", 0)) <= set("xyz ")


def test_the_case_of_each_position_is_kept() -> None:
    for kind in ("substitute", "swap", "keyboard"):
        for index in range(100):
            result = noise(kind, 1.0)("AbCdEf", index)
            assert all(letter.isupper() or not letter.isalpha() for letter in result[::2])
            assert all(letter.islower() or not letter.isalpha() for letter in result[1::2])
