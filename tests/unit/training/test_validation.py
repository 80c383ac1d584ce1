"""Scores of the validation set, in batches and processes."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fairseq.logging import metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from lev_plugins.levt.task import TextEditingTask
from lev_plugins.scoring import bleu, chrf, exact_match, rouge, ter, wrr
from lev_plugins.training.validation import ValidationScores, parse_names
from lev_plugins.utils.errors import UserError
from tests.helpers import BOS, EOS, thorough, toy_dataset, toy_task


class TargetGenerator:
    def generate(self, models: Any, sample: dict[str, Any], **kwargs: Any) -> list[Any]:
        return [[{"tokens": row} for row in sample["target"]]] if sample.get("target") is not None else []


METRIC_NAMES = ["bleu", "chrf", "ter", "rouge1", "rouge2", "rougeL", "wrr", "exact_match"]


sentences = st.lists(st.sampled_from(["a", "b", "c", "dogs", "dog"]), max_size=7).map(" ".join)


def logged_scores(scores: ValidationScores, batches: list[tuple[list[str], list[str]]]) -> dict[str, float]:
    with metrics.aggregate(new_root=True) as log:
        for references, texts in batches:  # a batch at a time, as fairseq's validation does
            scores.log([scores.statistics(references, texts)])
    return {name: value for name, value in log.get_smoothed_values().items() if not name.startswith("_")}


@settings(thorough, max_examples=30)
@given(st.lists(st.tuples(sentences, sentences.filter(bool)), min_size=2, max_size=8), st.data())
def test_scores_of_batches_equal_the_whole_set(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    texts, references = ([*column] for column in zip(*pairs, strict=True))
    cut = data.draw(st.integers(1, len(pairs) - 1))
    batches = [(references[:cut], texts[:cut]), (references[cut:], texts[cut:])]
    expected = {
        "bleu": bleu.evaluate(references, texts).score,
        "chrf": chrf.evaluate(references, texts).score,
        "ter": ter.evaluate(references, texts).score,
        "wrr": 100 * wrr.evaluate(references, texts).score,
        "exact_match": 100 * exact_match.evaluate(references, texts).score,
        **{kind: 100 * rouge.evaluate(references, texts, kind).score for kind in ("rouge1", "rouge2", "rougeL")},
    }
    assert logged_scores(ValidationScores(METRIC_NAMES), batches) == pytest.approx(expected, abs=0.0051)


def test_the_tokenizer_of_validation_is_that_of_its_flag() -> None:
    texts = ["東京は大きい町です。"], ["東京は小さい町です。"]
    flags = ({}, {"eval_bleu_tokenize": "char"}, {"eval_bleu_tokenize": "char", "eval_tokenized_bleu": True})
    scores = [toy_task(eval_bleu=True, **chosen).scores for chosen in flags]
    assert [logged_scores(score, [texts])["bleu"] > 10 for score in scores] == [False, True, False]


def test_statistics_of_processes_are_added() -> None:
    scores = ValidationScores(["ter"])
    stats_1, stats_2 = (
        scores.statistics(["a b c d"], ["a b c x"]),
        scores.statistics(["a b"], ["y z"]),
    )
    with metrics.aggregate(new_root=True) as log:
        scores.log([stats_1, stats_2])
    assert log.get_smoothed_values()["ter"] == 50.0
    with metrics.aggregate(new_root=True) as log:
        scores.log([{"loss": 1.0}])  # training
    assert "ter" not in log.get_smoothed_values()


def test_unknown_metrics_are_refused() -> None:
    assert parse_names("") == []
    with pytest.raises(UserError, match=r"--eval-metrics accepts bleu, .* but not 'rouge'"):
        parse_names("ter,rouge")
    with pytest.raises(UserError, match="but not ''"):
        parse_names("ter,")


def valid_log(task: TextEditingTask) -> dict[str, Any]:
    """Returns the log of a batch whose only sentence is decoded to its first word."""
    task.tokenizer, task.sequence_generator = None, TargetGenerator()
    task.inference_step = lambda *args, **kwargs: [[{"tokens": torch.tensor([5, EOS])}]]  # type: ignore[method-assign]
    dataset = toy_dataset([[BOS, 5, EOS]], [[BOS, 5, 6, EOS]])
    loss = 1.0, 1, {"ntokens": 1}
    return task.valid_step(dataset.collater([dataset[0]]), torch.nn.Module(), lambda model, sample: loss)[2]


def test_validation_decodes_only_with_metrics() -> None:
    assert not [key for key in valid_log(toy_task()) if key.startswith("_")]
    log = valid_log(toy_task(eval_bleu=True))
    assert {key.rsplit("_", 1)[0] for key in log if key[0] == "_"} == {"_bleu"}
    log = valid_log(toy_task(eval_metrics="ter,exact_match"))
    assert (log["_ter_0"], log["_ter_1"], log["_exact_match_0"], log["_bleu_0"]) == (1, 2, 0, 1)


def test_unknown_words_never_match(caplog: pytest.LogCaptureFixture) -> None:
    task = toy_task(eval_metrics="wrr", eval_bleu_print_samples=True)
    unknown = [BOS, task.tgt_dict.unk(), EOS]
    task.tokenizer, task.sequence_generator = SimpleNamespace(decode=str.upper), TargetGenerator()
    dataset = toy_dataset([unknown], [unknown])
    loss = 1.0, 1, {"ntokens": 1}
    with caplog.at_level("INFO"):
        log = task.valid_step(dataset.collater([dataset[0]]), torch.nn.Module(), lambda model, sample: loss)[2]
    assert (log["_wrr_0"], log["_wrr_1"]) == (0, 1)
    assert "example hypothesis: UNKNOWNTOKENINHYP" in caplog.text
