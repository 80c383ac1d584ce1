"""How sure a score is, and a difference between two systems: by drawing sentences again and again, and by a t-test.

A resample takes as many sentences as there are, with replacement. It is drawn once for all systems, so that a
difference is one on the same sentences.

Shapes: E evaluations (systems), B resamples, N sentences.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lev_plugins.errors import require
from lev_plugins.ranges import bounded
from lev_plugins.scoring.evaluation import Array, Evaluation

COVERAGE = 0.95
COUNTS_AT_ONCE = 1_000_000  # bounds the memory, and fits the cache: five times as many take longer


def resample(evaluations: Sequence[Evaluation], resamples: int, seed: int) -> Array:
    """(E, B) The scores of the same resamples."""
    bounded("the number of resamples", resamples, 2)
    sizes = {len(evaluation.sentences) for evaluation in evaluations}
    require(len(sizes) == 1, f"all systems must have the same number of sentences, but have {sorted(sizes)}")
    sentences = sizes.pop()
    # all resamples of one sentence are alike: any difference would look certain
    require(sentences >= 2, f"a bootstrap needs at least 2 sentences, but there is {sentences}")
    bounded("the seed", seed, 0)
    counted = draw_counts(sentences, resamples, np.random.default_rng(seed))
    scores = [[evaluation.scores_of(counts) for evaluation in evaluations] for counts in counted]
    return np.concatenate(scores, axis=1)


def draw_counts(sentences: int, resamples: int, generator: np.random.Generator) -> Iterator[Array]:
    """How often each sentence is in each resample: some resamples at a time, (some, N).

    >>> [rows.sum(1).tolist() for rows in draw_counts(4, 2, np.random.default_rng(1))]
    [[4.0, 4.0]]
    """
    at_once = max(1, COUNTS_AT_ONCE // sentences)
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        drawn = generator.integers(sentences, size=(rows, sentences)) + sentences * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * sentences).reshape(rows, sentences).astype(np.float64)


def interval(scores: Array) -> tuple[float, float]:
    """Between these lie 95 % of the resamples.

    >>> [round(end, 1) for end in interval(np.arange(101.0))]
    [2.5, 97.5]
    """
    tail = (1 - COVERAGE) / 2
    low, high = np.quantile(scores, [tail, 1 - tail]).tolist()
    return low, high


@dataclass(frozen=True)
class Comparison:
    """Of a system with another; ``difference`` is above 0 where the first is better, whichever way the score goes."""

    difference: float
    low: float
    high: float
    bootstrap_p: float
    welch_t: float | None  # None: undefined, since the sentences of each system all have one score
    welch_p: float | None


def compare(one: Evaluation, other: Evaluation, resampled: Array) -> Comparison:
    """Two-sided tests of "no difference"; ``resampled`` is (2, B).

    Paired bootstrap (Koehn 2004, shifted as by Riezler and Maxwell 2005): how often resamples stray from the difference
    by at least as much as it strays from 0. Welch's t-test takes the two lists of sentence scores as if they had
    nothing to do with each other, and sees means of sentence scores instead of corpus scores: the weaker test.
    """
    from scipy import stats  # the slowest import of `score`, for --against alone

    sign = 1 if one.higher_is_better else -1
    difference = sign * (one.score - other.score) + 0.0  # no minus in front of 0
    differences = sign * (resampled[0] - resampled[1]) + 0.0
    strays = np.abs(differences - differences.mean()) >= abs(difference)
    low, high = interval(differences)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of scores that are all alike
        test = stats.ttest_ind(one.sentences, other.sentences, equal_var=False)
    t, p = sign * float(test.statistic) + 0.0, float(test.pvalue)
    defined = math.isfinite(t)
    return Comparison(
        difference,
        low,
        high,
        float(strays.sum() + 1) / (len(differences) + 1),
        t if defined else None,
        p if defined else None,
    )
