"""Confusions learned from pairs: alignment, counting, and the way back into noise."""

import random
from itertools import pairwise
from pathlib import Path

import editdistance
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.noise import NoiseOptions, build_corruption
from lev_plugins.noise.confusions import Confusion, ConfusionTable, read_table, write_table
from lev_plugins.noise.learning import Learner, blocks, equal_units
from tests.helpers import thorough

strings = st.text(alphabet="abc ", max_size=8)


def learn_table(
    pairs: list[tuple[str, str]], unit: str = "character", longest: int = 3, min_count: int = 1
) -> ConfusionTable:
    learner = Learner(unit, longest)
    for clean, noisy in pairs:
        learner.learn(clean, noisy)
    for clean, _ in pairs:
        learner.count(clean)
    return learner.table(min_count)


@thorough
@given(strings, strings)
def test_matches_belong_to_a_cheapest_alignment(clean: str, noisy: str) -> None:
    matches = equal_units(clean, noisy)
    assert all(clean[i] == noisy[j] for i, j in matches)
    corners = [(-1, -1), *matches, (len(clean), len(noisy))]
    gaps = [(b[0] - a[0] - 1, b[1] - a[1] - 1) for a, b in pairwise(corners)]
    assert all(i >= 0 and j >= 0 for i, j in gaps)
    assert sum(max(gap) for gap in gaps) == editdistance.eval(clean, noisy)


@pytest.mark.parametrize(
    ("clean", "noisy", "expected"),
    [
        ("same", "same", []),
        ("corner", "comer", [("rn", "m")]),
        ("comer", "corner", [("m", "rn")]),
        ("abcd", "axyd", [("b", "x"), ("c", "y")]),
        ("their", "thier", [("ei", "ie")]),
        ("word", "wrd", [("o", "")]),
        ("word", "woord", [("o", "oo")]),
        ("word", "sword", [("w", "sw")]),
        ("is said", "issaid", [(" ", "")]),
        ("issaid", "is said", [("s", "s ")]),
        ("a b", "a xb", [("b", "xb")]),
        ("", "x", []),
    ],
)
def test_blocks_of_an_alignment(clean: str, noisy: str, expected: list[tuple[str, str]]) -> None:
    assert [("".join(a), "".join(b)) for a, b in blocks(clean, noisy)] == expected


def test_rates_are_shares_of_the_occurrences() -> None:
    table = learn_table([("an arm", "an am"), ("run", "run"), ("arm", "aim"), ("red", "ned")])
    assert table.confusions == [
        Confusion(("r",), (), 1 / 4),
        Confusion(("r",), ("i",), 1 / 4),
        Confusion(("r",), ("n",), 1 / 4),
    ]


def test_rare_and_long_confusions_are_dropped() -> None:
    pairs = [("mole", "mode"), ("hole", "hode"), ("mile", "nile"), ("elephant", "xyzzy")]
    assert [confusion.clean for confusion in learn_table(pairs, min_count=2).confusions] == [("l",)]
    assert all(len(confusion.clean) <= 2 for confusion in learn_table(pairs, longest=2).confusions)


def test_white_space_only_ends_a_confusion() -> None:
    table = learn_table([("an arm", "anarm"), ("to go", "t og"), ("of it", "olt"), ("of it", "ofl it")])
    assert all(" " not in confusion.clean[:-1] for confusion in table.confusions)


def test_clusters_are_learned_whole() -> None:
    table = learn_table([("nai\u0308ve", "naive"), ("a👍🏽", "a!")])
    assert {confusion.clean for confusion in table.confusions} == {("i\u0308",), ("👍🏽",)}


def test_words_are_learned_as_words() -> None:
    pairs = [("I go to the house", "I go to house"), ("they are here", "their are here"), ("a cat", "the big cat")]
    assert {(confusion.clean, confusion.noisy) for confusion in learn_table(pairs, "word").confusions} == {
        (("the",), ()),
        (("they",), ("their",)),
        (("a",), ("the", "big")),
    }


def test_a_table_survives_writing_and_reading(tmp_path: Path) -> None:
    confusions = [Confusion(("#",), ("\u00e4", '"'), 0.125), Confusion(("r", " "), (), 1 / 3)]
    table = ConfusionTable("character", [*confusions, Confusion(("\t",), (" ",), 0.5)])  # a TAB is not for such a file
    (tmp_path / "t.tsv").write_text("".join(write_table(table)), "utf-8")
    restored = read_table(tmp_path / "t.tsv")
    assert restored.unit == "character" and restored.confusions[0] == confusions[0] and len(restored.confusions) == 2
    assert restored.confusions[1].rate == pytest.approx(1 / 3, rel=1e-5)


def test_learned_rates_are_those_of_the_noise(tmp_path: Path) -> None:
    """Noise with given rates is made, and its rates are learned."""
    draw = random.Random(1)
    clean = [" ".join("".join(draw.choices("abcdefghir", k=5)) for _ in range(8)) for _ in range(1500)]
    confusions = [Confusion(("a",), ("x",), 0.1), Confusion(("c",), ("yz",), 0.05), Confusion(("d", "e"), ("w",), 0.2)]
    confusions = [confusion._replace(noisy=tuple("".join(confusion.noisy))) for confusion in confusions] + [
        Confusion((" ",), (), 0.04)
    ]
    (tmp_path / "known.tsv").write_text("".join(write_table(ConfusionTable("character", confusions))), "utf-8")
    corrupt = build_corruption(NoiseOptions("confusions", confusions=str(tmp_path / "known.tsv")))
    again = learn_table([(line, corrupt(line, index)) for index, line in enumerate(clean)], min_count=20)
    rates = {confusion[:2]: confusion.rate for confusion in again.confusions}
    for confusion in confusions:
        assert rates[confusion[:2]] == pytest.approx(confusion.rate, rel=0.2)
    assert sum(rates.values()) == pytest.approx(sum(confusion.rate for confusion in confusions), rel=0.15)
