"""The noise: how much of it there is, what it leaves alone, and that it is always the same."""

from __future__ import annotations

import pickle
import random
import statistics
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.data.corruption import KINDS, Corruption, NoiseOptions, build_corruption
from lev_plugins.data.corruption.confusions import OCR, read_table
from lev_plugins.data.corruption.draws import binomial, by_weight, level, stream
from lev_plugins.data.corruption.kinds import known_alphabets
from lev_plugins.data.corruption.layouts import known_layouts, neighbours
from lev_plugins.data.corruption.text import ALONE, Line
from lev_plugins.errors import UserError
from tests.helpers import thorough

WORDS = 100_000
SAME_NUMBER = ["random", "insert", "delete", "substitute", "keyboard", "swap", "swap-words", "ocr"]
BUILT_IN = [*SAME_NUMBER, "run-on", "split"]


def noise(kind: str, word_rate: float | None = None, char_rate: float | None = None, **options: object) -> Corruption:
    return build_corruption(NoiseOptions(kind, word_rate, char_rate, **options))  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def text() -> list[str]:
    """Lines of 4 to 20 words, of which one in ten has one letter, as in English; 100,000 words in all."""
    draw = random.Random(1)
    lines, words = [], 0
    while words < WORDS:
        size = min(draw.randint(4, 20), WORDS - words)
        lengths = [1 if draw.random() < 0.1 else draw.randint(2, 9) for _ in range(size)]
        lines.append(" ".join("".join(draw.choices("eeettaaooinshrdlcumwfgypb", k=length)) for length in lengths))
        words += size
    return lines


def noisy(corrupt: Corruption) -> list[str]:
    return [corrupt(line, index) for index, line in enumerate(text())]


def pairs(corrupt: Corruption) -> list[tuple[str, str]]:
    """All words beside what became of them."""
    lines = [(line.split(), other.split()) for line, other in zip(text(), noisy(corrupt), strict=True)]
    return [pair for words, others in lines for pair in zip(words, others, strict=True)]


def number_of_words(lines: list[str]) -> int:
    return sum(len(line.split()) for line in lines)


def characters() -> int:
    return sum(len("".join(line.split())) for line in text())


MODULES = ["confusions", "corrupt", "draws", "kinds", "layouts", "learning", "options", "text"]


# --- how much: within 2 % of what was asked, over 100,000 words


@pytest.mark.parametrize("rate", [0.05, 0.3])
@pytest.mark.parametrize("kind", SAME_NUMBER)
def test_word_rate_is_the_share_of_words_that_change(kind: str, rate: float) -> None:
    changed = sum(word != other for word, other in pairs(noise(kind, rate)))
    assert changed / WORDS == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize("rate", [0.05, 0.3])
@pytest.mark.parametrize(("kind", "sign"), [("run-on", -1), ("split", 1)])
def test_word_rate_is_the_share_of_words_joined_or_split(kind: str, sign: int, rate: float) -> None:
    difference = number_of_words(noisy(noise(kind, rate))) - WORDS
    assert sign * difference / WORDS == pytest.approx(rate, rel=0.02)


def differing(word: str, other: str) -> int:
    return sum(one != two for one, two in zip(word, other, strict=True))


def exchanges(word: str, other: str) -> int:
    """Neighbours in the wrong order, from left to right: exact where no exchange stands next to another."""
    return differing(word, other) // 2


def longer(word: str, other: str) -> int:
    return len(other) - len(word)


def shorter(word: str, other: str) -> int:
    return len(word) - len(other)


SLIPS = [("substitute", differing), ("keyboard", differing), ("insert", longer), ("delete", shorter)]


@pytest.mark.parametrize(("kind", "slips"), [*SLIPS, ("swap", exchanges)])
def test_without_char_rate_a_changed_word_has_one_slip(kind: str, slips: Callable[[str, str], int]) -> None:
    assert {slips(word, other) for word, other in pairs(noise(kind, 0.5)) if word != other} == {1}


@pytest.mark.parametrize(("kind", "slips"), SLIPS[:3])
def test_with_char_rate_a_changed_word_has_as_many_slips_as_its_length_asks_for(
    kind: str, slips: Callable[[str, str], int]
) -> None:
    changed = [(word, other) for word, other in pairs(noise(kind, 0.5, 0.25)) if word != other]
    assert len(changed) / WORDS == pytest.approx(0.5, rel=0.02)
    made = sum(slips(word, other) for word, other in changed)
    assert made == pytest.approx(sum(max(1, 0.25 * len(word)) for word, _ in changed), rel=0.02)
    long = [(word, other) for word, other in changed if len(word) >= 4]
    made = sum(slips(word, other) for word, other in long)
    assert made / sum(len(word) for word, _ in long) == pytest.approx(0.25, rel=0.02)


@pytest.mark.parametrize(("kind", "slips"), SLIPS)
def test_char_rate_alone_is_the_number_of_slips_by_characters(kind: str, slips: Callable[[str, str], int]) -> None:
    made = sum(slips(word, other) for word, other in pairs(noise(kind, None, 0.04)))
    assert made / characters() == pytest.approx(0.04, rel=0.02)


@pytest.mark.parametrize(("kind", "sign"), [("run-on", -1), ("split", 1)])
def test_char_rate_alone_counts_white_space_come_or_gone(kind: str, sign: int) -> None:
    difference = number_of_words(noisy(noise(kind, None, 0.05))) - WORDS
    assert sign * difference / characters() == pytest.approx(0.05, rel=0.02)


def test_char_rate_alone_for_exchanges_and_confusions() -> None:
    swapped = sum(exchanges(word, other) for word, other in pairs(noise("swap", None, 0.02)))
    assert swapped / characters() == pytest.approx(0.02, rel=0.02)
    moved = sum(word != other for word, other in pairs(noise("swap-words", None, 0.01)))
    assert moved / 2 / characters() == pytest.approx(0.01, rel=0.02)


def test_single_confusions_by_char_rate_and_weighted(tmp_path: Path) -> None:
    table = tmp_path / "confusions.tsv"
    table.write_text("characters\tbecome\trate\n" + "e\tE\t0.03\nt\tT\t0.01\n" + "a\tA\t0.02\n", "utf-8")
    made = pairs(noise("confusions", None, 0.02, confusions=str(table)))
    assert sum(map(differing, *zip(*made, strict=True))) / characters() == pytest.approx(0.02, rel=0.02)
    became = Counter(letter for _, other in made for letter in other if letter.isupper())
    there = Counter("".join("".join(line.split()) for line in text()))
    rates = {letter: became[letter.upper()] / there[letter] for letter in "eta"}
    assert rates["e"] / rates["t"] == pytest.approx(3, rel=0.1)
    assert rates["a"] / rates["t"] == pytest.approx(2, rel=0.1)


def test_without_rates_confusions_happen_as_often_as_the_table_says(tmp_path: Path) -> None:
    table = tmp_path / "confusions.tsv"
    table.write_text("characters\tbecome\trate\ne\tE\t0.1\ne\tF\t0.05\nst\tX\t0.2\n \t\t0.03\n", "utf-8")
    result = "\n".join(noisy(noise("confusions", confusions=str(table))))
    clean = "\n".join(text())
    assert result.count("E") / clean.count("e") == pytest.approx(0.1, rel=0.05)
    assert result.count("F") / clean.count("e") == pytest.approx(0.05, rel=0.05)
    assert result.count("X") / clean.count("st") == pytest.approx(0.2, rel=0.1)
    assert 1 - result.count(" ") / clean.count(" ") == pytest.approx(0.03, rel=0.05)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_no_rate_is_no_noise(kind: str) -> None:
    assert noisy(noise(kind, 0.0))[:200] == text()[:200] == noisy(noise(kind, None, 0.0))[:200]


def test_all_words_change_that_can() -> None:
    for kind in ("random", "insert", "substitute", "keyboard"):
        assert all(word != other for word, other in pairs(noise(kind, 1.0)))
    for kind in ("delete", "swap"):
        for word, other in pairs(noise(kind, 1.0)):
            assert (word == other) == (len(word) == 1 if kind == "delete" else len(set(word)) == 1)
    assert all(len(line.split()) == 1 for line in noisy(noise("run-on", 1.0)))


def test_a_word_changes_even_where_two_slips_could_undo_each_other() -> None:
    corrupt = noise("insert,delete", 1.0, 1.0, alphabet="a")
    assert all(corrupt("aaaa", index) != "aaaa" for index in range(300))


@pytest.mark.parametrize("kind", BUILT_IN)
def test_there_is_never_more_noise_than_asked(kind: str) -> None:
    """Where hardly a word can be changed, those that can are, and no more."""
    for line in ("a", "a a a", "!? -- ...", "", "  ", "漢", "aaa"):
        for index in range(20):
            assert len(noise(kind, 1.0)(line, index).split()) <= 2 * len(line.split())
    if kind in ("swap", "delete", "split"):
        assert {noise(kind, 1.0)("a b  c", index) for index in range(20)} == {"a b  c"}


def test_a_word_that_cannot_change_leaves_its_turn_to_another() -> None:
    line = "a b c it is so we go on"
    changed = [
        sum(word != other for word, other in zip(line.split(), noise("swap", 0.4)(line, index).split(), strict=True))
        for index in range(2000)
    ]
    expected = sum(min(binomial(9, 0.4, (index + 0.5) / 2000), 6) for index in range(2000))
    assert sum(changed) == pytest.approx(expected, rel=0.02)
    assert expected / 2000 / 9 > 0.39


def test_the_words_of_a_line_are_changed_as_if_drawn_one_by_one() -> None:
    """Not the same number in every line: the mean and the spread of a binomial distribution."""
    line = " ".join(["word"] * 20)
    corrupt = noise("substitute", 0.2)
    counts = [20 - corrupt(line, index).split().count("word") for index in range(3000)]
    assert statistics.mean(counts) == pytest.approx(4, rel=0.01)
    assert statistics.pvariance(counts) == pytest.approx(20 * 0.2 * 0.8, rel=0.05)
    places = Counter(
        at for index in range(3000) for at, word in enumerate(corrupt(line, index).split()) if word != "word"
    )
    assert max(places.values()) < 1.3 * min(places.values())


@pytest.mark.parametrize(("trials", "rate"), [(1, 0.3), (12, 0.05), (200, 0.5), (5000, 0.9)])
def test_the_levels_make_a_binomial_distribution(trials: int, rate: float) -> None:
    counts = [binomial(trials, rate, (at + 0.5) / 20_000) for at in range(20_000)]
    assert statistics.mean(counts) == pytest.approx(trials * rate, rel=0.002)
    assert statistics.pvariance(counts) == pytest.approx(trials * rate * (1 - rate), rel=0.02)


def test_every_line_of_a_block_has_its_own_level() -> None:
    levels = [level(7, 3, index, stream(7, 3, index)) for index in range(64, 128)]
    assert sorted(int(64 * at) for at in levels) == list(range(64))


def test_a_mixture_keeps_its_weights() -> None:
    changed = [(word, other) for word, other in pairs(noise("substitute:2,delete", 0.5)) if word != other]
    assert len(changed) / WORDS == pytest.approx(0.5, rel=0.02)
    able = [(word, other) for word, other in changed if len(word) > 1]
    assert sum(len(word) > len(other) for word, other in able) / len(able) == pytest.approx(1 / 3, rel=0.03)


def test_random_is_insert_delete_and_substitute_alike() -> None:
    able = [(word, other) for word, other in pairs(noise("random", 0.5)) if word != other and len(word) > 1]
    sizes = Counter(longer(word, other) for word, other in able)
    assert set(sizes) == {-1, 0, 1}
    assert all(count / len(able) == pytest.approx(1 / 3, rel=0.03) for count in sizes.values())


def test_by_weight_comes_to_all_and_to_the_heavier_ones_first() -> None:
    weights = [1.0, 2.0, 5.0]
    orders = [tuple(by_weight([7, 8, 9], weights, stream(1, 1, index))) for index in range(4000)]
    assert all(sorted(order) == [7, 8, 9] for order in orders)
    first = Counter(order[0] for order in orders)
    assert [first[at] / 4000 for at in (7, 8, 9)] == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.03)
    then = Counter(order[1] for order in orders if order[0] == 9)
    assert then[8] / then[7] == pytest.approx(2, rel=0.15)


# --- the same, always

GOLDEN = {
    "random": [
        "he quqck brown fox jumps over the lgzy dog.",
        "Dr  Fu\xdf es B\xe4ren,\t\xe9 und 990 \u2014 \u041f\u0440\u0438\u0446\u044b\u0432\u0435\u0442!",
    ],
    "insert": [
        "LThe quick brown fox jumps over the lxazy doog.",
        "Dqer  Fuo\xdf pdes B\xe4ren,\t\xe9 und 19990 \u2014 \u041f\u0440\u0438\u0432\u0435\u0442!",
    ],
    "delete": [
        "The quck brown fox jumps over the lzy og.",
        "Dr  Fu\xdf es \xe4ren,\t\xe9 und 990 \u2014 \u041f\u0440\u0438\u0432\u0435\u0442!",
    ],
    "substitute": [
        "The euick brown nox jumps over the lxzy dog.",
        "Dpr  Fu\xdf qes B\xe4ren,\t\xe9 und 6990 \u2014 \u041f\u0440\u0435\u0432\u0446\u0442!",
    ],
    "keyboard": [
        "The 1uick brown gox jumps over the lzzy dog.",
        "Drr  Fu\xdf fes B\xe4ren,\t\xe9 und 2990 \u2014 \u041f\u0440\u0438\u0432\u0435\u0442@",
    ],
    "swap": [
        "The qucik brown fox jumps over the lzay odg.",
        "Dre  Fu\xdf eds \xc4bren,\t\xe9 und 9190 \u2014 \u041f\u0440\u0438\u0432\u0435\u0442!",
    ],
    "swap-words": [
        "quick The brown fox jumps over the dog. lazy",
        "Der  Fu\xdf B\xe4ren, des\tund \xe9 1990 \u2014 \u041f\u0440\u0438\u0432\u0435\u0442!",
    ],
    "run-on": [
        "Thequick brownfox jumps over the lazydog.",
        "DerFu\xdf desB\xe4ren,\xe9und 1990 \u2014 \u041f\u0440\u0438\u0432\u0435\u0442!",
    ],
    "split": [
        "The qui ck brown fox jumps over the la zy d og.",
        "De r  Fu\xdf d es B \xe4ren,\t\xe9 und 1 990 \u2014 \u041f\u0440\u0438\u0432\u0435\u0442!",
    ],
    "ocr": [
        "The qiiick brown tox jumps over the Iazy dog.",
        "Dcr  Fu\xdf cles B\xe4ren,\t\xe9 und l990 \u2014 \u041f\u0440\u0438\u0432\u0435\u0442l",
    ],
    "keyboard:2,swap:1,split": [
        "Tue quick brown fox jumps over the laz7 do g.",
        "D4r  F\xdfu d3s B\xe4ren,\t\xe9 und 9190 \u2014 \u041f\u0440\u0438\u0432\u0435\u0442!",
    ],
}


@pytest.mark.parametrize("kind", [*GOLDEN])
def test_the_noise_of_a_seed_is_the_noise_of_all_versions(kind: str) -> None:
    """A model trained with --seed 1 is trained again on the same text. Do not change these lines."""
    corrupt = noise(kind, 0.5, 0.2, seed=1)
    lines = ["The quick brown fox jumps over the lazy dog.", "Der  Fuß des Bären,\té und 1990 — Привет!"]
    assert [corrupt(line, index, epoch=2) for index, line in enumerate(lines)] == GOLDEN[kind]


def test_noise_depends_on_seed_epoch_and_index_alone() -> None:
    lines = text()[:300]

    def result(seed: int = 1, epoch: int = 1, shift: int = 0, backwards: bool = False) -> list[str]:
        corrupt = pickle.loads(pickle.dumps(noise("random:2,ocr", 0.3, seed=seed)))
        order = sorted(enumerate(lines, shift), reverse=backwards)
        found = {index: corrupt(line, index, epoch) for index, line in order}
        return [found[index] for index in sorted(found)]

    assert result() == result() == result(backwards=True)
    others = [result(seed=2), result(epoch=2), result(shift=1)]
    for other in others:
        assert sum(one != two for one, two in zip(result(), other, strict=True)) / 300 > 0.5
    assert len({tuple(other) for other in others}) == 3


def test_noise_leaves_the_global_generator_alone() -> None:
    before = random.getstate()
    noise("random", 1.0)("some words", 0)
    assert random.getstate() == before


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
KEYS = {key for near in neighbours("qwerty").values() for key in near}
CONFUSED = {part for confusion in read_table(OCR).confusions for part in confusion.noisy}
WRITTEN = {
    "random": LETTERS | {letter.upper() for letter in LETTERS},
    "insert": LETTERS | {letter.upper() for letter in LETTERS},
    "delete": set(),
    "substitute": LETTERS | {letter.upper() for letter in LETTERS},
    "keyboard": KEYS,
    "swap-words": set(),
    "ocr": CONFUSED,
    "run-on": set(),
    "split": {" "},
}
CHANGED = {  # what may disappear
    "random": lambda cluster: cluster[0].isalnum(),
    "insert": lambda cluster: False,
    "delete": lambda cluster: cluster[0].isalnum(),
    "substitute": lambda cluster: cluster[0].isalnum(),
    "keyboard": lambda cluster: cluster in KEYS,
    "swap-words": lambda cluster: False,
    "ocr": lambda cluster: any(cluster in found.clean for found in read_table(OCR).confusions),
    "run-on": lambda cluster: cluster[0].isspace(),
    "split": lambda cluster: False,
}


@pytest.mark.parametrize("kind", [*WRITTEN])
@thorough
@given(anything, st.integers(0, 99), st.sampled_from([(1.0, None), (0.7, 0.5), (None, 0.3)]))
def test_no_cluster_is_broken(kind: str, line: str, index: int, rates: tuple[float | None, float | None]) -> None:
    before, after = clusters(line), clusters(noise(kind, *rates)(line, index))
    assert set(after - before) <= WRITTEN[kind]
    assert all(CHANGED[kind](cluster) for cluster in before - after)


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


def test_words_that_are_not_chosen_stay_to_the_letter() -> None:
    for word, other in pairs(noise("random", 0.2)):
        assert word == other or 0 < len(other) <= len(word) + 1
    assert noise("delete", 1.0)("  \uff21  ab\u00a0ABC \t", 4).split("b")[0].startswith("  \uff21  ")


def test_the_quick_path_takes_only_what_stands_alone() -> None:
    """No code point of it joins a neighbour of it: all are of cluster classes that break on both sides."""
    breaking = regex.compile(r"[\p{GCB=Other}\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]")
    quick = [chr(code) for code in range(0x110000) if ALONE.fullmatch(chr(code))]
    assert len(quick) > 40_000
    assert [hex(ord(letter)) for letter in quick if not breaking.fullmatch(letter)] == []


def test_quick_and_slow_path_make_the_same_noise() -> None:
    """A flag at the end of a line brings it onto the slow path, and is no word that could change."""
    for kind in BUILT_IN:
        if kind in ("swap-words", "run-on"):  # the flag can move
            continue
        corrupt = noise(kind, None, 0.1)
        for index, line in enumerate(text()[:50]):
            assert corrupt(f"{line}\u3000🇩🇪", index).count("🇩🇪") == 1
            words = Line(f"{line} 🇩🇪").words()[:-1]
            assert [tuple(word)[:2] for word in words] == [tuple(word)[:2] for word in Line(line).words()]


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
        near = neighbours(layout)
        assert len(near) > 80
        assert all(near.values())
        assert all(key in near[other] and key != other for key in near for other in near[key])


@pytest.mark.parametrize(
    ("layout", "key", "near"),
    [("qwerty", "a", "qwsz"), ("qwertz", "y", "<asx"), ("azerty", "q", "azsw<"), ("dvorak", "a", "',o;")],
)
def test_some_keys(layout: str, key: str, near: str) -> None:
    assert set(neighbours(layout)[key]) == set(near)


def test_a_layout_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "pad.txt"
    path.write_text("0 123 !?.\n0 456 ¤,;\n", "utf-8")
    assert neighbours(str(path))["5"] == ("2", "4", "6")
    assert neighbours(str(path))["!"] == ("?",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0 123 !?\n", r"pad.txt:1: a row is where it starts, its characters and as many with shift, but is '0 123"),
        (b"0 12 !?\nx 34 ab\n", "pad.txt:2: a row is"),
        (b"0 12 !?\n\n", "pad.txt:2: a row is .* but is ''"),
        (b"\xff", "pad.txt is not UTF-8 text"),
    ],
)
def test_a_layout_that_is_none(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "pad.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        noise("keyboard", 0.1, layout=str(path))


def test_ocr_makes_known_confusions() -> None:
    results = {noise("ocr", 1.0)(word, index) for word in ("corner", "di\u017ft", "mill") for index in range(200)}
    assert {"comer", "dift", "rnill", "miU"} <= results


def test_words_are_confused_as_words(tmp_path: Path) -> None:
    table = tmp_path / "confusions.tsv"
    table.write_text(
        "words\tbecome\trate\nthe\t\t0.5\ntheir\tthere\t0.5\na lot\talot\t0.5\nis\tis been\t0.5\n", "utf-8"
    )

    def results(line: str) -> set[str]:
        corrupt = noise("confusions", confusions=str(table))
        return {corrupt(line, index) for index in range(200)}

    assert results("Their theirs  a lot") == {
        "Their theirs  a lot",
        "There theirs  a lot",
        "Their theirs  alot",
        "There theirs  alot",
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
        ("rn\tm\t0.1\n", r"t.tsv:1: a file of confusions starts with 'characters\\tbecome\\trate' or 'words"),
        ("characters\tbecome\trate\n", "t.tsv has no confusions"),
        ("characters\tbecome\trate\nrn\tm\n", "t.tsv:2: a confusion has 3 columns, but .* has 2"),
        ("characters\tbecome\trate\nrn\trn\t0.1\n", "t.tsv:2: 'rn' must be something, and become something else"),
        ("characters\tbecome\trate\n\trn\t0.1\n", "t.tsv:2: '' must be something"),
        ("characters\tbecome\trate\nrn\tm\t1.5\n", "t.tsv:2: a rate must be above 0 and at most 1, but is 1.5"),
        ("characters\tbecome\trate\nrn\tm\tmuch\n", "a rate must be above 0 and at most 1, but is much"),
        ("characters\tbecome\trate\nr n\tm\t0.1\n", "white space may only end 'r n'"),
    ],
)
def test_a_table_that_is_none(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(content, "utf-8")
    with pytest.raises(UserError, match=message):
        noise("confusions", confusions=str(path))


def test_a_table_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"t.tsv is not UTF-8 text: `lev-plugins confusions` writes such files"):
        noise("confusions", confusions=str(tmp_path / "t.tsv"))


# --- what cannot be asked for


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (NoiseOptions("typos", 0.1), "--kind has no 'typos': choose from random, insert, .*, confusions"),
        (NoiseOptions("swap,", 0.1), "--kind has no ''"),
        (NoiseOptions("swap,swap", 0.1), "--kind names swap twice"),
        (NoiseOptions("swap:0", 0.1), "--kind: a weight must be above 0, but 'swap:0' has 0"),
        (NoiseOptions("swap:inf", 0.1), "--kind: a weight must be above 0, but 'swap:inf' has inf"),
        (NoiseOptions("swap:x", 0.1), "--kind: a weight is a number, as in keyboard:2, but 'swap:x' has 'x'"),
        (NoiseOptions("swap", 1.5), "--word-rate must be between 0 and 1, but is 1.5"),
        (NoiseOptions("swap", None, -0.1), "--char-rate must be between 0 and 1, but is -0.1"),
        (NoiseOptions("swap", float("nan")), "--word-rate must be between 0 and 1, but is nan"),
        (NoiseOptions("swap"), "--kind swap needs --word-rate, --char-rate or both: only ocr or confusions alone"),
        (NoiseOptions("swap,ocr"), "--kind swap,ocr needs --word-rate, --char-rate or both"),
        (NoiseOptions("keyboard", 0.1, layout="qwertzy"), "--layout has no qwertzy: choose from azerty, .*qwertz"),
        (NoiseOptions("confusions", 0.1), "--confusions FILE and the kind confusions go together"),
        (NoiseOptions("swap", 0.1, confusions="x.tsv"), "--confusions FILE and the kind confusions go together"),
        (NoiseOptions("insert", 0.1, alphabet=""), "--alphabet must have letters, but is empty"),
        (NoiseOptions("typos", 0.1, prefix="--noise-"), "--noise-kind has no 'typos'"),
        (NoiseOptions("keyboard", 0.1, layout="x", prefix="--noise-"), "--noise-layout has no x"),
    ],
)
def test_errors_name_the_flag_the_rule_and_the_value(options: NoiseOptions, message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_corruption(options)


def test_every_kind_is_tested_here() -> None:
    assert set(KINDS) == {*BUILT_IN, "confusions"}
