"""Intervals and tests of significance, on systems whose answer is known."""

import numpy as np
import pytest

from lev_plugins.scoring import resampling
from lev_plugins.scoring.evaluation import Additive, additive, ratio
from lev_plugins.utils.errors import UserError


def random_system(seed: int, right: float, sentences: int = 200) -> Additive:
    """Returns a system that is right in about that share of the sentences."""
    generator = np.random.default_rng(seed)
    rows = np.stack([generator.random(sentences) < right, np.ones(sentences)], axis=1)
    return additive("share", rows, ratio)


def test_resampling_is_with_replacement_and_seeded() -> None:
    evaluation = random_system(1, 0.5, sentences=7)
    scores = resampling.resample([evaluation], 300, seed=3)[0]
    assert set(np.round(scores * 7)) <= set(range(8)) and len(set(scores)) > 3
    assert scores.tolist() == resampling.resample([evaluation], 300, seed=3)[0].tolist()
    assert scores.tolist() != resampling.resample([evaluation], 300, seed=4)[0].tolist()


def test_the_interval_matches_a_binomial() -> None:
    evaluation = random_system(2, 0.3)
    low, high = resampling.interval(resampling.resample([evaluation], 2000, seed=1)[0])
    deviation = (evaluation.score * (1 - evaluation.score) / 200) ** 0.5
    assert low == pytest.approx(evaluation.score - 1.96 * deviation, abs=0.01)
    assert high == pytest.approx(evaluation.score + 1.96 * deviation, abs=0.01)


def test_p_of_a_clear_difference_and_of_no_difference() -> None:
    good, bad = random_system(3, 0.7), random_system(4, 0.4)
    comparison = resampling.compare(good, bad, resampling.resample([good, bad], 999, seed=1))
    assert comparison.difference == pytest.approx(good.score - bad.score)
    assert comparison.bootstrap_p == 1 / 1000
    assert 0 < comparison.low < comparison.difference < comparison.high
    equal = resampling.compare(good, good, resampling.resample([good, good], 99, seed=1))
    assert (equal.difference, equal.low, equal.high, equal.bootstrap_p) == (
        0,
        0,
        0,
        1.0,
    )


def test_p_below_5_percent_occurs_in_5_percent_of_equal_pairs() -> None:
    """Pairs of systems that are equally good: 5 % of the tests say p < 0.05."""
    comparisons = []
    for seed in range(200):
        a, b = random_system(2 * seed, 0.5, sentences=60), random_system(2 * seed + 1, 0.5, sentences=60)
        comparisons.append(resampling.compare(a, b, resampling.resample([a, b], 200, seed)))
    assert 0.01 < np.mean([comparison.bootstrap_p < 0.05 for comparison in comparisons]) < 0.12


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(UserError, match="the seed must be at least 0, but is -1"):
        resampling.resample([random_system(1, 0.5)], 2, seed=-1)
    assert resampling.resample([random_system(1, 0.5, sentences=2)], 2, seed=0).shape == (1, 2)
