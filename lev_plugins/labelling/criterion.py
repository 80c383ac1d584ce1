"""``--criterion labelling``: cross-entropy, squared error or binary cross-entropy per label; validation scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import torch
import torch.nn.functional as F
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import meters, metrics
from fairseq.logging.meters import Meter
from fairseq.tasks import FairseqTask
from numpy.typing import NDArray
from torch import Tensor, nn

from lev_plugins.labelling.dataset import LabelledBatch
from lev_plugins.labelling.folder import LabellingInfo
from lev_plugins.labelling.scores import evaluate
from lev_plugins.labelling.text import Labels
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.ranges import bounded, flag

Array = NDArray[Any]
PredictedAndGold = tuple[Array, Array]
BALANCED = "balanced"
LOG_DIGITS = 2  # after the decimal point, in the log, of scores in per cent


@dataclass
class LabellingConfig(FairseqDataclass):
    class_weights: Optional[str] = flag(
        None,
        "weights in the loss: balanced gives rarer labels of the training text more weight; multilabel: to a label "
        "that is present",
    )
    score_at: int = flag(5, "multilabel: k in the scores rp_at_k and ndcg_at_k")


class Answers(int):
    """The predictions and gold labels of a batch, as an entry of its logging output.

    fairseq-validate prints every entry as a number; that of this one is the number of predictions.
    """

    parts: PredictedAndGold

    def __new__(cls, predicted: Array, gold: Array) -> "Answers":
        instance = super().__new__(cls, len(gold))
        instance.parts = predicted, gold
        return instance

    def __reduce__(self) -> tuple[type["Answers"], PredictedAndGold]:  # for pickle: other processes get it, too
        return Answers, self.parts


class Collected(Meter):
    """Collects the predictions and gold labels of all batches: F1, for one, is not the mean of the F1 of batches."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.parts: list[PredictedAndGold] = []
        self.cached_scores: dict[str, float] | None = None

    def update(self, parts: list[PredictedAndGold]) -> None:
        self.parts += parts
        self.cached_scores = None

    def scores(self, score: Callable[[list[PredictedAndGold]], dict[str, float]]) -> dict[str, float]:
        self.cached_scores = self.cached_scores or score(self.parts)
        return self.cached_scores


setattr(meters, Collected.__name__, Collected)  # where fairseq looks up the meters that a checkpoint names


def label_weights(text: str | None, labels: Labels | None, kind: str, examples: int) -> Tensor | None:
    """Returns the weights of the labels in the loss, from the value of --class-weights.

    >>> label_weights("balanced", Labels(["a", "b"], [6, 2]), "classification", 8)
    tensor([0.6667, 2.0000])
    >>> label_weights("balanced", Labels(["a", "b"], [1, 0]), "tagging", 1)  # one that never occurs counts as one
    tensor([0.5000, 0.5000])
    >>> label_weights("balanced", Labels(["a", "b", "c"], [6, 8, 0]), "multilabel", 8)
    tensor([0.3333, 0.1250, 8.0000])
    """
    if text is None:
        return None
    require(text == BALANCED, f"--class-weights must be balanced, but is {text}: to weigh one label, repeat its texts")
    if labels is None:
        raise UserError("--class-weights cannot be used with --label-kind regression, which has no classes")
    counts = torch.tensor(labels.counts, dtype=torch.float)
    require(
        bool(counts.sum() > 0),
        "--class-weights balanced needs label counts, but the folder was prepared without training text",
    )
    if kind == "multilabel":
        return (examples - counts).clamp(min=1) / counts.clamp(min=1)
    return counts.sum() / (len(labels) * counts.clamp(min=1))


@register_criterion("labelling", dataclass=LabellingConfig)
class LabellingCriterion(FairseqCriterion):
    """The mean loss over the decisions of an update: examples, words, or pairs of example and label.

    It does not depend on how the update is split into batches.
    """

    logged = ("loss",)  # names in the validation log besides the scores, for --best-checkpoint-metric

    def __init__(self, cfg: LabellingConfig, task: FairseqTask) -> None:
        super().__init__(task)
        bounded("--score-at", cfg.score_at, 1)
        info: LabellingInfo = task.info
        self.kind, self.labels = info.kind, task.labels
        self.weights = label_weights(cfg.class_weights, task.labels, info.kind, info.train_examples)
        self.classes = len(task.labels or ())
        self.score_at = cfg.score_at
        self.numbers = task.labels.names if info.step is not None else None  # of --round-labels

    def forward(
        self, model: nn.Module, sample: LabelledBatch, reduce: bool = True
    ) -> tuple[Tensor, int, dict[str, Tensor | int]]:
        logits = model(**sample["net_input"]).float()
        target = sample["target"]
        assert target is not None  # there is no loss without labels
        if target.is_floating_point():  # with --bf16, fairseq converts all floats of a sample
            target = target.float()
        loss = self.loss(logits, target)
        decisions = target.numel()
        log: dict[str, Tensor | int] = {"loss": loss.detach(), "sample_size": decisions}
        log |= {"ntokens": sample["ntokens"], "nsentences": sample["nsentences"]}
        if not model.training:
            log["_answers"] = Answers(answers_of(logits.detach(), self.kind).cpu().numpy(), target.cpu().numpy())
        return loss, decisions, log

    def loss(self, logits: Tensor, target: Tensor) -> Tensor:
        weights = None if self.weights is None else self.weights.to(logits)
        if self.kind == "regression":
            return F.mse_loss(logits, target, reduction="sum")
        if self.kind == "multilabel":
            return F.binary_cross_entropy_with_logits(logits, target, pos_weight=weights, reduction="sum")
        return F.cross_entropy(logits, target, weight=weights, reduction="sum")

    @staticmethod
    def reduce_metrics(logging_outputs: Sequence[Mapping[str, Tensor | int]]) -> None:
        size = sum(int(log["sample_size"]) for log in logging_outputs)
        total = sum(float(log["loss"]) for log in logging_outputs)
        metrics.log_scalar("loss", total / max(size, 1), size, round=4)

    def log_scores(self, logging_outputs: Sequence[Mapping[str, Tensor | int]]) -> None:
        """Logs the scores of all validation batches so far; ``--best-checkpoint-metric`` accepts any of them."""
        answers = [log.get("_answers") for log in logging_outputs]
        parts = [entry.parts for entry in answers if isinstance(entry, Answers)]
        if not parts:
            return
        metrics.log_custom(Collected, "_answers", parts)
        for name in self.score_names():
            metrics.log_derived(
                name, lambda logged, name=name: score_in_log(name, logged["_answers"].scores(self.scores)[name])
            )
        if metrics.get_meters("valid"):  # fairseq would keep these answers after the validation
            metrics.reset_meter("valid", "_answers")

    def score_names(self) -> list[str]:
        """Returns the names of the scores that validation logs."""
        predicted = np.zeros(1) if self.kind == "regression" else np.zeros((1, self.classes))
        gold = np.zeros(predicted.shape if self.kind == "multilabel" else 1, dtype=int)
        return list(self.scores([(predicted, gold)]))

    def scores(self, parts: list[PredictedAndGold]) -> dict[str, float]:
        predicted, gold = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return evaluate(self.kind, gold, predicted, self.classes, self.score_at, self.numbers)

    def logging_outputs_can_be_summed(self) -> bool:  # fairseq calls it on the criterion
        return bool(self.training)  # in validation, answers are concatenated


def score_in_log(name: str, score: float) -> float:
    """Returns a score for the log; ``mse`` has the squared unit of the labels, so it may be small."""
    return score if name == "mse" else round(score, LOG_DIGITS)


def answers_of(logits: Tensor, kind: str) -> Tensor:
    """Returns probabilities, or the numbers of a regression."""
    if kind == "regression":
        return logits
    return logits.sigmoid() if kind == "multilabel" else logits.softmax(-1)
