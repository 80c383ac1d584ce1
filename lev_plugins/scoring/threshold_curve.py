"""Precision, recall and F0.5 of a corrector's edits at every threshold of its confidence.

An edit is a run of changed words. Gold edits come from a cheapest alignment of source and target; those proposed, from
source and text, are cut so that most of them match (``lev_plugins.scoring.m2``). If the confidence of a text is below
the threshold, the source is used instead, so one decoding yields the results at all thresholds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from lev_plugins.scoring import m2
from lev_plugins.scoring.evaluation import ratio


class Judged(NamedTuple):
    """A corrected sentence, judged."""

    confidence: float
    correct: int
    proposed: int
    gold: int
    changed: bool
    right: bool  # the text is the target
    was_right: bool  # the source is the target


@dataclass(frozen=True)
class Point:
    """The results at one threshold; all shares between 0 and 1."""

    min_edit_confidence: float
    precision: float
    recall: float
    f_score: float
    lines_changed: float
    lines_right: float
    correct: int
    proposed: int
    gold: int


def judge(source: Sequence[str], text: Sequence[str], target: Sequence[str], confidence: float) -> Judged:
    """
    >>> judge("he go home .".split(), "he goes house .".split(), "he goes home .".split(), 0.7)[:4]
    (0.7, 1, 2, 1)
    """
    source, text, target = list(source), list(text), list(target)
    gold = edits_between(source, target)
    if text == source:
        counts = m2.Counts(0, 0, len(gold))
    else:
        counts = m2.sentence_counts(m2.Gold(source, [gold]), " ".join(text), max_unchanged_words=0)[0]
    return Judged(confidence, *counts, text != source, text == target, source == target)


def edits_between(source: Sequence[str], text: Sequence[str]) -> list[m2.GoldEdit]:
    """The runs of changes on a cheapest alignment.

    >>> edits_between("he go home".split(), "he goes home .".split())
    [GoldEdit(start=1, end=2, corrections=('goes',), kind=''), GoldEdit(start=3, end=3, corrections=('.',), kind='')]
    """
    edits = []
    i = j = 0
    for block in Levenshtein.editops(source, text).as_matching_blocks():  # the last one is empty, at both ends
        if (i, j) != (block.a, block.b):
            edits.append(m2.GoldEdit(i, block.a, (" ".join(text[j : block.b]),)))
        i, j = block.a + block.size, block.b + block.size
    return edits


def curve(sentences: Sequence[Judged], thresholds: Sequence[float]) -> list[Point]:
    """
    >>> sure = Judged(0.9, 1, 1, 1, True, True, False)
    >>> unsure = Judged(0.6, 0, 1, 0, True, False, True)
    >>> for point in curve([sure, unsure], [0.5, 0.7]):
    ...     print(point.precision, point.recall, point.lines_changed, point.lines_right)
    0.5 1.0 1.0 0.5
    1.0 1.0 0.5 1.0
    """
    confidence, correct, proposed, gold, changed, right, was_right = np.array(sentences, dtype=float).T
    points = []
    for least in thresholds:
        used = confidence >= least
        sums = np.array([correct[used].sum(), proposed[used].sum(), gold.sum()])
        shares = ratio(sums[:2]), ratio(sums[::2]), m2.f_score(sums, m2.BETA)
        lines = (changed * used).mean(), np.where(used, right, was_right).mean()
        values: list[Any] = [*map(float, (*shares, *lines)), *map(int, sums)]
        points.append(Point(least, *values))
    return points
