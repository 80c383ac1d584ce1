"""``score harm`` against a plain count of the same words."""

import difflib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.scoring import harm
from tests.helpers import thorough

odd_words = st.lists(st.sampled_from(["a", "b", "C", "d.", "e1"]), max_size=8).map(" ".join)


lines = st.lists(st.tuples(odd_words, odd_words, odd_words), min_size=1, max_size=4)


def hits(clean: list[str], output: list[str]) -> set[int]:
    found: set[int] = set()
    for op, start, end, _, _ in difflib.SequenceMatcher(None, clean, output, autojunk=False).get_opcodes():
        if op == "equal":
            found.update(range(start, end))
    return found


@thorough
@given(lines)
def test_words_are_counted_one_by_one(rows: list[Any]) -> None:
    sources, cleans, outputs = map(list, zip(*rows, strict=True))
    right = wrong = broken = repaired = missing = 0
    for source, clean, output in ([text.split() for text in row] for row in rows):
        before, after = hits(clean, source), hits(clean, output)
        missing += len(clean) - len(after)
        for place in range(len(clean)):
            if place in before:
                right, broken = right + 1, broken + (place not in after)
            else:
                wrong, repaired = wrong + 1, repaired + (place in after)
    total = right + wrong
    plain = harm.evaluate(None, cleans, outputs)
    assert plain.score == pytest.approx(1000 * missing / total if total else 0)
    against = harm.evaluate(sources, cleans, outputs)
    assert against.score == pytest.approx(1000 * broken / right if right else 0)
    assert against.details["% of typos repaired"] == pytest.approx(100 * repaired / wrong if wrong else 100)
    assert against.details["% of words right"] == pytest.approx(
        100 * (right - broken + repaired) / total if total else 0
    )


def test_blanks_are_not_words() -> None:
    assert not harm.evaluate(None, ["a b"], ["a  b "]).details["% of lines changed"]
