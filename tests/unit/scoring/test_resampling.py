"""Intervals and tests of significance, on systems whose answer is known."""

import numpy as np
import pytest

from lev_plugins.scoring import resampling
from lev_plugins.scoring.evaluation import Additive, additive, ratio
from lev_plugins.utils.errors import UserError


def system(seed: int, right: float, sentences: int = 200) -> Additive:
    """Right in about that share of the sentences."""
    generator = np.random.default_rng(seed)
    rows = np.stack([generator.random(sentences) < right, np.ones(sentences)], axis=1)
    return additive("share", rows, ratio)


def test_resamples_are_drawn_with_replacement_and_by_the_seed() -> None:
    one = system(1, 0.5, sentences=7)
    scores = resampling.resample([one], 300, seed=3)[0]
    assert set(np.round(scores * 7)) <= set(range(8)) and len(set(scores)) > 3
    assert scores.tolist() == resampling.resample([one], 300, seed=3)[0].tolist()
    assert scores.tolist() != resampling.resample([one], 300, seed=4)[0].tolist()


def test_the_interval_is_that_of_a_binomial() -> None:
    one = system(2, 0.3)
    low, high = resampling.interval(resampling.resample([one], 2000, seed=1)[0])
    deviation = (one.score * (1 - one.score) / 200) ** 0.5
    assert low == pytest.approx(one.score - 1.96 * deviation, abs=0.01)
    assert high == pytest.approx(one.score + 1.96 * deviation, abs=0.01)


def test_a_clear_difference_is_not_chance_and_a_system_is_no_better_than_itself() -> None:
    good, bad = system(3, 0.7), system(4, 0.4)
    found = resampling.compare(good, bad, resampling.resample([good, bad], 999, seed=1))
    assert found.difference == pytest.approx(good.score - bad.score)
    assert found.bootstrap_p == 1 / 1000
    assert 0 < found.low < found.difference < found.high
    same = resampling.compare(good, good, resampling.resample([good, good], 99, seed=1))
    assert (same.difference, same.low, same.high, same.bootstrap_p) == (0, 0, 0, 1.0)


def test_chance_is_called_significant_as_often_as_promised() -> None:
    """Pairs of systems that are equally good: 5 % of the tests say p < 0.05."""
    found = []
    for seed in range(200):
        one, other = system(2 * seed, 0.5, sentences=60), system(2 * seed + 1, 0.5, sentences=60)
        found.append(resampling.compare(one, other, resampling.resample([one, other], 200, seed)))
    assert 0.01 < np.mean([comparison.bootstrap_p < 0.05 for comparison in found]) < 0.12


def test_bad_arguments() -> None:
    with pytest.raises(UserError, match="the seed must be at least 0, but is -1"):
        resampling.resample([system(1, 0.5)], 2, seed=-1)
    assert resampling.resample([system(1, 0.5, sentences=2)], 2, seed=0).shape == (1, 2)
