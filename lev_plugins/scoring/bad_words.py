"""Word-level quality estimation: which words of a draft are bad, and scores of predictions.

A word is bad if its post-edit does not have it in its place, by the alignment with the fewest edits and without
shifts. The score is Matthews correlation: 1 = all right, 0 = no better than always giving the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lev_plugins.errors import require
from lev_plugins.scoring.thresholds import possible_cuts
from lev_plugins.scoring.wrr import recognised_words


class Judgement(NamedTuple):
    matthews: float
    f1_bad: float
    f1_ok: float


def bad_words(draft: Sequence[str], edited: Sequence[str]) -> list[bool]:
    """
    >>> bad_words("the cta sat right down".split(), "the cat sat down".split())
    [False, True, False, True, False]
    """
    return [not kept for kept in recognised_words(draft, edited)]


def judge(suspicion: Sequence[float], bad: Sequence[bool], cut: float) -> Judgement:
    """How right it is to call every word bad whose ``suspicion`` is at least ``cut``.

    >>> judge([0.9, 0.8, 0.2, 0.1], [True, False, True, False], 0.5)
    Judgement(matthews=0.0, f1_bad=0.5, f1_ok=0.5)
    >>> judge([0.9, 0.8, 0.2, 0.1], [True, False, True, False], 2.0)    # one answer for all
    Judgement(matthews=0.0, f1_bad=0.0, f1_ok=0.6666666666666666)
    """
    given, true = np.asarray(suspicion) >= cut, np.asarray(bad, dtype=bool)
    hit, false_alarm = int((given & true).sum()), int((given & ~true).sum())
    miss, rest = int((~given & true).sum()), int((~given & ~true).sum())
    return Judgement(
        float(matthews(hit, false_alarm, miss, rest)),
        f1(hit, false_alarm, miss),
        f1(rest, miss, false_alarm),
    )


def best_cut(suspicion: Sequence[float], bad: Sequence[bool]) -> float:
    """The cut with the highest Matthews correlation: the suspicion of the last word that it calls bad.

    >>> best_cut([0.1, 0.9, 0.8, 0.3], [False, True, True, False])
    0.8
    """
    values, true = np.asarray(suspicion, dtype=float), np.asarray(bad, dtype=bool)
    require(len(values) > 0, "a cut is chosen on at least one word, but there are none")
    cuts, given, hits = possible_cuts(values, true)
    false_alarms = given - hits
    score = matthews(hits, false_alarms, true.sum() - hits, (~true).sum() - false_alarms)
    return float(cuts[int(score.argmax())])


def matthews(hit: Any, false_alarm: Any, miss: Any, rest: Any) -> Any:
    """Of counts, or of arrays of counts; 0 where all words are of one kind, or get one answer."""
    hit, false_alarm, miss, rest = (np.asarray(each, dtype=float) for each in (hit, false_alarm, miss, rest))
    product = (hit + false_alarm) * (hit + miss) * (rest + false_alarm) * (rest + miss)
    return (hit * rest - false_alarm * miss) / np.sqrt(np.where(product == 0, np.inf, product))


def f1(hit: int, false_alarm: int, miss: int) -> float:
    return 2 * hit / (2 * hit + false_alarm + miss) if hit else 0.0
