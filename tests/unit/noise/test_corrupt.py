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

WORD_COUNT = 40_000


@lru_cache(maxsize=1)
def clean_lines() -> list[str]:
    """Returns lines of 4 to 20 words, of which one in ten has one letter, as in English."""
    draw = random.Random(1)
    lines, words = [], 0
    while words < WORD_COUNT:
        size = min(draw.randint(4, 20), WORD_COUNT - words)
        lengths = [1 if draw.random() < 0.1 else draw.randint(2, 9) for _ in range(size)]
        lines.append(" ".join("".join(draw.choices("eeettaaooinshrdlcumwfgypb", k=length)) for length in lengths))
        words += size
    return lines


def noisy_lines(corrupt: Corruption) -> list[str]:
    return [corrupt(line, index) for index, line in enumerate(clean_lines())]


def word_pairs_of(corrupt: Corruption) -> list[tuple[str, str]]:
    """Returns every clean word with its noisy word."""
    lines = [(line.split(), noisy.split()) for line, noisy in zip(clean_lines(), noisy_lines(corrupt), strict=True)]
    return [pair for words, noisy_words in lines for pair in zip(words, noisy_words, strict=True)]


def number_of_words(lines: list[str]) -> int:
    return sum(len(line.split()) for line in lines)


def letter_count() -> int:
    return sum(len("".join(line.split())) for line in clean_lines())


# --- how much


@pytest.mark.parametrize("rate", [0.05, 0.3])
@pytest.mark.parametrize("kind", SAME_NUMBER)
def test_word_rate_is_the_share_of_words_that_change(kind: str, rate: float) -> None:
    changed = sum(word != noisy for word, noisy in word_pairs_of(noise(kind, rate)))
    assert changed / WORD_COUNT == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize("kind", [*BUILT_IN, "insert,delete,swap", "swap,swap-words"])
def test_wrr_of_noisy_text_is_one_minus_the_word_rate(kind: str) -> None:
    lines = clean_lines()[:600]
    corrupt = noise(kind, 0.29)
    score = wrr.evaluate(lines, [corrupt(line, index) for index, line in enumerate(lines)])
    share = {"swap-words": 0.145, "swap,swap-words": 0.195, "run-on": 0.49}.get(kind, 0.29)
    assert 1 - score.score == pytest.approx(share, abs=0.01)


def test_min_letters_protects_short_words_except_short_words() -> None:
    word_pairs = word_pairs_of(noise("substitute", 0.3, min_letters=3, short_words="E,a,t"))
    named = [word != noisy for word, noisy in word_pairs if word in ("e", "a", "t")]
    assert len(named) > 1000 and sum(named) / len(named) == pytest.approx(0.3, abs=0.05)
    long = [word != noisy for word, noisy in word_pairs if len(word) >= 3]
    assert sum(long) / len(long) == pytest.approx(0.3, rel=0.02)
    assert all(word == noisy for word, noisy in word_pairs if len(word) < 3 and word not in ("e", "a", "t"))


def test_lower_rate_is_the_share_of_changed_words_without_capital() -> None:
    corrupt = build_corruption(NoiseOptions("substitute", word_rate=0.5, lower_rate=0.3))
    clean = "Anna (Bobby) NATO maps"
    noisy_lines = [[*corrupt(clean, index).split()] for index in range(4000)]
    for place, (word, has_capital) in enumerate(zip(clean.split(), (True, True, False, False), strict=True)):
        changed = [line[place] for line in noisy_lines if line[place] != word]
        lower = [sum(map(str.isupper, noisy)) < sum(map(str.isupper, word)) for noisy in changed]
        assert len(changed) / len(noisy_lines) == pytest.approx(0.5, abs=0.03)
        assert sum(lower) / len(lower) == pytest.approx(0.3 if has_capital else 0, abs=0.03)


def test_lower_rate_does_not_undo_a_slip_of_shift() -> None:
    corrupt = build_corruption(NoiseOptions("shift", word_rate=1, lower_rate=1))
    words = [word for index in range(50) for word in corrupt("the cat Sat", index).split()]
    assert not {"the", "cat", "Sat"} & {*words} and {"The", "Cat", "sat"} < {*words}


def test_varied_rates_differ_by_line_and_keep_the_average() -> None:
    changes = {}
    for varied in (False, True):
        lines = zip(clean_lines(), noisy_lines(noise("substitute", 0.3, varied=varied)), strict=True)
        changes[varied] = [[word != noisy for word, noisy in zip(a.split(), b.split(), strict=True)] for a, b in lines]
    assert sum(map(sum, changes[True])) / WORD_COUNT == pytest.approx(0.3, rel=0.03)
    clean, mostly_noisy = (
        [sum(test(line) for line in changes[varied]) for varied in (False, True)]
        for test in (lambda line: not any(line), lambda line: sum(line) > len(line) / 2)
    )
    assert clean[1] > 2 * clean[0] and mostly_noisy[1] > 2 * mostly_noisy[0]


@pytest.mark.parametrize("options", [("swap", 1.0), ("random", None, 0.5), ("ocr", None, None), ("run-on", 1.0)])
def test_prose_leaves_addresses_numbers_and_code(options: tuple) -> None:
    words = ["https://a.org/b", "bob@c.de", "12.50", "`x y`", "e\u0301t\u0301at", "mountains", "morning", "😀", "a.org"]
    draw = random.Random(2)
    lines = [" ".join(draw.choices(words, k=12)) for _ in range(200)]
    corrupt = build_corruption(NoiseOptions(*options, prose=True))
    noisy_lines = [corrupt(line, index) for index, line in enumerate(lines)]
    for token in ("https://a.org/b", "bob@c.de", "12.50", "`x y`", "😀", " a.org "):
        assert [line.count(token) for line in noisy_lines] == [line.count(token) for line in lines]
    assert sum(line != noisy for line, noisy in zip(lines, noisy_lines, strict=True)) > 50
    assert any(sum(map(line.count, words[4:7])) < 2 for line in noisy_lines)


def differing(word: str, noisy: str) -> int:
    return sum(a != b for a, b in zip(word, noisy, strict=True))


def exchanges(word: str, noisy: str) -> int:
    """Counts exchanged neighbours; exact where no two exchanges are adjacent."""
    return differing(word, noisy) // 2


def size_change(word: str, noisy: str) -> int:
    return abs(len(noisy) - len(word))


SLIPS = [
    ("substitute", differing),
    ("keyboard", differing),
    ("insert", size_change),
    ("delete", size_change),
]


@pytest.mark.parametrize(("kind", "slips"), [*SLIPS, ("swap", exchanges)])
def test_without_char_rate_a_changed_word_has_one_slip(kind: str, slips: Callable[[str, str], int]) -> None:
    assert {slips(word, noisy) for word, noisy in word_pairs_of(noise(kind, 0.5)) if word != noisy} == {1}


@pytest.mark.parametrize(("kind", "slips"), [*SLIPS, ("swap", exchanges)])
def test_char_rate_is_the_number_of_slips_per_character(kind: str, slips: Callable[[str, str], int]) -> None:
    slip_count = sum(slips(word, noisy) for word, noisy in word_pairs_of(noise(kind, None, 0.02)))
    assert slip_count / letter_count() == pytest.approx(0.02, rel=0.02)


@pytest.mark.parametrize(("kind", "sign"), [("run-on", -1), ("split", 1)])
def test_rates_of_run_on_and_split(kind: str, sign: int) -> None:
    for rates, places in (((0.05, None), WORD_COUNT), ((0.3, None), WORD_COUNT), ((None, 0.05), letter_count())):
        difference = number_of_words(noisy_lines(noise(kind, *rates))) - WORD_COUNT
        assert sign * difference / places == pytest.approx(rates[0] or rates[1], rel=0.02)


def test_confusions_keep_their_relative_rates_under_char_rate(tmp_path: Path) -> None:
    table = tmp_path / "confusions.tsv"
    table.write_text("characters\tbecome\trate\n" + "e\tE\t0.03\nt\tT\t0.01\n" + "a\tA\t0.02\n", "utf-8")
    word_pairs = word_pairs_of(noise("confusions", None, 0.02, confusions=str(table)))
    assert sum(map(differing, *zip(*word_pairs, strict=True))) / letter_count() == pytest.approx(0.02, rel=0.02)
    noisy_letters, letters = "".join(noisy for _, noisy in word_pairs), "".join(clean_lines())
    rates = {letter: noisy_letters.count(letter.upper()) / letters.count(letter) for letter in "eta"}
    assert [rates["e"] / rates["t"], rates["a"] / rates["t"]] == pytest.approx([3, 2], rel=0.15)


def test_confusions_without_rates_use_those_of_the_table(tmp_path: Path) -> None:
    table = tmp_path / "confusions.tsv"
    table.write_text("characters\tbecome\trate\ne\tE\t0.1\ne\tF\t0.05\nst\tX\t0.2\n \t\t0.03\n", "utf-8")
    result = "\n".join(noisy_lines(noise("confusions", confusions=str(table))))
    clean = "\n".join(clean_lines())
    assert result.count("E") / clean.count("e") == pytest.approx(0.1, rel=0.05)
    assert result.count("F") / clean.count("e") == pytest.approx(0.05, rel=0.05)
    assert result.count("X") / clean.count("st") == pytest.approx(0.2, rel=0.1)
    assert 1 - result.count(" ") / clean.count(" ") == pytest.approx(0.03, rel=0.05)


def test_every_kind_is_tested_here() -> None:
    assert set(NOISE_KINDS) == {*BUILT_IN, "confusions"}


@pytest.mark.parametrize("kind", BUILT_IN)
def test_rate_0_changes_nothing(kind: str) -> None:
    assert noisy_lines(noise(kind, 0.0))[:200] == clean_lines()[:200] == noisy_lines(noise(kind, None, 0.0))[:200]


def test_word_rate_1_changes_every_word_that_can_change() -> None:
    for kind in ("random", "insert", "substitute", "keyboard"):
        assert all(word != noisy for word, noisy in word_pairs_of(noise(kind, 1.0)))
    for kind in ("delete", "swap"):
        for word, noisy in word_pairs_of(noise(kind, 1.0)):
            assert (word == noisy) == (len(word) == 1 if kind == "delete" else len(set(word)) == 1)
    assert all(len(line.split()) == 1 for line in noisy_lines(noise("run-on", 1.0)))


def test_slips_do_not_undo_each_other() -> None:
    corrupt = noise("insert,delete", 1.0, 1.0, alphabet="a")
    assert all(corrupt("aaaa", index) != "aaaa" for index in range(300))


@pytest.mark.parametrize("kind", BUILT_IN)
def test_short_lines_get_no_additional_noise(kind: str) -> None:
    """If few words can change, only those change."""
    for line in ("a", "a a a", "!? -- ...", "", "  ", "漢", "aaa"):
        for index in range(20):
            assert len(noise(kind, 1.0)(line, index).split()) <= 2 * len(line.split())
    if kind in ("swap", "delete", "split"):
        assert {noise(kind, 1.0)("a b  c", index) for index in range(20)} == {"a b  c"}


def test_kinds_of_a_mixture_have_their_weights() -> None:
    changed = [(word, noisy) for word, noisy in word_pairs_of(noise("substitute:2,delete", 0.5)) if word != noisy]
    assert len(changed) / WORD_COUNT == pytest.approx(0.5, rel=0.02)
    longer = [(word, noisy) for word, noisy in changed if len(word) > 1]
    assert sum(len(word) > len(noisy) for word, noisy in longer) / len(longer) == pytest.approx(1 / 3, rel=0.03)


# --- the same, always

GOLDEN_NOISE = json.loads((Path(__file__).parents[2] / "golden" / "noise.json").read_text("utf-8"))


@pytest.mark.parametrize("kind", [*GOLDEN_NOISE])
def test_a_seed_gives_the_golden_noise(kind: str) -> None:
    """A training with --seed 1 is repeated on the same text. Do not change golden/noise.json."""
    corrupt = noise(kind, 0.5, 0.2, seed=1)
    lines = ["The quick brown fox jumps over the lazy dog.", "Der  Fuß des Bären,\té und 1990 — Привет!"]
    assert [corrupt(line, index, epoch=2) for index, line in enumerate(lines)] == GOLDEN_NOISE[kind]


def test_noise_depends_on_seed_epoch_and_index_alone() -> None:
    lines = clean_lines()[:300]

    def result(seed: int = 1, epoch: int = 1, shift: int = 0, backwards: bool = False) -> list[str]:
        corrupt = pickle.loads(pickle.dumps(noise("random:2,ocr", 0.3, seed=seed)))
        order = sorted(enumerate(lines, shift), reverse=backwards)
        lines_by_index = {index: corrupt(line, index, epoch) for index, line in order}
        return [lines_by_index[index] for index in sorted(lines_by_index)]

    state = random.getstate()
    assert result() == result() == result(backwards=True)
    assert random.getstate() == state
    variants = [result(seed=2), result(epoch=2), result(shift=1)]
    for variant in variants:
        assert sum(a != b for a, b in zip(result(), variant, strict=True)) / 300 > 0.5
    assert len({tuple(variant) for variant in variants}) == 3


def test_fast_and_slow_path_find_the_same_words() -> None:
    """A flag at the end of a line selects the slow path and is not a word that can change."""
    for kind in BUILT_IN:
        if kind in ("swap-words", "run-on"):  # the flag can move
            continue
        corrupt = noise(kind, None, 0.1)
        for index, line in enumerate(clean_lines()[:50]):
            assert corrupt(f"{line}\u3000🇩🇪", index).count("🇩🇪") == 1
            words = Line(f"{line} 🇩🇪").words()[:-1]
            assert [tuple(word)[:2] for word in words] == [tuple(word)[:2] for word in Line(line).words()]


def test_alphabet_any_has_capitals_digits_and_punctuation() -> None:
    corrupt = build_corruption(NoiseOptions("substitute", word_rate=1.0, alphabet="any"))
    clean, new_letters = "quick brown", Counter[str]()
    for index in range(3000):
        noisy_text = corrupt(clean, index)
        assert len(noisy_text) == len(clean)
        new_letters.update(letter for letter, original in zip(noisy_text, clean, strict=True) if letter != original)
    kinds = [str.islower, str.isupper, str.isdigit, lambda letter: letter in punctuation]
    shares = [sum(n for letter, n in new_letters.items() if kind(letter)) / new_letters.total() for kind in kinds]
    assert shares == pytest.approx([25 / 93, 26 / 93, 10 / 93, 32 / 93], abs=0.02)


def test_shift_keeps_the_key() -> None:
    for layout in known_layouts():
        shifted = shifts(layout)
        assert shifted and all(shifted[key] != key for key in shifted)
    corrupt = build_corruption(NoiseOptions("shift", word_rate=1.0, layout="qwertz"))
    assert {corrupt("z", index) for index in range(5)} == {"Z"} and corrupt("ß7 Ü", 0).casefold() in ("?7 ü", "ß/ ü")


@pytest.mark.parametrize("layout", known_layouts())
def test_shift_rate_1_shifts_every_neighbouring_key(layout: str) -> None:
    neighbours, shifted = neighbouring_keys(layout), shifts(layout)
    corrupt = build_corruption(NoiseOptions("keyboard", word_rate=1.0, layout=layout, shift_rate=1.0))
    for key in neighbours:
        results = {corrupt(key, index) for index in range(30)}
        assert key not in results and results <= {shifted.get(neighbour, neighbour) for neighbour in neighbours[key]}


def test_shift_rate_is_the_share_of_shifted_keys() -> None:
    corrupt = build_corruption(NoiseOptions("keyboard", word_rate=1.0, shift_rate=0.3))
    letters = [corrupt("g", index) for index in range(3000)]  # all of its neighbours are letters
    assert sum(map(str.isupper, letters)) / 3000 == pytest.approx(0.3, abs=0.03)
    half = build_corruption(NoiseOptions("keyboard", word_rate=1.0, shift_rate=0.5))
    fox, jumps, over = ({half(word, index) for index in range(300)} for word in ("fox", "jumps", "over"))
    assert "Gox" in fox and "juJps" in jumps and "ocer" in over  # ConfusionTable 2 of the gated-Trans paper
    printed = build_corruption(NoiseOptions("keyboard", word_rate=0.3, shift_rate=0.5, seed=14))
    assert printed("The quick brown fox jumps over the lazy dog.", 0) == "The quick brown fox juJps over tYe lSzy dog."
