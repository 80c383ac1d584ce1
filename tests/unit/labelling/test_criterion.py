"""``--criterion labelling`` and its scores: against plain sums, scikit-learn and SciPy."""

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fairseq import utils
from fairseq.logging import meters, metrics, progress_bar
from omegaconf import OmegaConf

from lev_plugins.cli.main import main
from lev_plugins.labelling import scores
from lev_plugins.labelling.criterion import Answers, Collected, LabellingConfig, LabellingCriterion, label_weights
from lev_plugins.labelling.text import LABEL_KINDS, Labels
from lev_plugins.utils.errors import UserError
from tests.labelling import batch_of, model_of, task_of, write_text

SCORES_OF_KIND = {
    "classification": {"accuracy", "f1", "macro_f1", "matthews"},
    "regression": {"pearson", "spearman", "mse"},
    "multilabel": {"micro_f1", "macro_f1", "rp_at_2", "ndcg_at_2"},
    "tagging": {"tag_accuracy", "macro_f1"},
}


def criterion_of(task: Any, **options: Any) -> LabellingCriterion:
    return LabellingCriterion(LabellingConfig(**{"score_at": 2, **options}), task)


def slow_loss(kind: str, logits: list, target: list, weights: list[float]) -> float:
    total = 0.0
    for row, label in zip(logits, target, strict=True):
        if kind == "regression":
            total += (row - label) ** 2
        elif kind == "multilabel":
            for logit, there, weight in zip(row, label, weights, strict=True):
                probability = 1 / (1 + np.exp(-logit))
                total -= weight * np.log(probability) if there else np.log(1 - probability)
        else:
            total -= weights[label] * np.log(np.exp(row[label]) / np.exp(row).sum())
    return total


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_the_loss_is_a_sum_over_decisions(folders: dict[str, Path], kind: str) -> None:
    task = task_of(folders[kind])
    model, batch = model_of(task), batch_of(task)
    criterion = criterion_of(task, class_weights=None if kind == "regression" else "balanced")
    loss, size, log = criterion(model, batch)
    weights = [] if criterion.weights is None else criterion.weights.tolist()
    logits = model(**batch["net_input"]).tolist()
    assert float(loss) == pytest.approx(slow_loss(kind, logits, batch["target"].tolist(), weights), rel=1e-4)
    assert size == batch["target"].numel()
    assert log["nsentences"] == 8


def test_balanced_weights_require_counts() -> None:
    assert label_weights(None, Labels(["a"], [0]), "tagging", 0) is None
    with pytest.raises(UserError, match=r"balanced .*counts"):
        label_weights("balanced", Labels(["a", "b"], [0, 0]), "classification", 0)


def test_the_logged_loss_is_a_mean_over_decisions() -> None:
    logs = [{"loss": torch.tensor(6.0), "sample_size": 2}, {"loss": torch.tensor(1.0), "sample_size": 4}]
    for some, expected in ((logs, 1.1667), ([], 0.0)):  # a process may have had no batch
        with metrics.aggregate(new_root=True) as log:
            LabellingCriterion.reduce_metrics(some)
        assert log.get_smoothed_values()["loss"] == expected


def test_the_train_subset_is_shuffled(folders: dict[str, Path]) -> None:
    task = task_of(folders["multilabel"], train_subset="valid")
    order = {split: [task.datasets[split].ordered_indices().tolist() for _ in range(3)] for split in ("train", "valid")}
    assert order["train"][0] == order["train"][1] == order["train"][2]
    assert not order["valid"][0] == order["valid"][1] == order["valid"][2]


@pytest.mark.parametrize(
    ("metric", "maximize", "message"),
    [
        ("accuracy", True, None),
        ("loss", False, None),
        ("bsz", False, None),
        ("accuracy", False, "--maximize-best-checkpoint-metric"),
        ("ppl", False, "ppl"),
    ],
)
def test_best_metric_must_be_logged(folders: dict[str, Path], metric: str, maximize: bool, message: str | None) -> None:
    best = {"best_checkpoint_metric": metric, "maximize_best_checkpoint_metric": maximize}
    task = task_of(folders["classification"], **best)
    model_of(task)
    cfg = OmegaConf.structured(LabellingConfig(_name="labelling"))
    if message is not None:
        with pytest.raises(UserError, match=message):
            task.build_criterion(cfg)
        return
    criterion, dataset = task.build_criterion(cfg), task.datasets["valid"]
    model = model_of(task)
    with metrics.aggregate(new_root=True) as log:
        batch = dataset.collater([dataset[i] for i in range(8)])
        task.reduce_metrics([task.valid_step(batch, model, criterion)[2]], criterion)
    assert metric in log.get_smoothed_values()


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_label_scores_do_not_depend_on_batches(folders: dict[str, Path], kind: str) -> None:
    task = task_of(folders[kind])
    model, criterion = model_of(task), criterion_of(task)
    dataset = task.datasets["valid"]
    results = []
    for batches in ([range(20)], [range(3), range(3, 15), range(15, 20)]):
        with metrics.aggregate(new_root=True) as log:
            for part in batches:
                with metrics.aggregate("valid"):  # as in fairseq's trainer
                    task.reduce_metrics([criterion(model, dataset.collater([dataset[i] for i in part]))[2]], criterion)
        values = log.get_smoothed_values()
        results.append({name: values[name] for name in SCORES_OF_KIND[kind]})
    assert results[0] == pytest.approx(results[1], abs=0.1)  # rounding changes the ranks of equal answers
    assert metrics.get_meter("valid", "_answers").parts == []  # fairseq reuses this meter in every validation


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_targets_in_bf16_give_the_loss_of_32_bits(folders: dict[str, Path], kind: str) -> None:
    """fairseq's trainer converts all floats of a sample to the type of the weights."""
    task = task_of(folders[kind])
    model, criterion, batch = model_of(task), criterion_of(task), batch_of(task)
    short = utils.apply_to_sample(lambda x: x.bfloat16() if x.dtype is torch.float32 else x, batch)
    loss, _, log = criterion(model, short)
    assert loss.dtype is torch.float32
    torch.testing.assert_close(loss, criterion(model, batch)[0])
    torch.testing.assert_close(log["_answers"].parts[1], batch["target"].numpy().astype(log["_answers"].parts[1].dtype))


def test_collected_answers_are_logged_as_their_number(folders: dict[str, Path]) -> None:
    """fairseq-validate passes the log of each batch to a progress bar, which writes it as JSON or as words."""
    task = task_of(folders["multilabel"])
    log = criterion_of(task)(model_of(task), batch_of(task))[2]
    assert progress_bar.format_stat(log["_answers"]) == "8"
    assert "_answers" in json.dumps({name: progress_bar.format_stat(value) for name, value in log.items()})
    again = pickle.loads(pickle.dumps(log["_answers"]))
    assert again == 8 and np.array_equal(again.parts[0], log["_answers"].parts[0])


def test_training_logs_no_answers(folders: dict[str, Path]) -> None:
    task = task_of(folders["tagging"])
    log = criterion_of(task)(model_of(task).train(), batch_of(task))[2]
    assert "_answers" not in log


def test_numeric_classes_are_scored_as_numbers(tmp_path: Path) -> None:
    """Pearson can then select the checkpoint, as for a regression."""
    write_text(tmp_path, "regression")
    words = ["prepare-labels", "--label-kind", "classification", "--round-labels", 0.5, "--dest", tmp_path / "data"]
    words += ["--train", tmp_path / "train.tsv", "--valid", tmp_path / "valid.tsv"]
    assert main([str(word) for word in words]) == 0
    task = task_of(tmp_path / "data", best_checkpoint_metric="pearson", maximize_best_checkpoint_metric=True)
    model = model_of(task)
    criterion = task.build_criterion(OmegaConf.structured(LabellingConfig(_name="labelling")))
    batch = batch_of(task, "valid", 20)
    with metrics.aggregate(new_root=True) as log:
        task.reduce_metrics([task.valid_step(batch, model, criterion)[2]], criterion)
    values = np.array(task.labels.names, dtype=float)
    predictions = values[model(**batch["net_input"]).argmax(1).numpy()]
    expected = scores.regression(values[batch["target"].numpy()], predictions)
    logged = log.get_smoothed_values()
    assert {name: logged[name] for name in expected} == pytest.approx(expected, abs=0.01)
    assert len({*predictions}) > 1 and {"accuracy", "matthews"} <= logged.keys()


def test_small_errors_of_a_regression_are_logged(folders: dict[str, Path]) -> None:
    answers = Answers(np.array([0.001, 0.5]), np.array([0.0, 0.5]))
    with metrics.aggregate(new_root=True) as log:
        criterion_of(task_of(folders["regression"])).log_scores([{"_answers": answers}])
    assert log.get_smoothed_values()["mse"] == pytest.approx(5e-7)


def test_collected_answers_are_not_restored_from_a_checkpoint() -> None:
    saved, restored = meters.MetersDict(), meters.MetersDict()
    saved.add_meter("_answers", Collected(), 10)
    saved["_answers"].update([(1, 2)])
    restored.load_state_dict(saved.state_dict())
    assert saved["_answers"].parts == [(1, 2)] and restored["_answers"].parts == []


@pytest.mark.parametrize(
    ("kind", "options", "rule"),
    [
        ("regression", {"class_weights": "balanced"}, "--label-kind regression"),
        ("tagging", {"class_weights": "LONG=1"}, "--class-weights .*LONG=1"),
        ("multilabel", {"score_at": 0}, "--score-at .*1.*0"),
    ],
)
def test_wrong_criterion_options(folders: dict[str, Path], kind: str, options: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        criterion_of(task_of(folders[kind]), **options)


def test_other_criterions_and_models_are_refused(folders: dict[str, Path]) -> None:
    task = task_of(folders["classification"])
    with pytest.raises(ValueError, match=r"--criterion labelling.* cross_entropy"):
        task.build_criterion(SimpleNamespace(_name="cross_entropy"))
    with pytest.raises(ValueError, match=r"--arch enct5 .*levt"):
        task.build_model(SimpleNamespace(_name="levt"))
