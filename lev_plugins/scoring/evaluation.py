"""Shared by all scores: a number per sentence, and one for any choice of sentences.

The score of a corpus is not the mean of its sentences' scores. Each sentence has *statistics* (e.g. edits and words);
the statistics of the chosen sentences are added up, and a formula turns the sums into a score. So any number of
sentences can be scored, each taken any number of times, as resampling needs.

Shapes: B choices of sentences, N sentences, K statistics.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.base import Metric

Array = npt.NDArray[np.float64]
Formula = Callable[[Array], Array]  # sums of statistics (..., K) -> scores (...)
References = Sequence[str] | Sequence[Sequence[str]]  # one or several references for each sentence


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The score of a text, of each of its sentences, and of any resample of them."""

    name: str  # as it is printed
    sentences: Array  # (N,) the score of each sentence by itself
    scores_of: Callable[[Array], Array]  # how often each resample takes each sentence (B, N) -> scores (B,)
    details: dict[str, float] = field(default_factory=dict, kw_only=True)  # further results; counts are int
    signature: str = field(default="", kw_only=True)  # the settings that reproduce the score
    digits: int = field(default=4, kw_only=True)  # 4 for scores from 0 to 1, 2 for those from 0 to 100
    higher_is_better: bool = field(default=True, kw_only=True)

    @cached_property
    def score(self) -> float:
        return float(self.scores_of(np.ones((1, len(self.sentences))))[0])

    def describe(self) -> str:
        """Return one line, such as ``TER = 33.33 (edits 2, reference words 6)``, without tables (``ROW: COLUMN``)."""
        details = {name: value for name, value in self.details.items() if ": " not in name}
        values = {name: v if isinstance(v, int) else f"{v:.{self.digits}f}" for name, v in details.items()}
        text = ", ".join(f"{name} {value}" for name, value in values.items())
        return f"{self.name} = {self.score:.{self.digits}f}" + (f" ({text})" if text else "")


@dataclass(frozen=True, eq=False)
class Additive(Evaluation):
    """An evaluation whose score is a formula of sums over the sentences.

    >>> errors_and_words = np.array([[1.0, 4.0], [0.0, 6.0]])
    >>> rate = lambda sums: sums[..., 0] / sums[..., 1]
    >>> evaluation = additive("error rate", errors_and_words, rate)
    >>> evaluation.score, evaluation.sentences.tolist()
    (0.1, [0.25, 0.0])
    >>> evaluation.scores_of(np.array([[2, 0], [0, 2]])).tolist()    # two resamples
    [0.25, 0.0]
    """

    statistics: Array  # (N, K)
    formula: Formula

    @property
    def sums(self) -> Array:
        """Return the sums of the statistics over all sentences, (K,)."""
        return self.statistics.sum(0)


def additive(name: str, statistics: Sequence[Sequence[float]] | Array, formula: Formula, **options: Any) -> Additive:
    """Build an evaluation from statistics (N, K); ``options`` are further fields, such as ``details``."""
    rows = np.asarray(statistics, dtype=np.float64)
    return Additive(name, formula(rows), lambda counts: formula(counts @ rows), rows, formula, **options)


def by_sacrebleu(
    name: str, metric: Metric, references: References, texts: Sequence[str], higher_is_better: bool = True
) -> Additive:
    """Build the evaluation of a ``metric`` of sacrebleu, from the statistics that its significance tests add up."""
    rows = [
        metric._extract_corpus_statistics([text], [[reference] for reference in entry])[0]
        for entry, text in zip(alternatives(references), texts, strict=True)
    ]
    signature = f"sacrebleu {metric.get_signature()}"  # complete only now: it has the number of references
    return additive(name, rows, formula_of(metric), signature=signature, digits=2, higher_is_better=higher_is_better)


def formula_of(metric: Metric) -> Formula:
    """Return the formula by which a ``metric`` of sacrebleu computes a score from statistics."""

    def score(row: Array) -> float:
        return metric._compute_score_from_stats(row.tolist()).score

    return lambda sums: np.apply_along_axis(score, -1, sums)


def ratio(sums: Array) -> Array:
    """Return the first of two sums as a share of the second; 1 if the second is 0.

    >>> ratio(np.array([[1.0, 4.0], [0.0, 0.0]])).tolist()
    [0.25, 1.0]
    """
    part, whole = sums[..., 0], sums[..., 1]
    return np.divide(part, whole, out=np.ones_like(part), where=whole > 0)


def alternatives(references: References) -> list[list[str]]:
    """Return the list of references for each text.

    >>> alternatives(["a b", ["c", "d"]])
    [['a b'], ['c', 'd']]
    """
    return [[entry] if isinstance(entry, str) else list(entry) for entry in references]
