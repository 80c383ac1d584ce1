"""A check of ``--best-checkpoint-metric`` before the first batch; fairseq looks it up only after an epoch."""

from argparse import Namespace
from collections.abc import Collection
from dataclasses import dataclass

from fairseq.criterions import FairseqCriterion
from fairseq.dataclass import FairseqDataclass
from fairseq.models import BaseFairseqModel
from omegaconf import II

from lev_plugins.utils.errors import require

LOGGED_BY_FAIRSEQ = ("bsz", "wpb", "num_updates")  # whatever the criterion


@dataclass
class FairseqFlags(FairseqDataclass):
    """Flags of other groups than the task's; a task sees only its own configuration."""

    best_checkpoint_metric: str = II("checkpoint.best_checkpoint_metric")
    maximize_best_checkpoint_metric: bool = II("checkpoint.maximize_best_checkpoint_metric")
    num_shards: int = II("dataset.num_shards")
    shard_id: int = II("dataset.shard_id")


class BestCheckpointTask:
    """A mixin for tasks that checks the metric when the criterion is built; it comes before fairseq's class."""

    cfg: FairseqFlags
    from_checkpoint = True  # False in training alone
    lower_is_better: Collection[str]

    def build_model(self, cfg: FairseqDataclass | Namespace, from_checkpoint: bool = False) -> BaseFairseqModel:
        self.from_checkpoint = from_checkpoint
        return super().build_model(cfg, from_checkpoint)  # type: ignore[misc]

    def build_criterion(self, cfg: FairseqDataclass | Namespace, **options: object) -> FairseqCriterion:
        criterion = super().build_criterion(cfg, **options)  # type: ignore[misc]
        if self.from_checkpoint:
            return criterion
        flag = f"--best-checkpoint-metric {self.cfg.best_checkpoint_metric}"
        metric, maximized = self.cfg.best_checkpoint_metric, self.cfg.maximize_best_checkpoint_metric
        computed, scores = self.scores_of(criterion)
        if metric in scores:
            require(metric in computed, f"{flag} is not computed: add --eval-metrics {metric} or its --eval-... flag")
            lower = metric in self.lower_is_better
            require(
                maximized != lower,
                f"{flag}: {'lower is better, so remove' if lower else 'higher is better, so add'} "
                "--maximize-best-checkpoint-metric; otherwise the worst checkpoint is kept",
            )
        else:  # whose better direction is not known here
            logged = logged_by(criterion)
            require(
                metric in logged,
                f"{flag} is not in the log: choose one of {', '.join(logged)}, or a score ({', '.join(scores)})"
                + ("" if set(scores) <= set(computed) else " that --eval-metrics names"),
            )
        return criterion

    def scores_of(self, criterion: FairseqCriterion) -> tuple[Collection[str], Collection[str]]:
        """Returns the scores of this package that validation computes, and those that it could compute."""
        raise NotImplementedError


def logged_by(criterion: FairseqCriterion) -> list[str]:
    """Returns the names that validation logs: those that a criterion lists, or those of a cross-entropy of fairseq.

    >>> from types import SimpleNamespace
    >>> logged_by(SimpleNamespace(sentence_avg=False))
    ['loss', 'ppl', 'bsz', 'wpb', 'num_updates']
    >>> logged_by(SimpleNamespace(sentence_avg=False, eps=0.1, report_accuracy=True))
    ['loss', 'ppl', 'nll_loss', 'accuracy', 'bsz', 'wpb', 'num_updates']
    """
    if hasattr(criterion, "logged"):
        names = list(criterion.logged)
    else:
        smoothed = hasattr(criterion, "eps")
        names = ["loss", "ppl"]
        names += ["nll_loss"] if smoothed or criterion.sentence_avg else []  # otherwise it is the loss
        names += ["accuracy"] if smoothed and criterion.report_accuracy else []
    return [*names, *LOGGED_BY_FAIRSEQ]
