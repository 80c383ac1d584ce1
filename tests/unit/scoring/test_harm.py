"""``score harm`` by hand: words that repeat, lines without right or wrong words, several references."""

import pytest

from lev_plugins.scoring import harm


@pytest.mark.parametrize(
    ("sources", "cleans", "outputs", "broken", "repaired", "right"),
    [
        (["a a b"], ["a b a"], ["a b a"], 0, 100, 100),  # "a b" is in the source, the second "a" of "a b a" is not
        (["a b c", "d"], ["a b c", "e"], ["a x c", "e"], 1000 / 3, 100, 75),
        (["a b"], ["a b"], ["b a"], 500, 100, 50),  # words in another order are not the same
        ([""], ["a b"], ["a"], 0, 50, 50),
        (["a b"], [""], ["c"], 0, 100, 0),
        (["a x"], [["a b", "a c"]], ["a c"], 0, 100, 100),
    ],
)
def test_broken_repaired_and_right_words_are_counted(
    sources: list[str], cleans: list[str], outputs: list[str], broken: float, repaired: float, right: float
) -> None:
    score = harm.evaluate(sources, cleans, outputs)
    assert score.score == pytest.approx(broken)
    assert score.details["% of typos repaired"] == pytest.approx(repaired)
    assert score.details["% of words right"] == pytest.approx(right)
    assert harm.evaluate(None, cleans, outputs).score == pytest.approx(1000 - 10 * right if any(cleans) else 0)


def test_changed_blanks_change_no_line() -> None:
    assert not harm.evaluate(None, ["a b"], ["a  b "]).details["% of lines changed"]
