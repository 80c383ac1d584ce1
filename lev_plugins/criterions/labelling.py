"""``--criterion labelling``: cross-entropy, squared error or binary cross-entropy per label; validation scores."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import torch
import torch.nn.functional as F
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import meters, metrics
from fairseq.logging.meters import Meter
from torch import Tensor

from lev_plugins.data.labels.folder import LabellingInfo
from lev_plugins.data.labels.text import Labels
from lev_plugins.errors import UserError, require
from lev_plugins.ranges import bounded, flag
from lev_plugins.scoring.labelling import evaluate

BALANCED = "balanced"
DIGITS = 2


@dataclass
class LabellingConfig(FairseqDataclass):
    class_weights: Optional[str] = flag(
        None,
        "weights in the loss: LABEL=WEIGHT,... (other labels: 1), or balanced, which gives rarer labels of the "
        "training text more weight; multilabel: the weight of a label that is present",
    )
    positive_label: Optional[str] = flag(
        None, "two classes: the one whose F1 is reported as `f1` (default: the last one)"
    )
    score_at: int = flag(5, "multilabel: k in the scores rp_at_k and ndcg_at_k")


class Answers(int):
    """How many answers a batch has, which is all that fairseq-validate prints, with the answers and the truth."""

    parts: tuple[Any, Any]

    def __new__(cls, given: Any, truth: Any) -> "Answers":
        made = super().__new__(cls, len(truth))
        made.parts = given, truth
        return made

    def __reduce__(self) -> tuple[Any, ...]:  # for pickle, which takes it to the other processes
        return Answers, self.parts


class Collected(Meter):
    """Answers and truth of all batches so far: the score of a set is not the mean over its batches."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.parts: list[tuple[Any, Any]] = []
        self.scores: dict[str, float] | None = None  # of these, once they are asked for

    def update(self, parts: list[tuple[Any, Any]]) -> None:
        self.parts += parts
        self.scores = None

    def scored(self, score: Callable[[list[tuple[Any, Any]]], dict[str, float]]) -> dict[str, float]:
        self.scores = self.scores or score(self.parts)
        return self.scores


setattr(meters, Collected.__name__, Collected)  # where fairseq looks up the meters that a checkpoint names


def label_weights(text: str | None, labels: Labels | None, kind: str, examples: int) -> Tensor | None:
    """
    >>> label_weights("b=3", Labels(["a", "b"], [6, 2]), "classification", 8)
    tensor([1., 3.])
    >>> label_weights("balanced", Labels(["a", "b"], [6, 2]), "classification", 8)
    tensor([0.6667, 2.0000])
    >>> label_weights("balanced", Labels(["a", "b"], [6, 2]), "multilabel", 8)
    tensor([0.3333, 3.0000])
    """
    if text is None:
        return None
    if labels is None:
        raise UserError("--class-weights cannot be used with --label-kind regression, which has no classes")
    if text == BALANCED:
        counts = torch.tensor(labels.counts, dtype=torch.float)
        require(
            bool(counts.sum() > 0),
            "--class-weights balanced needs label counts, but the folder was prepared without training text",
        )
        if kind == "multilabel":
            return (examples - counts).clamp(min=1) / counts.clamp(min=1)
        return counts.sum() / (len(labels) * counts.clamp(min=1))
    weights = torch.ones(len(labels))
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        require(
            bool(name) and weight >= 0 and math.isfinite(weight),
            f"--class-weights must be balanced or LABEL=WEIGHT,... with weights of at least 0, but contains {part!r}",
        )
        weights[labels.id_of(name.strip(), "--class-weights")] = weight
    require(
        bool(weights.any()), f"--class-weights {text} leaves nothing to learn: give at least one label a weight above 0"
    )
    return weights


@register_criterion("labelling", dataclass=LabellingConfig)
class LabellingCriterion(FairseqCriterion):
    """Losses are summed over decisions (examples, words, or pairs of example and label) and divided by their number in
    the update, so the result does not depend on how the update is split into batches."""

    logged = ("loss",)  # beside the scores: names in the validation log, which --best-checkpoint-metric accepts

    def __init__(self, cfg: LabellingConfig, task: Any):
        super().__init__(task)
        bounded("--score-at", cfg.score_at, 1)
        info: LabellingInfo = task.info
        self.kind, self.labels = info.kind, task.labels
        self.weights = label_weights(cfg.class_weights, task.labels, info.kind, info.train_examples)
        self.classes = len(task.labels or ())
        self.positive = self.classes - 1
        if cfg.positive_label is not None:
            require(
                self.kind == "classification" and self.classes == 2,
                "--positive-label applies only to classification with two labels: leave it out",
            )
            self.positive = task.labels.id_of(cfg.positive_label, "--positive-label")
        self.at = cfg.score_at
        self.numbers = task.labels.names if info.step is not None else None  # of --round-labels

    def forward(self, model: Any, sample: dict[str, Any], reduce: bool = True) -> tuple[Tensor, int, dict[str, Any]]:
        logits = model(**sample["net_input"]).logits.float()
        target = sample["target"]
        if target.is_floating_point():  # --bf16 makes all numbers of a sample shorter
            target = target.float()
        loss = self.loss(logits, target)
        decisions = target.numel()
        log = {"loss": loss.detach(), "sample_size": decisions}
        log |= {name: sample[name] for name in ("ntokens", "nsentences")}
        if not model.training:
            log["_answers"] = Answers(answers(logits.detach(), self.kind).cpu().numpy(), target.cpu().numpy())
        return loss, decisions, log

    def loss(self, logits: Tensor, target: Tensor) -> Tensor:
        weights = None if self.weights is None else self.weights.to(logits)
        if self.kind == "regression":
            return F.mse_loss(logits, target, reduction="sum")
        if self.kind == "multilabel":
            return F.binary_cross_entropy_with_logits(logits, target, pos_weight=weights, reduction="sum")
        return F.cross_entropy(logits, target, weight=weights, reduction="sum")

    @staticmethod
    def reduce_metrics(logging_outputs: list[dict[str, Any]]) -> None:
        size = sum(int(log["sample_size"]) for log in logging_outputs)
        total = sum(float(log["loss"]) for log in logging_outputs)
        metrics.log_scalar("loss", total / max(size, 1), size, round=4)

    def log_scores(self, logging_outputs: list[dict[str, Any]]) -> None:
        """Scores of all validation batches so far; ``--best-checkpoint-metric`` accepts any of them."""
        parts = [log["_answers"].parts for log in logging_outputs if "_answers" in log]
        if not parts:
            return
        metrics.log_custom(Collected, "_answers", parts)
        for name in self.scores(parts[:1]):
            metrics.log_derived(name, lambda all, name=name: round(all["_answers"].scored(self.scores)[name], DIGITS))
        if metrics.get_meters("valid"):  # these outlive the validation, and nobody reads them
            metrics.reset_meter("valid", "_answers")

    def score_names(self) -> list[str]:
        """Those that validation logs."""
        sets = self.kind == "multilabel"
        given = np.zeros(1) if self.kind == "regression" else np.zeros((1, self.classes))
        return list(self.scores([(given, np.zeros(given.shape if sets else 1, dtype=int))]))

    def scores(self, parts: list[tuple[Any, Any]]) -> dict[str, float]:
        given, truth = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return evaluate(self.kind, truth, given, self.classes, self.positive, self.at, self.numbers)

    def logging_outputs_can_be_summed(self) -> bool:  # fairseq calls it on the criterion
        return bool(self.training)  # the answers in validation are concatenated


def answers(logits: Tensor, kind: str) -> Tensor:
    """Probabilities, or the numbers of a regression."""
    if kind == "regression":
        return logits
    return logits.sigmoid() if kind == "multilabel" else logits.softmax(-1)
