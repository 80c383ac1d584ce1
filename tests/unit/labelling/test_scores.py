"""The scores of labels and the tuning of thresholds, against scikit-learn and slow references."""

import json
from pathlib import Path

import numpy as np
import pytest

from lev_plugins.cli.main import main
from lev_plugins.labelling import scores
from tests.helpers import Refusal
from tests.systems import SYSTEMS


def test_scores_match_scikit_learn() -> None:
    from sklearn import metrics as sklearn

    draw = np.random.default_rng(1)
    assert "f1" not in scores.evaluate("classification", draw.integers(0, 3, 50), draw.random((50, 3)), 3)
    gold, predicted = draw.integers(0, 2, (50, 6)), draw.random((50, 6))
    answer = scores.evaluate("multilabel", gold, predicted, 6, at=3)
    assert answer["micro_f1"] == pytest.approx(100 * sklearn.f1_score(gold, predicted >= 0.5, average="micro"))
    assert answer["macro_f1"] == pytest.approx(100 * sklearn.f1_score(gold, predicted >= 0.5, average="macro"))
    has_labels = gold.any(1)  # texts without labels do not count
    assert answer["ndcg_at_3"] == pytest.approx(100 * sklearn.ndcg_score(gold[has_labels], predicted[has_labels], k=3))


def test_scores_of_classes_by_hand() -> None:
    predicted = np.eye(3)[[1, 0, 0, 0]]  # F1 of class 0: 4 of 5, of 1: 2 of 3, of 2, which never occurs: 0
    answer = scores.evaluate("classification", np.array([1, 1, 0, 0]), predicted, 3)
    expected = {"accuracy": 75, "macro_f1": 100 * (4 / 5 + 2 / 3) / 3, "matthews": 100 * 2 / 12**0.5}
    assert answer == pytest.approx(expected)
    answer = scores.evaluate("tagging", np.array([1, 1, 0, 0]), predicted, 3)
    assert answer == pytest.approx({"tag_accuracy": 75, "macro_f1": expected["macro_f1"]})
    assert scores.evaluate("classification", np.array([0, 0]), np.eye(2)[[0, 0]], 2)["f1"] == 0  # nothing is positive


def test_scores_of_numbers_by_hand() -> None:
    answer = scores.evaluate("regression", np.array([1, 2.0]), np.array([5, 4.0]), 1)
    assert answer == pytest.approx({"pearson": -100, "spearman": -100, "mse": (16 + 4) / 2})


def test_f1_of_a_single_label() -> None:
    gold, predicted = np.array([[1], [0], [0], [0]]), np.array([[0.1], [0.9], [0.2], [0.3]])
    answer = scores.multilabel(gold, predicted, 1)
    assert (answer["micro_f1"], answer["macro_f1"], answer["ndcg_at_1"]) == (0.0, 0.0, 100.0)
    answer = scores.multilabel(gold, predicted, 1, 0.1)  # below all probabilities
    assert (answer["micro_f1"], answer["macro_f1"]) == (pytest.approx(40.0), pytest.approx(40.0))
    assert scores.multilabel(gold[1:], predicted[1:], 1, 1.0)["micro_f1"] == 0.0


def test_r_precision_matches_a_slow_reference() -> None:
    draw = np.random.default_rng(2)
    gold, predicted = draw.integers(0, 2, (30, 7)), draw.random((30, 7))
    gold[0] = 0  # a text without labels does not count
    for at in (1, 3, 9):
        shares = []
        for truth, row in zip(gold.tolist(), predicted.tolist(), strict=True):
            best = sorted(range(7), key=lambda i, row=row: -row[i])[:at]
            if any(truth):
                shares.append(sum(truth[i] for i in best) / min(at, sum(truth)))
        assert scores.r_precision(gold, predicted, at) == pytest.approx(np.mean(shares))


def test_scores_of_constant_values_are_0() -> None:
    for gold, predicted in (([1.0, 2.0], [3.0, 3.0]), ([3.0, 3.0], [2.0, 1.0])):
        answer = scores.evaluate("regression", np.array(gold), np.array(predicted), 1)
        assert answer == {"pearson": 0.0, "spearman": 0.0, "mse": 2.5}
    answer = scores.evaluate("regression", np.array([1.0]), np.array([3.0]), 1)
    assert answer == {"pearson": 0.0, "spearman": 0.0, "mse": 4.0}
    answer = scores.evaluate("multilabel", np.zeros((2, 3)), np.ones((2, 3)), 3, at=2)
    assert (answer["micro_f1"], answer["rp_at_2"], answer["ndcg_at_2"]) == (0.0, 0.0, 0.0)


def test_a_common_threshold_equals_one_per_label() -> None:
    low = np.float32(0.5)
    high = np.nextafter(low, np.float32(1))
    gold, predicted = np.array([[0], [1]]), np.array([[low], [high]], dtype=np.float32)
    threshold = scores.common_threshold(gold, predicted)
    assert scores.multilabel(gold, predicted, 1, threshold) == scores.multilabel(gold, predicted, 1, [threshold])
    assert scores.multilabel(gold, predicted, 1, threshold)["micro_f1"] == 100.0


def test_the_best_threshold_is_the_highest_of_ties() -> None:
    for seed in range(20):
        draw = np.random.default_rng(seed)
        gold, predicted = draw.integers(0, 2, 8), draw.integers(1, 6, 8) / 6  # many equal scores
        levels = sorted({*predicted.tolist()}, reverse=True)
        expected = [(level, int((predicted >= level).sum()), int(gold[predicted >= level].sum())) for level in levels]
        cuts = scores.possible_cuts(predicted, gold)
        assert list(zip(*(column.tolist() for column in cuts), strict=True)) == expected
        f1 = [correct / (proposed + gold.sum()) for _, proposed, correct in expected]
        best = f1.index(max(f1))  # of ties, the highest threshold
        assert scores.best_threshold(gold, predicted) == pytest.approx((levels[best] + [*levels, 0.0][best + 1]) / 2)
    assert scores.best_threshold(np.zeros(8), predicted) == 0.5
    with pytest.raises(ValueError, match="one example"):
        scores.best_thresholds(np.zeros((0, 2)), np.zeros((0, 2)))


@pytest.mark.parametrize("split", ["test", "test1"])
def test_thresholds_are_not_tuned_on_a_test_set(split: str, tmp_path: Path, refusal: Refusal) -> None:
    message = refusal("tune-thresholds", "folder", "data", tmp_path / "thresholds", "--split", split)
    assert f"--split {split}" in message
    assert list(tmp_path.iterdir()) == []


def test_thresholds_are_tuned_on_the_data_of_a_folder(tmp_path: Path, refusal: Refusal) -> None:
    system, out = SYSTEMS["multilabel"](tmp_path), tmp_path / "thresholds.json"
    folder, labeller = system.export(tmp_path / "folder"), system.load()
    assert main(["tune-thresholds", str(folder), str(system.data), str(out)]) == 0
    rows = [line.split("\t") for line in (system.data.parent / "valid.tsv").read_text("utf-8").splitlines()]
    truth = np.array([[name in labels.split(",") for name in labeller.names] for _, labels in rows])
    probabilities = np.stack([scored.scores for scored in labeller.scored([text for text, _ in rows])])
    expected = dict(zip(labeller.names, scores.best_thresholds(truth, probabilities), strict=True))
    assert json.loads(out.read_text("utf-8")) == pytest.approx(expected, abs=1e-5)
    (system.data / "labels.txt").write_text("x\t1\n")
    assert "labels.txt" in refusal("tune-thresholds", folder, system.data, out)
    checkpoint = refusal("tune-thresholds", system.checkpoint, system.data, out)
    assert f"lev-plugins export {system.checkpoint} " in checkpoint
    assert checkpoint.strip().endswith(f" --data {system.data}")
