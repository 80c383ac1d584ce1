"""How many iterations an output takes, by its length (Figure 4a of the LevT paper)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lev_plugins.plots.figures import canvas, save

HEADROOM = 1.25  # times the highest point


class Decoded(NamedTuple):
    """A sentence."""

    length: int  # tokens of the output
    iterations: int


class Point(NamedTuple):
    """Sentences of similar length."""

    length: float  # mean
    iterations: float  # mean
    low: float  # quartiles
    high: float
    sentences: int


def points(decoded: Sequence[Decoded], bins: int) -> list[Point]:
    """The means of at most ``bins`` groups of nearly equal size; outputs of one length are never parted.

    >>> for point in points([Decoded(8, 3), Decoded(2, 1), Decoded(4, 1), Decoded(8, 5)], bins=2):
    ...     print(point)
    Point(length=3.0, iterations=1.0, low=1.0, high=1.0, sentences=2)
    Point(length=8.0, iterations=4.0, low=3.5, high=4.5, sentences=2)
    """
    ordered = np.array(sorted(decoded), dtype=float)
    group = np.searchsorted(ordered[:, 0], ordered[:, 0]) * bins // len(ordered)  # by the first of that length
    found = []
    for number in np.unique(group):
        part = ordered[group == number]
        lengths, iterations = part.T
        low, high = np.percentile(iterations, [25, 75])
        found.append(Point(float(lengths.mean()), float(iterations.mean()), float(low), float(high), len(part)))
    return found


def draw(means: Sequence[Point], paths: Sequence[Path]) -> None:
    """Beside what one token per iteration takes, and what doubling the length in each iteration would."""
    lengths, iterations = [point.length for point in means], [point.iterations for point in means]
    along = np.linspace(1, max(*lengths, 2), 200)
    with canvas(6, 4) as figure:
        axes = figure.add_subplot()
        quartiles = [[p.iterations - p.low, p.high - p.iterations] for p in means]
        spread = np.clip(np.array(quartiles).T, 0, None)  # a mean may lie outside its quartiles
        axes.errorbar(lengths, iterations, spread, color="black", marker="o", capsize=2, label="mean and quartiles")
        axes.plot(along, along, color="0.5", linestyle="--", label="one token per iteration")
        axes.plot(along, np.log2(along), color="0.5", linestyle=":", label="logarithm of the length, base 2")
        highest = max(*(point.high for point in means), *iterations, float(np.log2(along[-1])))
        axes.set(xlabel="tokens of the output", ylabel="iterations", xlim=(0, None), ylim=(0, HEADROOM * highest))
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3)
        figure.set_layout_engine("tight")
        save(figure, paths)
