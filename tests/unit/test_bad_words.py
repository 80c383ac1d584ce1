"""Word-level quality estimation, beside scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

from examples.post_editing.quality import best_cut, judge, of_words
from lev_plugins.errors import UserError
from tests.examples import load_script

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


def test_lines_that_are_left_out_do_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    module = load_script("post_editing/quality")
    bad = [[True, False], [True, True, True], [False, False]]
    assert of_words([0.0, 1.0, 2.0], [1, 1]) is None and of_words([0.0, 1.0, 2.0], [1, 2]) == [0.0, 2.0]
    kept, tags = module.judged([[0.5, -1.0], None, [-2.0, -3.0]], bad, "test")
    assert kept == [0.5, -1.0, -2.0, -3.0] and tags == [True, False, False, False]
    assert "1 of 3 drafts of test left out" in capsys.readouterr().err
    with pytest.raises(UserError, match="give the sentencepiece model that the data was made from"):
        module.judged([None, None, [0.0, 0.0]], bad, "test")
    assert module.rates([["a", "b"], ["a"]], [[True, False], [True]])["b"] < 0.6


def test_the_table_of_the_report() -> None:
    module = load_script("post_editing/report")
    scores = {"cut": 0.5, "matthews": 0.25, "f1_bad": 0.5, "f1_ok": 0.75}
    one = {"words": 1000, "bad": 0.2, "policy": scores, "word rates": {**scores, "matthews": 0.125}}
    lines = module.quality_table({"scratch": one})
    assert lines[0].startswith("Which words of the drafts are bad (20.0 % of 1,000)")
    assert "| no word is bad | 0.000 | 0.000 | 0.889 |" in lines
    assert "| LevT, from scratch | 0.250 | 0.500 | 0.750 |" in lines
    assert "| every word is bad | 0.000 | 0.750 | 0.000 |" in module.quality_table({"scratch": {**one, "bad": 0.6}})
