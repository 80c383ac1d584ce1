"""Recognised words, against every alignment there is."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.scoring.wrr import evaluate, recognition
from tests.helpers import thorough

words = st.lists(st.sampled_from("abc"), max_size=6).map("".join)


@cache
def by_brute_force(reference: str, text: str) -> tuple[int, int]:
    """Returns the fewest edits from a reference of one-letter words to the text, and minus the recognized words."""
    if not (reference and text):
        return len(reference) + len(text), 0
    is_match = reference[0] == text[0]
    pairs = (reference[1:], text[1:], not is_match, is_match), (reference[1:], text, 1, 0), (reference, text[1:], 1, 0)
    ways = [(by_brute_force(*rest), edits, recognised) for *rest, edits, recognised in pairs]
    return min((rest[0] + edits, rest[1] - recognised) for rest, edits, recognised in ways)


@thorough
@given(words, words)
def test_recognition_matches_every_alignment(reference: str, text: str) -> None:
    assert recognition(" ".join(reference), " ".join(text)) == (-by_brute_force(reference, text)[1], len(reference))


def test_rate_weights_sentences_by_their_words() -> None:
    assert evaluate(["a", "b c d"], ["x", "b c d"]).score == 0.75
    assert evaluate(["a b"], ["a  b and more"]).score == 1.0  # white space and words too many cost nothing
    assert evaluate(["", "a"], ["b", "a"]).score == 1.0
    assert evaluate(["a a b"], ["b c c"]).score == 0.0  # three words are replaced; to recognise one takes four edits
