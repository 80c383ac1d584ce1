"""Scores of the validation set during training.

Each batch logs the sums of its statistics as plain numbers; fairseq adds them up over batches and processes, and the
formula is applied to the sums. So a score does not depend on the batches. All scores are logged in per cent, like
BLEU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from fairseq.logging import metrics

from lev_plugins.errors import require
from lev_plugins.scoring import bleu, exact_match, rouge, ter, wrr
from lev_plugins.scoring.evaluation import Additive, Formula, share

Evaluate = Callable[[Sequence[str], Sequence[str]], Additive]


def percent(formula: Formula) -> Formula:
    return lambda sums: 100 * formula(sums)


METRICS: dict[str, tuple[Evaluate, Formula]] = {
    "bleu": (bleu.evaluate, bleu.formula),
    "ter": (ter.evaluate, ter.formula),
    **{kind: (partial(rouge.evaluate, kind=kind), percent(rouge.mean)) for kind in rouge.KINDS},
    "wrr": (wrr.evaluate, percent(share)),
    "exact_match": (exact_match.evaluate, percent(share)),
}
LOWER_IS_BETTER = ("ter",)
DIGITS = 3  # one of 3,000 lines is 0.03 %


def parse_names(text: str | None) -> list[str]:
    """The names in ``--eval-metrics``.

    >>> parse_names("ter, rouge2"), parse_names(None)
    (['ter', 'rouge2'], [])
    """
    names = [name.strip() for name in text.split(",")] if text else []
    for name in names:
        require(name in METRICS, f"--eval-metrics accepts {', '.join(METRICS)}, separated by commas, but not {name!r}")
    return names


class ValidationScores:
    def __init__(self, names: Sequence[str], bleu_tokenize: str = "13a"):
        self.metrics = {name: METRICS[name] for name in names}
        if "bleu" in self.metrics:
            self.metrics["bleu"] = (partial(bleu.evaluate, tokenize=bleu_tokenize), bleu.formula)

    def statistics(self, references: Sequence[str], texts: Sequence[str]) -> dict[str, float]:
        """The values that a batch adds to its logging output."""
        return {
            f"_{name}_{k}": float(number)
            for name, (evaluate, _) in self.metrics.items()
            for k, number in enumerate(evaluate(references, texts).sums)
        }

    def log(self, outputs: Sequence[dict[str, Any]]) -> None:
        """Each score under its name, for the log and for ``--best-checkpoint-metric``."""
        for name, (_, formula) in self.metrics.items():
            sums: list[float] = []
            while any(f"_{name}_{len(sums)}" in output for output in outputs):
                sums.append(sum(float(output.get(f"_{name}_{len(sums)}", 0)) for output in outputs))
            if sums:
                metrics.log_scalar(f"_{name}", np.array(sums))
                metrics.log_derived(name, partial(self._score, f"_{name}", formula))

    @staticmethod
    def _score(key: str, formula: Formula, meters: Any) -> float:
        return round(float(formula(meters[key].sum)), DIGITS)
