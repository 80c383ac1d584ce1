"""What all scores have in common: a number for each sentence, and one for any choice of sentences.

The score of a corpus is not the mean of its sentences' scores. Each sentence has *statistics* (so many edits, so many
words), those of the sentences taken are added up, and a formula makes a score of the sums. So a score can be asked for
any number of sentences, each taken any number of times: this is what resampling needs.

Shapes: B choices of sentences, N sentences, K statistics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lev_plugins.errors import require

Array = npt.NDArray[np.float64]
Formula = Callable[[Array], Array]  # sums of statistics (..., K) -> scores (...)
# for each sentence its reference, or its several references
References = Sequence[str] | Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Evaluation(ABC):
    """A text scored."""

    name: str  # as it is printed
    sentences: Array  # (N,) the score of each sentence by itself
    # of the whole text, beside the score; counts are int
    details: dict[str, float] = field(default_factory=dict, kw_only=True)
    signature: str = field(default="", kw_only=True)  # what must be said of the settings so that another gets the same
    digits: int = field(default=4, kw_only=True)  # 4 for scores from 0 to 1, 2 for those from 0 to 100
    higher_is_better: bool = field(default=True, kw_only=True)

    @abstractmethod
    def scores_of(self, counts: Array) -> Array:
        """How often each sentence is taken, (B, N), to scores (B,)."""

    @cached_property
    def score(self) -> float:
        return float(self.scores_of(np.ones((1, len(self.sentences))))[0])

    def describe(self) -> str:
        """One line: ``TER = 33.33 (edits 2, reference words 6)``."""
        beside = ", ".join(f"{name} {rounded(value)}" for name, value in self.details.items())
        return f"{self.name} = {self.score:.{self.digits}f}" + (f" ({beside})" if beside else "")


@dataclass(frozen=True, eq=False)
class Additive(Evaluation):
    """A formula of sums.

    >>> errors_and_words = np.array([[1.0, 4.0], [0.0, 6.0]])
    >>> rate = lambda sums: sums[..., 0] / sums[..., 1]
    >>> found = additive("error rate", errors_and_words, rate)
    >>> found.score, found.sentences.tolist()
    (0.1, [0.25, 0.0])
    >>> found.scores_of(np.array([[2, 0], [0, 2]])).tolist()    # two resamples
    [0.25, 0.0]
    """

    statistics: Array  # (N, K)
    formula: Formula

    def scores_of(self, counts: Array) -> Array:
        return self.formula(counts @ self.statistics)

    @property
    def sums(self) -> Array:
        """(K,)"""
        return self.statistics.sum(0)


def additive(name: str, statistics: Sequence[Sequence[float]] | Array, formula: Formula, **options: Any) -> Additive:
    """Each sentence by itself is scored by the same formula, unless ``sentences`` are given."""
    rows = np.asarray(statistics, dtype=np.float64)
    sentences = options.pop("sentences", None)
    scores = formula(rows) if sentences is None else np.asarray(sentences, dtype=np.float64)
    return Additive(name, scores, rows, formula, **options)


def rounded(value: float) -> str:
    """
    >>> rounded(12345), rounded(2 / 3)
    ('12345', '0.6667')
    """
    return str(value) if isinstance(value, int) else f"{value:.4f}"


def whole(value: float) -> float:
    """Numbers come back from sums as floats; counts are printed as what they are.

    >>> whole(3.0), whole(3.5)
    (3, 3.5)
    """
    return int(value) if value == int(value) else value


def share(sums: Array) -> Array:
    """The first of two sums as a share of the second; of nothing, all of it.

    >>> share(np.array([[1.0, 4.0], [0.0, 0.0]])).tolist()
    [0.25, 1.0]
    """
    part, whole = sums[..., 0], sums[..., 1]
    return np.divide(part, whole, out=np.ones_like(part), where=whole > 0)


def alternatives(references: References, texts: Sequence[str]) -> list[list[str]]:
    """For each text its references, of which there may be one or several.

    >>> alternatives(["a b", ["c", "d"]], ["a", "d"])
    [['a b'], ['c', 'd']]
    """
    require(
        len(references) == len(texts),
        f"every reference needs one text, but there are {len(references)} references and {len(texts)} texts",
    )
    require(len(texts) > 0, "there are no texts to score")
    found = [[entry] if isinstance(entry, str) else list(entry) for entry in references]
    for number, entry in enumerate(found, 1):
        require(bool(entry), f"every text needs a reference, but text {number} has none")
    return found
