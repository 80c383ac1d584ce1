"""Gate probabilities averaged over groups of sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lev_plugins.errors import UserError
from lev_plugins.inference.gates import Sentence
from lev_plugins.models.gated import GATES
from lev_plugins.ranges import bounded
from lev_plugins.scoring.wrr import recognition


@dataclass(frozen=True)
class Group:
    """Sentences that share a property."""

    title: str
    sentences: list[Sentence]

    def mean(self, gate: str) -> float:
        """The mean over all tokens.

        >>> group = Group("", [Sentence(["a"], [], {"mask": [0.5]}), Sentence(["b", "c"], [], {"mask": [0.2, 0.2]})])
        >>> round(group.mean("mask"), 3)
        0.3
        """
        return float(np.mean([value for sentence in self.sentences for value in sentence.gates[gate]]))


def noise_level(reference: str, text: str) -> float:
    """1 - WRR, as in Table 1 of the paper.

    >>> noise_level("the cat sat down", "the cta sat down")
    0.25
    """
    recognised, words = recognition(reference, text)
    return 1 - recognised / words if words else 0.0


def names_of(sentences: Sequence[Sentence]) -> tuple[list[str], list[str]]:
    """The gates that all sentences have, and those that only some have, in the order of the paper.

    >>> names_of([Sentence(["a"], ["b"], {"copy": [0.5], "mask": [0.5]}), Sentence(["a"], ["b"], {"mask": [0.5]})])
    (['mask'], ['copy'])
    """
    present = [name for name in GATES if any(name in sentence.gates for sentence in sentences)]
    common = [name for name in present if all(name in sentence.gates for sentence in sentences)]
    return common, [name for name in present if name not in common]


def noise_of(sentence: Sentence) -> float:
    """The noise in per cent."""
    if sentence.noise is None:
        raise UserError(
            "the noise level of a sentence needs its clean text: give --reference FILE, with --save as well"
        )
    return 100 * sentence.noise


def length_of(sentence: Sentence) -> float:
    return float(len(sentence.source))


PROPERTIES: dict[str, Callable[[Sentence], float]] = {"noise": noise_of, "length": length_of}


def by(name: str, sentences: Sequence[Sentence], bins: int) -> list[Group]:
    """Groups by noise (in per cent) or by length (of the source, in tokens)."""
    unit = {"noise": " %", "length": ""}[name]
    return ranges(sentences, [PROPERTIES[name](sentence) for sentence in sentences], bins, unit)


def ranges(sentences: Sequence[Sentence], values: Sequence[float], bins: int, unit: str) -> list[Group]:
    """``bins`` ranges of equal width, without empty ones, called after the lowest and the highest value in each.

    >>> some = [Sentence([], [str(n)], {}) for n in range(4)]
    >>> [(group.title, len(group.sentences)) for group in ranges(some, [0, 1, 1, 10], 5, "")]
    [('0-1', 3), ('10', 1)]
    >>> [group.title for group in ranges(some, [0.31, 0.32, 0.5, 0.6], 2, " %")]
    ['0.3 %', '0.5-0.6 %']
    """
    bounded("--bins", bins, 1)
    edges = np.linspace(min(values), max(values), bins + 1)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, bins - 1)
    width, whole = float(edges[1] - edges[0]), all(float(value).is_integer() for value in values)
    decimals = max(0, -math.floor(math.log10(width))) if width > 0 and not whole else 0
    groups = []
    for number in sorted(set(place.tolist())):
        inside = [(value, s) for value, s, at in zip(values, sentences, place, strict=True) if at == number]
        those = [value for value, _ in inside]
        groups.append(Group(span(min(those), max(those), decimals) + unit, [s for _, s in inside]))
    return groups


def span(low: float, high: float, decimals: int) -> str:
    """
    >>> span(3, 3, 0), span(3, 4.6, 0), span(0.25, 0.5, 2)
    ('3', '3-5', '0.25-0.50')
    """
    ends = f"{low:.{decimals}f}", f"{high:.{decimals}f}"
    return "-".join(dict.fromkeys(ends))


def correlation(values: Sequence[float], sentences: Sequence[Sentence], gate: str) -> float | None:
    """Pearson's r of a property and the mean gate of a sentence; None if either is constant.

    >>> some = [Sentence(["a"], [], {"mask": [p]}) for p in (0.1, 0.2, 0.3)]
    >>> round(correlation([1, 2, 3], some, "mask"), 6), correlation([1, 1, 1], some, "mask")
    (1.0, None)
    """
    means = [sentence.mean(gate) for sentence in sentences]
    if np.ptp(values) == 0 or np.ptp(means) == 0:
        return None
    return float(np.corrcoef(values, means)[0, 1])
