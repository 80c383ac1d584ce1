"""What the noise does to a text, what it leaves alone, and the layouts and tables it is made by."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.errors import UserError
from lev_plugins.noise import NoiseOptions, build_corruption
from lev_plugins.noise.confusions import OCR, read_table
from lev_plugins.noise.kinds import known_alphabets
from lev_plugins.noise.layouts import known_layouts, neighbouring_keys
from lev_plugins.noise.text import ALONE
from tests.helpers import BUILT_IN, SAME_NUMBER, noise, thorough

# --- what is left alone

SNIPPETS = [
    *(
        "a",
        "e",
        "Rn",
        "ll",
        "Straße",
        "naïve",
        "nai\u0308ve",
        "e\u0301\u0323",
        "ﬁ",
        "\u017f",
        "İ",
        "ß",
        "ǅ",
        "9",
        "don't",
    ),
    *("👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "🇫", "❤️", "1️⃣", "한국", "각", "ᄀ", "ᅡ", "ᆨ", "क्षि", "กำ", "ไทย", "مُحَمَّد", "שָׁלוֹם", "漢字"),
    *(" ", "  ", "\t", "\r", " \u0301", "\u0301", "\u200d", "\ufe0f", "\u0600", "\u00a0", "\u3000", "\u200b", ",", "—"),
]
anything = st.one_of(st.lists(st.sampled_from(SNIPPETS), max_size=12).map("".join), st.text(max_size=20))


def clusters(line: str) -> Counter[str]:
    """By another way than the package's: always by the search for clusters, never letter by letter."""
    return Counter(regex.findall(r"\X", line))


LETTERS = {letter for letters in known_alphabets().values() for letter in letters}
KEYS = {key for near in neighbouring_keys("qwerty").values() for key in near}
CONFUSED = {part for confusion in read_table(OCR).confusions for part in confusion.noisy}
ANY_CASE = LETTERS | {letter.upper() for letter in LETTERS}
NOTHING: set[str] = set()
CHANGES: dict[str, tuple[set[str], Callable[[str], bool]]] = {  # what may be new, what may disappear
    "random": (ANY_CASE, lambda cluster: cluster[0].isalnum()),
    "insert": (ANY_CASE, lambda cluster: False),
    "delete": (NOTHING, lambda cluster: cluster[0].isalnum()),
    "substitute": (ANY_CASE, lambda cluster: cluster[0].isalnum()),
    "keyboard": (KEYS, lambda cluster: cluster in KEYS),
    "swap-words": (NOTHING, lambda cluster: False),
    "ocr": (CONFUSED, lambda cluster: any(cluster in found.clean for found in read_table(OCR).confusions)),
    "run-on": (NOTHING, lambda cluster: cluster[0].isspace()),
    "split": ({" "}, lambda cluster: False),
}


@pytest.mark.parametrize("kind", [*CHANGES])
@thorough
@given(anything, st.integers(0, 99), st.sampled_from([(1.0, None), (0.7, 0.5), (None, 0.3)]))
def test_no_cluster_is_broken(kind: str, line: str, index: int, rates: tuple[float | None, float | None]) -> None:
    before, after = clusters(line), clusters(noise(kind, *rates)(line, index))
    written, may_go = CHANGES[kind]
    assert set(after - before) <= written
    assert all(map(may_go, before - after))


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


def test_the_quick_path_takes_only_what_stands_alone() -> None:
    """No code point of it joins a neighbour of it: all are of cluster classes that break on both sides."""
    breaking = regex.compile(r"[\p{GCB=Other}\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]")
    quick = [chr(code) for code in range(0x110000) if ALONE.fullmatch(chr(code))]
    assert len(quick) > 40_000
    assert [hex(ord(letter)) for letter in quick if not breaking.fullmatch(letter)] == []


def test_letters_come_from_the_script_that_is_there() -> None:
    for word, letters in (("Привет", "CYRILLIC"), ("γειά", "GREEK"), ("ひらがな", "HIRAGANA"), ("1990", "DIGIT")):
        allowed = set(known_alphabets()[letters])
        for index in range(50):
            new = set(noise("substitute", 1.0, 1.0)(word, index).lower())
            assert new <= allowed
    assert noise("substitute", 1.0)("漢字", 0) == "漢字"
    assert set(noise("substitute", 1.0, 1.0, alphabet="xyz")("漢字 abc", 0)) <= set("xyz ")


def test_case_stays_in_place() -> None:
    for kind in ("substitute", "swap", "keyboard"):
        for index in range(100):
            result = noise(kind, 1.0)("AbCdEf", index)
            assert all(other.isupper() or not other.isalpha() for other in result[::2])
            assert all(other.islower() or not other.isalpha() for other in result[1::2])


# --- keyboards and confusions


def test_neighbouring_keys_are_neighbours_of_each_other() -> None:
    assert {"qwerty", "qwertz", "azerty", "dvorak"} <= set(known_layouts())
    for layout in known_layouts():
        near = neighbouring_keys(layout)
        assert len(near) > 80
        assert all(near.values())
        assert all(key in near[other] and key != other for key in near for other in near[key])


@pytest.mark.parametrize(
    ("layout", "key", "near"),
    [("qwerty", "a", "qwsz"), ("qwertz", "y", "<asx"), ("azerty", "q", "azsw<"), ("dvorak", "a", "',o;")],
)
def test_some_keys(layout: str, key: str, near: str) -> None:
    assert set(neighbouring_keys(layout)[key]) == set(near)


def test_a_layout_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "pad.txt"
    path.write_text("0 123 !?.\n0 456 ¤,;\n", "utf-8")
    assert neighbouring_keys(str(path))["5"] == ("2", "4", "6")
    assert neighbouring_keys(str(path))["!"] == ("?",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0 123 !?\n", "pad.txt:1: a row must be START KEYS SHIFTED, the last two equally long, but is '0 123"),
        (b"0 12 !?\nx 34 ab\n", "pad.txt:2: a row must be START KEYS SHIFTED"),
        (b"0 12 !?\n\n", "pad.txt:2: a row must be START KEYS SHIFTED.* but is ''"),
        (b"\xff", "pad.txt is not UTF-8 text"),
    ],
)
def test_a_layout_that_is_none(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "pad.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        noise("keyboard", 0.1, layout=str(path))


def test_words_are_confused_as_words(tmp_path: Path) -> None:
    table = tmp_path / "confusions.tsv"
    rows = ["words\tbecome\trate", "the\t\t0.5", "their\tthere\t0.5", "a lot\talot\t0.5", "is\tis been\t0.5"]
    table.write_text("".join(f"{row}\n" for row in rows), "utf-8")

    def results(line: str) -> set[str]:
        corrupt = noise("confusions", confusions=str(table))
        return {corrupt(line, index) for index in range(200)}

    assert results("Their theirs  a lot") == {
        f"The{end} theirs  {lot}" for end in ("ir", "re") for lot in ("a lot", "alot")
    }
    assert results("The  cat") == {"The  cat", "cat"}
    assert results("see the") == {"see the", "see"}
    assert results("the") == {"the"}
    assert results("the the") == {"the the", "the"}
    assert results("it is") == {"it is", "it is been"}
    changed = [noise("confusions", 0.25, confusions=str(table))("it was their house", index) for index in range(2000)]
    assert 1 - changed.count("it was their house") / 2000 == pytest.approx(1 - 0.75**4, rel=0.02)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\xff", "t.tsv is not UTF-8 text: create it with `lev-plugins confusions`"),
        ("rn\tm\t0.1\n", r"t.tsv:1: the first line must be 'characters\\tbecome\\trate' or 'words"),
        ("characters\tbecome\trate\n", "t.tsv has no confusions: add at least one below its first line"),
        ("characters\tbecome\trate\nrn\tm\n", "t.tsv:2: a confusion must have 3 columns, but .* has 2"),
        ("characters\tbecome\trate\nrn\trn\t0.1\n", "t.tsv:2: 'rn' must become something else, but stays the same"),
        ("characters\tbecome\trate\n\trn\t0.1\n", "t.tsv:2: the first column must not be empty"),
        ("characters\tbecome\trate\nrn\tm\t1.5\n", "t.tsv:2: the rate must be above 0 and at most 1, but is 1.5"),
        ("characters\tbecome\trate\nrn\tm\tmuch\n", "t.tsv:2: the rate must be a number, but is 'much'"),
        ("characters\tbecome\trate\nr n\tm\t0.1\n", "white space may only be the last character of the first column"),
    ],
)
def test_a_table_that_is_none(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(content, "latin-1")
    with pytest.raises(UserError, match=message):
        noise("confusions", confusions=str(path))


# --- what cannot be asked for


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (NoiseOptions("typos", 0.1), "--kind 'typos' is unknown: choose from random, insert, .*, confusions"),
        (NoiseOptions("swap,", 0.1), "--kind '' is unknown"),
        (NoiseOptions("swap,swap", 0.1), "--kind names swap twice"),
        (NoiseOptions("swap:0", 0.1), "--kind: the weight in 'swap:0' must be above 0, but is 0"),
        (NoiseOptions("swap:x", 0.1), "--kind: a weight must be a number, as in keyboard:2, but 'swap:x' has 'x'"),
        (NoiseOptions("swap", 1.5), "--word-rate must be between 0 and 1, but is 1.5"),
        (NoiseOptions("swap"), "--kind swap needs --word-rate, --char-rate or both: only ocr or confusions has rates"),
        (NoiseOptions("swap", 0.1, layout="dvorak"), "--layout is for the kind keyboard or shift: name it, or leave"),
        (NoiseOptions("keyboard", 0.1, alphabet="abc"), "--alphabet is for the kind random"),
        (NoiseOptions("ocr", varied=True), "--varied needs --word-rate, --char-rate or both"),
        (NoiseOptions("keyboard", 0.1, layout="qwertzy"), "--layout qwertzy is unknown: choose from azerty, .*qwertz"),
        (NoiseOptions("confusions", 0.1), "--confusions FILE and the kind confusions go together"),
        (NoiseOptions("swap", 0.1, confusions="x.tsv"), "--confusions FILE and the kind confusions go together"),
        (NoiseOptions("insert", 0.1, alphabet=""), "--alphabet must have letters, but is empty"),
        (NoiseOptions("keyboard", 0.1, shift_rate=2), "--shift-rate must be between 0 and 1, but is 2"),
        (NoiseOptions("shift", 0.1, shift_rate=0.5), "--shift-rate is for the kind keyboard: name it, or"),
        (NoiseOptions("typos", 0.1, prefix="--noise-"), "--noise-kind 'typos' is unknown"),
    ],
)
def test_errors_name_the_flag_the_rule_and_the_value(options: NoiseOptions, message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_corruption(options)
