"""The noise: how much of it there is, and that it is always the same."""

import json
import pickle
import random
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from string import punctuation

import pytest

from lev_plugins.noise import NOISE_KINDS, Corruption, NoiseOptions, build_corruption
from lev_plugins.noise.layouts import known_layouts, neighbouring_keys, shifts
from lev_plugins.noise.text import Line
from lev_plugins.scoring import wrr
from tests.helpers import BUILT_IN, SAME_NUMBER, noise

WORDS = 40_000


@lru_cache(maxsize=1)
def text() -> list[str]:
    """Lines of 4 to 20 words, of which one in ten has one letter, as in English."""
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


# --- how much


@pytest.mark.parametrize("rate", [0.05, 0.3])
@pytest.mark.parametrize("kind", SAME_NUMBER)
def test_word_rate_is_the_share_of_words_that_change(kind: str, rate: float) -> None:
    changed = sum(word != other for word, other in pairs(noise(kind, rate)))
    assert changed / WORDS == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize("kind", [*BUILT_IN, "insert,delete,swap", "swap,swap-words"])
def test_wrr_misses_the_words_that_change_but_counts_moved_and_joined_ones_otherwise(kind: str) -> None:
    lines = text()[:600]
    corrupt = noise(kind, 0.29)
    found = wrr.evaluate(lines, [corrupt(line, index) for index, line in enumerate(lines)])
    share = {"swap-words": 0.145, "swap,swap-words": 0.195, "run-on": 0.49}.get(kind, 0.29)
    assert 1 - found.score == pytest.approx(share, abs=0.01)


def test_short_words_stay_unless_they_are_named() -> None:
    found = pairs(noise("substitute", 0.3, min_letters=3, short_words="E,a,t"))
    named = [word != other for word, other in found if word in ("e", "a", "t")]
    assert len(named) > 1000 and sum(named) / len(named) == pytest.approx(0.3, abs=0.05)
    long = [word != other for word, other in found if len(word) >= 3]
    assert sum(long) / len(long) == pytest.approx(0.3, rel=0.02)
    assert all(word == other for word, other in found if len(word) < 3 and word not in ("e", "a", "t"))


def test_words_that_change_lose_their_capital_as_often_as_asked_and_no_others() -> None:
    corrupt = build_corruption(NoiseOptions("substitute", word_rate=0.5, lower_rate=0.3))
    clean = "Anna (Bobby) NATO maps"
    noisy = [[*corrupt(clean, index).split()] for index in range(4000)]
    for place, (word, loses) in enumerate(zip(clean.split(), (True, True, False, False), strict=True)):
        changed = [line[place] for line in noisy if line[place] != word]
        small = [sum(map(str.isupper, other)) < sum(map(str.isupper, word)) for other in changed]
        assert len(changed) / len(noisy) == pytest.approx(0.5, abs=0.03)
        assert sum(small) / len(small) == pytest.approx(0.3 if loses else 0, abs=0.03)


def test_a_word_whose_slip_is_a_capital_does_not_lose_it_again() -> None:
    corrupt = build_corruption(NoiseOptions("shift", word_rate=1, lower_rate=1))
    words = [word for index in range(50) for word in corrupt("the cat Sat", index).split()]
    assert not {"the", "cat", "Sat"} & {*words} and {"The", "Cat", "sat"} < {*words}


def test_a_varied_rate_is_the_same_on_average_and_another_in_each_line() -> None:
    changes = {}
    for varied in (False, True):
        lines = zip(text(), noisy(noise("substitute", 0.3, varied=varied)), strict=True)
        changes[varied] = [[one != two for one, two in zip(a.split(), b.split(), strict=True)] for a, b in lines]
    assert sum(map(sum, changes[True])) / WORDS == pytest.approx(0.3, rel=0.03)
    clean, most = (
        [sum(test(line) for line in changes[varied]) for varied in (False, True)]
        for test in (lambda line: not any(line), lambda line: sum(line) > len(line) / 2)
    )
    assert clean[1] > 2 * clean[0] and most[1] > 2 * most[0]


@pytest.mark.parametrize("options", [("swap", 1.0), ("random", None, 0.5), ("ocr", None, None), ("run-on", 1.0)])
def test_only_prose_changes(options: tuple) -> None:
    words = ["https://a.org/b", "bob@c.de", "12.50", "`x y`", "e\u0301t\u0301at", "mountains", "morning", "😀", "a.org"]
    draw = random.Random(2)
    lines = [" ".join(draw.choices(words, k=12)) for _ in range(200)]
    corrupt = build_corruption(NoiseOptions(*options, prose=True))
    noisy = [corrupt(line, index) for index, line in enumerate(lines)]
    for kept in ("https://a.org/b", "bob@c.de", "12.50", "`x y`", "😀", " a.org "):
        assert [line.count(kept) for line in noisy] == [line.count(kept) for line in lines]
    assert sum(line != other for line, other in zip(lines, noisy, strict=True)) > 50
    assert any(sum(map(line.count, words[4:7])) < 2 for line in noisy)


def differing(word: str, other: str) -> int:
    return sum(one != two for one, two in zip(word, other, strict=True))


def exchanges(word: str, other: str) -> int:
    """Neighbours in the wrong order, from left to right: exact where no exchange stands next to another."""
    return differing(word, other) // 2


def longer(word: str, other: str) -> int:
    return abs(len(other) - len(word))


SLIPS = [("substitute", differing), ("keyboard", differing), ("insert", longer), ("delete", longer)]


@pytest.mark.parametrize(("kind", "slips"), [*SLIPS, ("swap", exchanges)])
def test_without_char_rate_a_changed_word_has_one_slip(kind: str, slips: Callable[[str, str], int]) -> None:
    assert {slips(word, other) for word, other in pairs(noise(kind, 0.5)) if word != other} == {1}


@pytest.mark.parametrize(("kind", "slips"), [*SLIPS, ("swap", exchanges)])
def test_char_rate_alone_is_the_number_of_slips_by_characters(kind: str, slips: Callable[[str, str], int]) -> None:
    made = sum(slips(word, other) for word, other in pairs(noise(kind, None, 0.02)))
    assert made / characters() == pytest.approx(0.02, rel=0.02)


@pytest.mark.parametrize(("kind", "sign"), [("run-on", -1), ("split", 1)])
def test_rates_of_white_space_come_or_gone(kind: str, sign: int) -> None:
    for rates, places in (((0.05, None), WORDS), ((0.3, None), WORDS), ((None, 0.05), characters())):
        difference = number_of_words(noisy(noise(kind, *rates))) - WORDS
        assert sign * difference / places == pytest.approx(rates[0] or rates[1], rel=0.02)


def test_single_confusions_by_char_rate_and_weighted(tmp_path: Path) -> None:
    table = tmp_path / "confusions.tsv"
    table.write_text("characters\tbecome\trate\n" + "e\tE\t0.03\nt\tT\t0.01\n" + "a\tA\t0.02\n", "utf-8")
    made = pairs(noise("confusions", None, 0.02, confusions=str(table)))
    assert sum(map(differing, *zip(*made, strict=True))) / characters() == pytest.approx(0.02, rel=0.02)
    became, there = "".join(other for _, other in made), "".join(text())
    rates = {letter: became.count(letter.upper()) / there.count(letter) for letter in "eta"}
    assert [rates["e"] / rates["t"], rates["a"] / rates["t"]] == pytest.approx([3, 2], rel=0.15)


def test_without_rates_confusions_happen_as_often_as_the_table_says(tmp_path: Path) -> None:
    table = tmp_path / "confusions.tsv"
    table.write_text("characters\tbecome\trate\ne\tE\t0.1\ne\tF\t0.05\nst\tX\t0.2\n \t\t0.03\n", "utf-8")
    result = "\n".join(noisy(noise("confusions", confusions=str(table))))
    clean = "\n".join(text())
    assert result.count("E") / clean.count("e") == pytest.approx(0.1, rel=0.05)
    assert result.count("F") / clean.count("e") == pytest.approx(0.05, rel=0.05)
    assert result.count("X") / clean.count("st") == pytest.approx(0.2, rel=0.1)
    assert 1 - result.count(" ") / clean.count(" ") == pytest.approx(0.03, rel=0.05)


def test_every_kind_is_tested_here() -> None:
    assert set(NOISE_KINDS) == {*BUILT_IN, "confusions"}


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


def test_a_mixture_keeps_its_weights() -> None:
    changed = [(word, other) for word, other in pairs(noise("substitute:2,delete", 0.5)) if word != other]
    assert len(changed) / WORDS == pytest.approx(0.5, rel=0.02)
    able = [(word, other) for word, other in changed if len(word) > 1]
    assert sum(len(word) > len(other) for word, other in able) / len(able) == pytest.approx(1 / 3, rel=0.03)


# --- the same, always

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "noise.json").read_text("utf-8"))


@pytest.mark.parametrize("kind", [*GOLDEN])
def test_the_noise_of_a_seed_is_the_noise_of_all_versions(kind: str) -> None:
    """A model trained with --seed 1 is trained again on the same text. Do not change golden/noise.json."""
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

    before = random.getstate()
    assert result() == result() == result(backwards=True)
    assert random.getstate() == before
    others = [result(seed=2), result(epoch=2), result(shift=1)]
    for other in others:
        assert sum(one != two for one, two in zip(result(), other, strict=True)) / 300 > 0.5
    assert len({tuple(other) for other in others}) == 3


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


def test_any_alphabet_has_capitals_digits_and_signs() -> None:
    corrupt = build_corruption(NoiseOptions("substitute", word_rate=1.0, alphabet="any"))
    clean, written = "quick brown", Counter[str]()
    for index in range(3000):
        new = corrupt(clean, index)
        assert len(new) == len(clean)
        written.update(letter for letter, old in zip(new, clean, strict=True) if letter != old)
    kinds = [str.islower, str.isupper, str.isdigit, lambda letter: letter in punctuation]
    shares = [sum(n for letter, n in written.items() if kind(letter)) / written.total() for kind in kinds]
    assert shares == pytest.approx([25 / 93, 26 / 93, 10 / 93, 32 / 93], abs=0.02)


def test_a_slip_of_the_shift_key_leaves_the_key() -> None:
    for layout in known_layouts():
        other = shifts(layout)
        assert other and all(other[key] != key for key in other)
    corrupt = build_corruption(NoiseOptions("shift", word_rate=1.0, layout="qwertz"))
    assert {corrupt("z", index) for index in range(5)} == {"Z"} and corrupt("ß7 Ü", 0).casefold() in ("?7 ü", "ß/ ü")


@pytest.mark.parametrize("layout", known_layouts())
def test_a_neighbouring_key_may_be_pressed_with_the_wrong_shift(layout: str) -> None:
    near, other = neighbouring_keys(layout), shifts(layout)
    corrupt = build_corruption(NoiseOptions("keyboard", word_rate=1.0, layout=layout, shift_rate=1.0))
    for key in near:
        written = {corrupt(key, index) for index in range(30)}
        assert key not in written and written <= {other.get(each, each) for each in near[key]}


def test_the_share_of_keys_with_the_wrong_shift() -> None:
    corrupt = build_corruption(NoiseOptions("keyboard", word_rate=1.0, shift_rate=0.3))
    written = [corrupt("g", index) for index in range(3000)]  # all of its neighbours are letters
    assert sum(map(str.isupper, written)) / 3000 == pytest.approx(0.3, abs=0.03)
    half = build_corruption(NoiseOptions("keyboard", word_rate=1.0, shift_rate=0.5))
    fox, jumps, over = ({half(word, index) for index in range(300)} for word in ("fox", "jumps", "over"))
    assert "Gox" in fox and "juJps" in jumps and "ocer" in over  # ConfusionTable 2 of the gated-Trans paper
    printed = build_corruption(NoiseOptions("keyboard", word_rate=0.3, shift_rate=0.5, seed=14))
    assert printed("The quick brown fox jumps over the lazy dog.", 0) == "The quick brown fox juJps over tYe lSzy dog."
