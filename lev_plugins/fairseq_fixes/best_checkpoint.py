"""``--best-checkpoint-metric`` is checked before the first batch; fairseq looks it up after an epoch is paid for."""

from __future__ import annotations

from collections.abc import Collection

from lev_plugins.errors import require


def check_best_checkpoint(
    metric: str,
    maximized: bool,
    computed: Collection[str],  # our scores that a validation computes
    scores: Collection[str],  # all that it could compute
    lower_is_better: Collection[str],
    logged: Collection[str],  # what else the log has, of which only fairseq knows which way is better
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
            f"a score ({', '.join(scores)}) that --eval-metrics names",
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
