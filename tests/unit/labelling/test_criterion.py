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
from lev_plugins.labelling.criterion import Collected, LabellingConfig, LabellingCriterion, label_weights
from lev_plugins.labelling.text import LABEL_KINDS, Labels
from lev_plugins.utils.errors import UserError
from tests.labelling import batch_of, model_of, task_of, write_text

SCORES = {
    "classification": {"accuracy", "f1", "macro_f1", "matthews"},
    "regression": {"pearson", "spearman", "mse"},
    "multilabel": {"micro_f1", "macro_f1", "rp_at_2", "ndcg_at_2"},
    "tagging": {"tag_accuracy", "macro_f1"},
}


def criterion_of(task: Any, **options: Any) -> LabellingCriterion:
    return LabellingCriterion(LabellingConfig(**{"score_at": 2, **options}), task)


def slow_loss(kind: str, logits: list, target: list, weights: list[float]) -> float:
    total = 0.0
    for row, wanted in zip(logits, target, strict=True):
        if kind == "regression":
            total += (row - wanted) ** 2
        elif kind == "multilabel":
            for logit, there, weight in zip(row, wanted, weights, strict=True):
                probability = 1 / (1 + np.exp(-logit))
                total -= weight * np.log(probability) if there else np.log(1 - probability)
        else:
            total -= weights[wanted] * np.log(np.exp(row[wanted]) / np.exp(row).sum())
    return total


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_the_loss_is_a_sum_over_decisions(folders: dict[str, Path], kind: str) -> None:
    task = task_of(folders[kind])
    model, batch = model_of(task), batch_of(task)
    criterion = criterion_of(task, class_weights=None if kind == "regression" else "balanced")
    loss, size, log = criterion(model, batch)
    weights = [] if criterion.weights is None else criterion.weights.tolist()
    logits = model(**batch["net_input"]).logits.tolist()
    assert float(loss) == pytest.approx(slow_loss(kind, logits, batch["target"].tolist(), weights), rel=1e-4)
    assert size == batch["target"].numel()
    assert log["nsentences"] == 8


def test_weights_take_counts() -> None:
    assert label_weights(None, Labels(["a"], [0]), "tagging", 0) is None
    with pytest.raises(UserError, match="balanced needs label counts, but the folder was prepared without training"):
        label_weights("balanced", Labels(["a", "b"], [0, 0]), "classification", 0)


def test_the_logged_loss_is_a_mean_over_decisions() -> None:
    logs = [{"loss": torch.tensor(6.0), "sample_size": 2}, {"loss": torch.tensor(1.0), "sample_size": 4}]
    for some, expected in ((logs, 1.1667), ([], 0.0)):  # a process may have had no batch
        with metrics.aggregate(new_root=True) as found:
            LabellingCriterion.reduce_metrics(some)
        assert found.get_smoothed_values()["loss"] == expected


def test_what_training_reads_is_shuffled_whatever_its_name(folders: dict[str, Path]) -> None:
    task = task_of(folders["multilabel"], train_subset="valid")
    drawn = {split: [task.datasets[split].ordered_indices().tolist() for _ in range(3)] for split in ("train", "valid")}
    assert drawn["train"][0] == drawn["train"][1] == drawn["train"][2]
    assert not drawn["valid"][0] == drawn["valid"][1] == drawn["valid"][2]


@pytest.mark.parametrize(
    ("metric", "maximize", "message"),
    [
        ("accuracy", True, None),
        ("loss", False, None),
        ("bsz", False, None),
        ("accuracy", False, "higher is better, so add --maximize-best-checkpoint-metric"),
        ("ppl", False, "ppl is not in the log: choose one of loss, bsz, wpb, num_updates, or a score .*accuracy"),
    ],
)
def test_the_best_checkpoint_is_by_what_is_logged(
    folders: dict[str, Path], metric: str, maximize: bool, message: str | None
) -> None:
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
    with metrics.aggregate(new_root=True) as found:
        batch = dataset.collater([dataset[i] for i in range(8)])
        task.reduce_metrics([task.valid_step(batch, model, criterion)[2]], criterion)
    assert metric in found.get_smoothed_values()


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_validation_scores_are_those_of_the_whole_set(folders: dict[str, Path], kind: str) -> None:
    task = task_of(folders[kind])
    model, criterion = model_of(task), criterion_of(task)
    dataset = task.datasets["valid"]
    found = []
    for batches in ([range(20)], [range(3), range(3, 15), range(15, 20)]):
        with metrics.aggregate(new_root=True) as log:
            for part in batches:
                with metrics.aggregate("valid"):  # as in fairseq's trainer
                    task.reduce_metrics([criterion(model, dataset.collater([dataset[i] for i in part]))[2]], criterion)
        values = log.get_smoothed_values()
        found.append({name: values[name] for name in SCORES[kind]})
    assert found[0] == pytest.approx(found[1], abs=0.1)  # ranks of equal answers differ in the last digit
    assert metrics.get_meter("valid", "_answers").parts == []  # fairseq keeps this one from validation to validation


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_numbers_that_bf16_has_shortened(folders: dict[str, Path], kind: str) -> None:
    """fairseq's trainer makes all floats of a sample as short as the weights."""
    task = task_of(folders[kind])
    model, criterion, batch = model_of(task), criterion_of(task), batch_of(task)
    short = utils.apply_to_sample(lambda x: x.bfloat16() if x.dtype is torch.float32 else x, batch)
    loss, _, log = criterion(model, short)
    assert loss.dtype is torch.float32
    torch.testing.assert_close(loss, criterion(model, batch)[0])
    torch.testing.assert_close(log["_answers"].parts[1], batch["target"].numpy().astype(log["_answers"].parts[1].dtype))


def test_fairseq_validate_prints_how_many_answers(folders: dict[str, Path]) -> None:
    """It hands the log of each batch to a progress bar, which writes it as JSON or between words."""
    task = task_of(folders["multilabel"])
    log = criterion_of(task)(model_of(task), batch_of(task))[2]
    assert progress_bar.format_stat(log["_answers"]) == "8"
    assert "_answers" in json.dumps({name: progress_bar.format_stat(value) for name, value in log.items()})
    again = pickle.loads(pickle.dumps(log["_answers"]))
    assert again == 8 and np.array_equal(again.parts[0], log["_answers"].parts[0])


def test_training_keeps_no_answers(folders: dict[str, Path]) -> None:
    task = task_of(folders["tagging"])
    log = criterion_of(task)(model_of(task).train(), batch_of(task))[2]
    assert "_answers" not in log


def test_classes_that_are_numbers_are_validated_as_numbers(tmp_path: Path) -> None:
    """So that pearson chooses the checkpoint, as for a regression."""
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
    given = values[model(**batch["net_input"]).logits.argmax(1).numpy()]
    expected = scores.regression(values[batch["target"].numpy()], given)
    logged = log.get_smoothed_values()
    assert {name: logged[name] for name in expected} == pytest.approx(expected, abs=0.01)
    assert len({*given}) > 1 and {"accuracy", "matthews"} <= logged.keys()


def test_the_meter_of_answers_comes_back_empty_from_a_checkpoint() -> None:
    saved, restored = meters.MetersDict(), meters.MetersDict()
    saved.add_meter("_answers", Collected(), 10)
    saved["_answers"].update([(1, 2)])
    restored.load_state_dict(saved.state_dict())
    assert saved["_answers"].parts == [(1, 2)] and restored["_answers"].parts == []


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("regression", {"class_weights": "balanced"}, "cannot be used with --label-kind regression, which has no"),
        ("tagging", {"class_weights": "LONG=1"}, "--class-weights must be balanced, but is LONG=1: to weigh one"),
        ("classification", {"positive_label": "dry"}, "--positive-label was removed: F1 is that of the last label of"),
        ("multilabel", {"score_at": 0}, "--score-at must be at least 1, but is 0"),
    ],
)
def test_refused(folders: dict[str, Path], kind: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        criterion_of(task_of(folders[kind]), **options)


def test_wrong_combinations_are_refused(folders: dict[str, Path]) -> None:
    task = task_of(folders["classification"])
    with pytest.raises(ValueError, match="requires --criterion labelling, but --criterion is cross_entropy"):
        task.build_criterion(SimpleNamespace(_name="cross_entropy"))
    with pytest.raises(ValueError, match="requires --arch enct5 or enct5_tiny, but --arch is levt"):
        task.build_model(SimpleNamespace(_name="levt"))
