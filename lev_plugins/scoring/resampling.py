"""How certain a score or a difference between two systems is, by bootstrap resampling.

A resample draws N of the N sentences, with replacement. All systems share the same resamples, so that their scores
are compared on the same sentences.

Shapes: E evaluations (systems), B resamples, N sentences.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lev_plugins.scoring.evaluation import Array, Evaluation
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import bounded

COVERAGE = 0.95
COUNTS_AT_ONCE = 1_000_000  # bounds the memory and fits the cache; five times this is slower


def resample(evaluations: Sequence[Evaluation], resamples: int, seed: int) -> Array:
    """Return the scores of the evaluations on the same resamples, (E, B)."""
    sentences = len(evaluations[0].sentences)
    # all resamples of one sentence are equal: any difference would look certain
    require(sentences >= 2, f"a bootstrap needs at least 2 sentences, but there is {sentences}")
    bounded("the seed", seed, 0)
    batches = draw_counts(sentences, resamples, np.random.default_rng(seed))
    scores = [[evaluation.scores_of(counts) for evaluation in evaluations] for counts in batches]
    return np.concatenate(scores, axis=1)


def draw_counts(sentences: int, resamples: int, generator: np.random.Generator) -> Iterator[Array]:
    """Yield how often each sentence is in each resample, in batches of resamples.

    >>> [rows.sum(1).tolist() for rows in draw_counts(4, 2, np.random.default_rng(1))]
    [[4.0, 4.0]]
    """
    at_once = max(1, COUNTS_AT_ONCE // sentences)
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        places = generator.integers(sentences, size=(rows, sentences)) + sentences * np.arange(rows)[:, None]
        yield np.bincount(places.ravel(), minlength=rows * sentences).reshape(rows, sentences).astype(np.float64)


def interval(scores: Array) -> tuple[float, float]:
    """Return the bounds of the middle 95 % of the resamples.

    >>> [round(end, 1) for end in interval(np.arange(101.0))]
    [2.5, 97.5]
    """
    tail = (1 - COVERAGE) / 2
    low, high = np.quantile(scores, [tail, 1 - tail]).tolist()
    return low, high


@dataclass(frozen=True)
class Comparison:
    """The comparison of a system with a baseline; ``difference`` is above 0 if the system is better, also for TER."""

    difference: float
    low: float
    high: float
    bootstrap_p: float


def compare(system: Evaluation, baseline: Evaluation, resampled: Array) -> Comparison:
    """Test the hypothesis of no difference, two-sided; ``resampled`` has the scores of both, (2, B).

    Paired bootstrap (Koehn 2004, shifted as by Riezler and Maxwell 2005): the share of resamples that differ from the
    difference by at least as much as it differs from 0.
    """
    sign = 1 if system.higher_is_better else -1
    difference = sign * (system.score - baseline.score) + 0.0  # avoids -0.0
    differences = sign * (resampled[0] - resampled[1]) + 0.0
    extreme = np.abs(differences - differences.mean()) >= abs(difference)
    low, high = interval(differences)
    return Comparison(difference, low, high, float(extreme.sum() + 1) / (len(differences) + 1))
