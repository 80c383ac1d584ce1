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
    lev_plugins.errors.UserError: --best-checkpoint-metric wrr: the higher the better, add \
--maximize-best-checkpoint-metric, or the worst checkpoint is kept as the best
    """
    if metric not in scores:
        require(
            metric in logged,
            f"--best-checkpoint-metric {metric} is not in the log: take one of {', '.join(logged)}, or a score "
            f"({', '.join(scores)}) that --eval-metrics names",
        )
        return
    require(
        metric in computed,
        f"--best-checkpoint-metric {metric} is not computed: add --eval-metrics {metric}, or the --eval-... of its "
        "name",
    )
    advice = "lower the better, leave out" if metric in lower_is_better else "higher the better, add"
    require(
        maximized != (metric in lower_is_better),
        f"--best-checkpoint-metric {metric}: the {advice} --maximize-best-checkpoint-metric, or the worst checkpoint "
        "is kept as the best",
    )
