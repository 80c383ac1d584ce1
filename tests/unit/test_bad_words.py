"""Word-level quality estimation, beside scikit-learn and a decoding that deletes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

from lev_plugins.errors import UserError
from lev_plugins.inference.suspicion import of_words
from lev_plugins.scoring.bad_words import best_cut, judge

DRAW = np.random.default_rng(1)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 1.0])
def test_scores_are_those_of_scikit_learn(share: float) -> None:
    bad, suspicion = DRAW.random(200) < share, DRAW.normal(size=200).round(1)
    for cut in (-9.0, -0.5, 0.0, 1.0, 9.0):
        found = judge(suspicion, bad, cut)
        assert found.matthews == pytest.approx(matthews_corrcoef(bad, suspicion >= cut))
        assert found.f1_bad == pytest.approx(f1_score(bad, suspicion >= cut, zero_division=0))
        assert found.f1_ok == pytest.approx(f1_score(~bad, suspicion < cut, zero_division=0))


def test_the_best_cut_is_the_best_of_all() -> None:
    bad = DRAW.random(100) < 0.3
    suspicion = (DRAW.normal(size=100) + bad).round(1)
    best = max(judge(suspicion, bad, cut).matthews for cut in suspicion)
    assert judge(suspicion, bad, best_cut(suspicion, bad)).matthews == pytest.approx(best)
    assert best > 0.1


def test_pieces_and_odds_that_do_not_belong_together() -> None:
    with pytest.raises(UserError, match="a draft has 3 tokens, but its words have 2 pieces"):
        of_words([0.0, 1.0, 2.0], [1, 1])
