"""Recognised words, against every alignment there is."""

from functools import cache

import editdistance
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.scoring.wrr import evaluate, recognition
from tests.helpers import thorough

words = st.lists(st.sampled_from("abc"), max_size=6)


def by_brute_force(reference: tuple[str, ...], text: tuple[str, ...]) -> tuple[int, int]:
    """Least edits, and the most words recognised at that price."""

    @cache
    def best(i: int, j: int) -> tuple[int, int]:
        if i == len(reference) or j == len(text):
            return len(reference) - i + len(text) - j, 0
        same = reference[i] == text[j]
        ways = []
        for (edits, found), price, won in (
            (best(i + 1, j + 1), not same, same),
            (best(i + 1, j), 1, 0),
            (best(i, j + 1), 1, 0),
        ):
            ways.append((edits + price, found + won))
        return min(ways, key=lambda way: (way[0], -way[1]))

    return best(0, 0)


@thorough
@given(words, words)
def test_cheapest_alignment_that_recognises_most(reference: list[str], text: list[str]) -> None:
    edits, most = by_brute_force(tuple(reference), tuple(text))
    assert edits == editdistance.eval(reference, text)
    assert recognition(" ".join(reference), " ".join(text)) == (most, len(reference))


def test_rate_weighs_sentences_by_their_words() -> None:
    assert evaluate(["a", "b c d"], ["x", "b c d"]).score == 0.75
    assert evaluate(["a b"], ["a  b and more"]).score == 1.0  # white space and words too many cost nothing
    assert evaluate(["", "a"], ["b", "a"]).score == 1.0
