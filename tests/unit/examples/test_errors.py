"""The classes of errors, and which are repaired and introduced."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.denoising import errors

ONE, SEVERAL, FIRST, LATER, REAL, NONWORD = errors.LETTER_CLASSES


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("", "", []),
        ("teh cat", "the cat", [(0, 1, SEVERAL, LATER, NONWORD)]),  # two letters are others
        ("the bat", "the cat", [(1, 2, ONE, FIRST, REAL)]),  # the lexicon has it
        ("the Bat!", "the cat", [(1, 2, SEVERAL, FIRST, REAL)]),
        ("th cat", "the cat", [(0, 1, ONE, LATER, NONWORD)]),
        ("the", "the cat", [(1, 2, "other words")]),
        ("the big cat", "the cat", [(1, 1, "other words")]),
        ("", "the", [(0, 1, "other words")]),
        ("xy house", "hous qq", [(0, 0, "other words"), (0, 1, ONE, LATER, NONWORD), (1, 2, "other words")]),
        ("th ecat sat", "the cat sat", [(0, 1, ONE, LATER, NONWORD), (1, 2, ONE, FIRST, NONWORD)]),
        ("the ca ts i t", "the cats it", [(1, 2, "split"), (2, 3, "split")]),
        ("thecatsat", "the cat sat", [(0, 3, "run-on")]),
        ("abcde fghi", "abcdefghXi", [(0, 1, "split")]),  # 1 of 10 letters differs
        ("abcd e", "abcdX", [(0, 1, "split")]),  # 1 of 5, the most
        ("abc d", "abcX", [(0, 1, ONE, LATER, NONWORD), (1, 1, "other words")]),  # 1 of 4
    ],
)
def test_errors_are_classified(text: str, reference: str, expected: list[tuple[Any, ...]]) -> None:
    assert [(*error[:2], *error.classes) for error in errors.errors_in(text, reference, {"bat", "the"})] == expected


def test_words_are_paired_at_the_lowest_cost() -> None:

    def costs(text_words: list[str], reference_words: list[str]) -> list[float]:
        if not (text_words or reference_words):
            return [0.0]
        spans = [(m, n) for m, n in errors.SPANS if m <= len(text_words) and n <= len(reference_words)]
        return [
            errors.pair_cost(text_words[:m], reference_words[:n]) + rest
            for m, n in spans
            for rest in costs(text_words[m:], reference_words[n:])
        ]

    draw = np.random.default_rng(1)
    for _ in range(50):
        text_words, reference_words = (
            ["".join(draw.choice([*"ab"], n)) for n in draw.integers(1, 4, draw.integers(4))] for _ in "12"
        )
        pairs = errors.pair_words(text_words, reference_words)
        assert text_words == [word for text_words, _ in pairs for word in text_words]
        assert reference_words == [word for _, text_words in pairs for word in text_words]
        assert sum(errors.pair_cost(*pair) for pair in pairs) == pytest.approx(min(costs(text_words, reference_words)))


def test_errors_are_counted_as_repaired_or_introduced() -> None:
    """Errors of the same words are the same error; an extra word is between two words."""
    sources, references = ["teh cat", "the big cat", "a b"], ["the cat", "the cat", "a b"]
    score = errors.evaluate(sources, references, ["the bat", "the odd cat", "a c b"])
    counts = {
        name: [score.details[f"{name}: {column}"] for column in errors.COLUMNS]
        for name in ("all", *errors.ERROR_CLASSES)
    }
    assert score.sentences.tolist() == [1, 0, 1] and score.score == 1 / 2
    assert counts["all"] == [2, 1, 2] and counts["other words"] == [1, 0, 1] and counts[SEVERAL] == [1, 1, 0]
    assert counts[ONE] == [0, 0, 1] and counts["real word"] == [0, 0, 0]
    nearest = errors.evaluate(["teh cat"], [["the dog", "the cat"]], ["the cat"])  # the reference with fewest errors
    assert (nearest.score, nearest.details["all: in the source"]) == (1.0, 1)


def test_the_table_counts_the_errors_of_two_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (
        ("noisy", "teh train forParis is ofr you ."),
        ("right", "the train for Paris is for you ."),
        ("one", "the train forParis is for yo u ."),
        ("two", "the train for Paris is ofr you ! ."),
        ("list", "teh"),
    ):
        (tmp_path / name).write_text(f"{text}\nsame .\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("noisy", "right", "one", "two")]
    assert errors.main([*files, "--words", str(tmp_path / "list")]) == 0
    rows = {line[:15].strip(): line[15:].split() for line in capsys.readouterr().out.splitlines()[1:]}
    assert rows["all"] == ["3", "2", "1", "2", "1"]  # in the source; repaired and introduced, by one and by two
    assert rows["real word"] == ["1", "1", "0", "1", "0"] and rows["non-word"] == ["1", "1", "0", "0", "0"]
    assert rows["first letter"] == ["1", "1", "0", "0", "0"] and rows["later letters"] == ["1", "1", "0", "1", "0"]
    assert rows["run-on"] == ["1", "0", "0", "1", "0"] and rows["split"] == ["0", "0", "1", "0", "0"]
    assert rows["other words"] == ["0", "0", "0", "0", "1"]
