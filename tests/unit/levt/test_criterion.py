"""The loss against a loop transcription of Algorithm 1, its averages, and its log."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from fairseq.logging import metrics
from fairseq.nan_detector import NanDetector
from torch import Tensor

from lev_plugins.levt.criterion import HEADS, DualPolicyCriterion
from lev_plugins.levt.model import LevT
from tests.helpers import slow_alignment, tensor_to_rows, toy_batch, toy_criterion, toy_model

SMOOTHING = {"label_smoothing": 0.1, "placeholder_label_smoothing": 0.02, "deletion_label_smoothing": 0.05}
SMOOTHING_OF = {"token": 0.1, "placeholder": 0.02, "deletion": 0.05}


def log_softmax(row: Tensor) -> np.ndarray:
    x = row.detach().numpy().astype(np.float64)
    return x - x.max() - np.log(np.exp(x - x.max()).sum())


def slow_decision(logits: Tensor, label: int, smoothing: float) -> tuple[float, float]:
    """Returns the smoothed loss and the negative log-likelihood of one decision."""
    log_probs = log_softmax(logits)
    nll = -float(log_probs[label])
    return (1 - smoothing) * nll + smoothing * -float(log_probs.mean()), nll


def states(model: LevT, head: str, tokens: list[int], source: list[int]) -> list[Tensor]:
    return model.decoder.hidden_states(head, torch.tensor([tokens]), model.encode(torch.tensor([source])))


def missing_per_slot(missing: list[bool]) -> list[int]:
    """Counts the missing tokens between each two neighbors of the tokens that are present."""
    counts = [0] * (missing.count(False) - 1)
    slot = -1
    for is_missing in missing:
        if is_missing:
            counts[slot] += 1
        else:
            slot += 1
    return counts


def slow_losses(model: LevT, batch: dict[str, Any], smoothing: dict[str, float]) -> dict[str, dict[str, float]]:
    """Computes Algorithm 1 sentence by sentence and decision by decision."""
    net_input = batch["net_input"]
    width = net_input["states"]["target"].size(1)
    placeholders = set(net_input["states"]["placeholder_index"].tolist())
    decisions: dict[str, list[tuple[float, float]]] = {head: [] for head in (*HEADS, "deletion_word")}
    sources, targets = tensor_to_rows(net_input["src_tokens"]), tensor_to_rows(net_input["states"]["target"])
    for b, (source, target) in enumerate(zip(sources, targets, strict=True)):
        missing = [b * width + i in placeholders for i in range(len(target))]
        missing_at = [i for i in range(len(target)) if missing[i]]
        y_ins = [token for token, is_missing in zip(target, missing, strict=True) if not is_missing]

        logits = model.decoder.placeholder_logits(states(model, "placeholder", y_ins, source))[0]
        for row, count in zip(logits, missing_per_slot(missing), strict=True):
            label = min(count, model.max_insertions)
            decisions["placeholder"].append(slow_decision(row, label, smoothing["placeholder"]))

        with_placeholders = [model.placeholder if i in missing_at else target[i] for i in range(len(target))]
        positions = torch.tensor(missing_at, dtype=torch.long)
        words = model.decoder.token_logits(
            states(model, "token", with_placeholders, source), positions, model.encode(torch.tensor([source]))
        )
        for row, position in zip(words, positions.tolist(), strict=True):
            decisions["token"].append(slow_decision(row, target[position], smoothing["token"]))

        if "draft" in net_input and bool(net_input["states"]["from_draft"][b]):
            y_del = tensor_to_rows(net_input["draft"])[b]
        else:
            y_del = list(target)
            for row, position in zip(words, positions.tolist(), strict=True):
                y_del[position] = int(row.argmax())
        is_kept, _ = slow_alignment(y_del, target)
        deletions = model.decoder.deletion_logits(states(model, "deletion", y_del, source))[0]
        for row, keep in zip(deletions, is_kept, strict=True):
            decisions["deletion"].append(slow_decision(row, int(not keep), smoothing["deletion"]))
        decisions["deletion_word"] += decisions["deletion"][1 - len(y_del) : -1]
    return {
        head: {"loss": sum(loss for loss, _ in rows), "nll": sum(nll for _, nll in rows), "count": float(len(rows))}
        for head, rows in decisions.items()
    }


@pytest.mark.parametrize("smoothed", [False, True])
@pytest.mark.parametrize("drafts", [False, True])
def test_losses_match_algorithm_1_computed_decision_by_decision(drafts: bool, smoothed: bool) -> None:
    model, batch = toy_model(max_insertions=3), toy_batch(8, drafts=drafts)
    criterion = toy_criterion(**(SMOOTHING if smoothed else {}))
    expected = slow_losses(model, batch, SMOOTHING_OF if smoothed else dict.fromkeys(HEADS, 0.0))
    loss, size, log = criterion(model, batch)
    for head in HEADS:
        for key, value in expected[head].items():
            assert float(log[f"{head}_{key}"]) == pytest.approx(value, rel=1e-5), (head, key)
    assert float(loss) == pytest.approx(sum(expected[head]["loss"] for head in HEADS), rel=1e-5)
    assert size == sum(len(row) for row in tensor_to_rows(batch["net_input"]["states"]["target"]))


def test_loss_average_heads_sums_the_mean_loss_of_each_head() -> None:
    model, batch = toy_model(), toy_batch()
    expected = slow_losses(model, batch, SMOOTHING_OF)
    loss, size, _ = toy_criterion(loss_average="heads", **SMOOTHING)(model, batch)
    means = [expected[head]["loss"] / expected[head]["count"] for head in HEADS]
    assert float(loss) == pytest.approx(sum(means), rel=1e-5)
    assert size == 1


def reduced(*logs: dict[str, Any]) -> dict[str, float]:
    with metrics.aggregate(new_root=True) as log:
        DualPolicyCriterion.reduce_metrics(logs)
    return log.get_smoothed_values()


@pytest.mark.parametrize("average", ["counts", "heads"])
@pytest.mark.parametrize("rollin", ["argmax", "sample", "dae"])
def test_a_batch_without_missing_tokens_has_no_token_loss_but_gradients_everywhere(average: str, rollin: str) -> None:
    model, batch = toy_model(), toy_batch()
    net_input = batch["net_input"]
    states = net_input["states"]
    states |= {"missing_counts": states["missing_counts"] * 0, "placeholder_index": states["placeholder_index"][:0]}
    states["kept_tokens"] = states["target"]
    loss, _, log = toy_criterion(deletion_rollin=rollin, loss_average=average, **SMOOTHING)(model, batch)
    loss.backward()
    assert math.isfinite(float(loss))
    assert float(log["token_loss"]) == int(log["token_count"]) == 0 and "token_nll" not in reduced(log)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_the_log_counts_correct_tokens_and_labels() -> None:
    model, batch = toy_model(), toy_batch()
    net_input = batch["net_input"]
    _, _, log = toy_criterion()(model, batch)
    output, states = model(**net_input), net_input["states"]
    labels = states["target"].flatten()[states["placeholder_index"]]
    assert int(log["token_correct"]) == int((output.token.best == labels).sum())
    assert int(log["deletion_label_sum"]) == int(output.deletion.labels.clamp(min=0).sum())
    assert int(log["placeholder_label_sum"]) == int(states["missing_counts"].clamp(max=8).sum())


@pytest.mark.parametrize("rollin", ["argmax", "sample", "dae"])
def test_validation_is_deterministic_and_does_not_advance_the_global_generator(rollin: str) -> None:
    model, batch = toy_model().eval(), toy_batch()
    criterion = toy_criterion(deletion_rollin=rollin)
    rng_state = torch.random.get_rng_state()
    losses = [float(criterion(model, batch)[0]) for _ in range(2)]
    assert losses[0] == losses[1]
    assert torch.random.get_rng_state().equal(rng_state)


@pytest.mark.parametrize("rollin", ["sample", "dae"])
def test_training_samples_another_rollin_in_every_step(rollin: str) -> None:
    model, batch = toy_model().train(), toy_batch()
    criterion = toy_criterion(deletion_rollin=rollin)
    losses = {float(criterion(model, batch)[2]["deletion_loss"]) for _ in range(5)}
    assert len(losses) > 1


def test_fairseqs_nan_detector_names_the_module_with_a_nan(caplog: pytest.LogCaptureFixture) -> None:
    """The detector hooks all modules and must be able to read their outputs."""
    model = toy_model()
    with torch.no_grad():
        model.decoder.placeholder_head.weight[0, 0] = torch.nan
    with NanDetector(model), caplog.at_level("WARNING"):
        loss, _, _ = toy_criterion()(model, toy_batch())
        loss.backward()
    assert "NaN detected in output of decoder.placeholder_head" in caplog.text


def test_logged_losses_are_in_bits_per_decision() -> None:
    model, batch = toy_model().eval(), toy_batch()
    _, _, log = toy_criterion(**SMOOTHING)(model, batch)
    values = reduced(log, log)
    expected = slow_losses(model, batch, SMOOTHING_OF)
    for head in HEADS:
        for what in ("loss", "nll"):
            bits = expected[head][what] / expected[head]["count"] / math.log(2)
            assert values[f"{head}_{what}"] == pytest.approx(bits, abs=2e-3)
        share = 100 * int(log[f"{head}_correct"]) / int(log[f"{head}_count"])
        assert values[f"{head}_accuracy"] == round(share, 2)
    assert values["loss"] == pytest.approx(float(log["loss"]) / log["sample_size"] / math.log(2), abs=2e-3)
    assert values["nll_loss"] == values["token_nll"]
    assert values["ppl"] == pytest.approx(2 ** values["nll_loss"], abs=0.1)
    for name, head in (("deletion_rate", "deletion"), ("insertions_per_slot", "placeholder")):
        assert values[name] == pytest.approx(int(log[f"{head}_label_sum"]) / int(log[f"{head}_count"]), abs=2e-3)
    words = expected["deletion_word"]
    assert words["count"] == expected["deletion"]["count"] - 2 * len(batch["net_input"]["states"]["target"])
    assert values["deletion_word_nll"] == pytest.approx(words["nll"] / words["count"] / math.log(2), abs=2e-3)


def test_perplexity_is_1_in_an_interval_without_missing_tokens() -> None:
    _, _, log = toy_criterion()(toy_model().eval(), toy_batch())
    with metrics.aggregate("interval") as interval:
        DualPolicyCriterion.reduce_metrics([log])
        assert interval.get_smoothed_values()["ppl"] > 1
        metrics.reset_meters("interval")
        DualPolicyCriterion.reduce_metrics([log | {"token_count": 0}])
        assert interval.get_smoothed_values()["ppl"] == 1


def test_summed_logs_of_workers_reduce_to_the_values_of_separate_logs() -> None:
    assert DualPolicyCriterion.logging_outputs_can_be_summed()
    model = toy_model().eval()
    logs = [toy_criterion()(model, batch)[2] for batch in (toy_batch(), toy_batch(seed=2))]
    together = {key: logs[0][key] + logs[1][key] for key in logs[0]}
    assert reduced(*logs) == pytest.approx(reduced(together))
