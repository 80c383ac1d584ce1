"""Check ``--best-checkpoint-metric`` before the first batch; fairseq looks it up only after an epoch."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from lev_plugins.errors import require

__all__ = ["check_best_checkpoint", "logged_by"]

LOGGED_BY_FAIRSEQ = ("bsz", "wpb", "num_updates")  # whatever the criterion


def logged_by(criterion: Any) -> list[str]:
    """What a validation logs with a criterion of ours, which says so itself, or a cross-entropy of fairseq's.

    >>> from types import SimpleNamespace
    >>> logged_by(SimpleNamespace(sentence_avg=False))
    ['loss', 'ppl', 'bsz', 'wpb', 'num_updates']
    >>> logged_by(SimpleNamespace(sentence_avg=False, eps=0.1, report_accuracy=True))
    ['loss', 'ppl', 'nll_loss', 'accuracy', 'bsz', 'wpb', 'num_updates']
    """
    own = getattr(criterion, "logged", None)
    if own is None:
        smoothed = hasattr(criterion, "eps")
        own = ["loss", "ppl"]
        own += ["nll_loss"] if smoothed or criterion.sentence_avg else []  # otherwise it is the loss
        own += ["accuracy"] if getattr(criterion, "report_accuracy", False) else []
    return [*own, *LOGGED_BY_FAIRSEQ]


def check_best_checkpoint(
    metric: str,
    maximized: bool,
    computed: Collection[str],  # our scores that validation computes
    scores: Collection[str],  # all that validation could compute
    lower_is_better: Collection[str],
    logged: Collection[str],  # other values in the log; only fairseq knows which direction is better
) -> None:
    """
    >>> check_best_checkpoint("wrr", False, ["wrr"], ["wrr", "ter"], ["ter"], ["loss"])
    Traceback (most recent call last):
    lev_plugins.errors.UserError: --best-checkpoint-metric wrr: higher is better, so add \
--maximize-best-checkpoint-metric; otherwise the worst checkpoint is kept
    """
    if metric not in scores:
        require(
            metric in logged,
            f"--best-checkpoint-metric {metric} is not in the log: choose one of {', '.join(logged)}, or "
            f"a score ({', '.join(scores)})" + ("" if set(scores) <= set(computed) else " that --eval-metrics names"),
        )
        return
    require(
        metric in computed,
        f"--best-checkpoint-metric {metric} is not computed: add --eval-metrics {metric} or its --eval-... flag",
    )
    advice = "lower is better, so remove" if metric in lower_is_better else "higher is better, so add"
    require(
        maximized != (metric in lower_is_better),
        f"--best-checkpoint-metric {metric}: {advice} --maximize-best-checkpoint-metric; otherwise the worst "
        "checkpoint is kept",
    )
