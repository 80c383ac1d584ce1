"""Scores of the validation set during training.

Each batch logs the sums of its statistics as plain numbers; fairseq adds them up over batches and processes, and the
formula is applied to the sums. So a score does not depend on the batches. All scores are logged in per cent, like
BLEU.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from fairseq.logging import metrics
from fairseq.logging.meters import Meter
from torch import Tensor

from lev_plugins.scoring.evaluation import Additive
from lev_plugins.scoring.metrics import METRICS
from lev_plugins.utils.errors import require

VALIDATION_SCORES: dict[str, Callable[..., Additive]] = {
    name: partial(metric.evaluate, **options)
    for metric in METRICS.values()
    for name, options in metric.validation.items()
}
DECIMALS = 3  # one of 3,000 lines is 0.03 %


def parse_names(text: str | None) -> list[str]:
    """Split the names in ``--eval-metrics``.

    >>> parse_names("ter, rouge2"), parse_names(None)
    (['ter', 'rouge2'], [])
    """
    names = [name.strip() for name in text.split(",")] if text else []
    for name in names:
        require(
            name in VALIDATION_SCORES,
            f"--eval-metrics accepts {', '.join(VALIDATION_SCORES)}, separated by commas, but not {name!r}",
        )
    return names


class ValidationScores:
    """The scores of ``--eval-metrics``: what a batch logs for them, and their values over the validation set."""

    def __init__(self, names: Sequence[str], bleu_tokenize: str = "13a") -> None:
        self.scores = {name: VALIDATION_SCORES[name] for name in names}
        if "bleu" in self.scores:
            self.scores["bleu"] = partial(self.scores["bleu"], tokenize=bleu_tokenize)
        self.examples: dict[str, Additive] = {name: evaluate(["a"], ["a"]) for name, evaluate in self.scores.items()}

    @property
    def lower_is_better(self) -> list[str]:
        return [name for name, example in self.examples.items() if not example.higher_is_better]

    def statistics(self, references: Sequence[str], texts: Sequence[str]) -> dict[str, float]:
        """Return the values that a batch adds to its logging output."""
        return {
            f"_{name}_{k}": float(number)
            for name, evaluate in self.scores.items()
            for k, number in enumerate(evaluate(references, texts).sums)
        }

    def log(self, outputs: Sequence[Mapping[str, Tensor | float]]) -> None:
        """Log each score under its name, which ``--best-checkpoint-metric`` accepts."""
        for name, example in self.examples.items():
            keys = [f"_{name}_{k}" for k in range(len(example.sums))]
            if any(keys[0] in output for output in outputs):
                sums = [sum(float(output.get(key, 0)) for output in outputs) for key in keys]
                metrics.log_scalar(f"_{name}", np.array(sums))
                metrics.log_derived(name, partial(self._score, f"_{name}", example))

    @staticmethod
    def _score(key: str, example: Additive, meters: Mapping[str, Meter]) -> float:
        percent = 1 if example.digits == 2 else 100
        return round(float(percent * example.formula(meters[key].sum)), DECIMALS)
