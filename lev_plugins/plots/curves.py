"""Figures of the LevT paper: iterations by length (4a), scores by time (4b), and scores by iteration (5)."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lev_plugins.plots.figures import canvas, save_figure

LOOKS = list(product(["-", "--", "-.", ":"], "osD^vP*X"))  # of one curve after another


class Timed(NamedTuple):
    """A decoding of a test set."""

    name: str
    milliseconds: float  # for a sentence
    score: float


class IterationCount(NamedTuple):
    """A sentence."""

    length: int  # tokens of the output
    iterations: int


def scores_by_iteration(
    histories: Sequence[Sequence[str]], references: Sequence[str], steps: int, metric: Any
) -> list[float]:
    """From the start, 0 iterations, to the last of any text; ``metric`` is sacrebleu's.

    A history has ``steps`` texts for each iteration; one that has ended stays as it is.
    """
    last = max((len(texts) - 1) // steps for texts in histories)
    return [
        float(metric.corpus_score([texts[min(at, len(texts) - 1)] for texts in histories], [list(references)]).score)
        for at in range(0, last * steps + 1, steps)
    ]


def draw_curves(curves: Mapping[str, Sequence[float]], metric: str, paths: Sequence[Path]) -> None:
    with canvas(6, 4) as figure:
        axes = figure.add_subplot()
        for number, scores in enumerate(curves.values()):
            dashes, marker = LOOKS[number % len(LOOKS)]
            axes.plot(range(len(scores)), scores, color="black", markersize=4, marker=marker, linestyle=dashes)
        axes.set(xlabel="iterations", ylabel=metric)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(axes.get_lines(), list(curves), fontsize=8)  # not by label: it hides those that begin with _
        save_figure(figure, paths)


def draw_points(points: Sequence[Timed], metric: str, paths: Sequence[Path]) -> None:
    with canvas(6, 4) as figure:
        axes = figure.add_subplot()
        for number, point in enumerate(points):
            dashes, marker = LOOKS[number % len(LOOKS)]
            style = {"marker": marker, "fillstyle": "full" if dashes == "-" else "none"}
            axes.plot(point.milliseconds, point.score, color="black", linestyle="", markersize=6, **style)
        axes.set(xlabel="milliseconds per sentence", ylabel=metric, xlim=(0, None))
        axes.margins(x=0.15, y=0.15)
        axes.legend(axes.get_lines(), [point.name for point in points], fontsize=8)  # names beside points would overlap
        save_figure(figure, paths)


def bins_of_iterations(decoded: Sequence[IterationCount], bins: int) -> list[np.ndarray]:
    """At most ``bins`` groups of nearly equal size, each an array of (length, iterations).

    Outputs of one length are never parted.

    >>> some = [IterationCount(*pair) for pair in ((8, 3), (2, 1), (4, 1), (8, 5))]
    >>> for group in bins_of_iterations(some, bins=2):
    ...     print(group.tolist())
    [[2.0, 1.0], [4.0, 1.0]]
    [[8.0, 3.0], [8.0, 5.0]]
    """
    ordered = np.array(sorted(decoded), dtype=float)
    group = np.searchsorted(ordered[:, 0], ordered[:, 0]) * bins // len(ordered)  # by the first of that length
    return [ordered[group == number] for number in np.unique(group)]


def draw_iterations(decoded: Sequence[IterationCount], bins: int, paths: Sequence[Path]) -> None:
    """Beside what one token per iteration takes, and what doubling the length in each iteration would."""
    groups = bins_of_iterations(decoded, bins)
    lengths, means = np.array([group.mean(axis=0) for group in groups]).T
    low, high = np.array([np.percentile(group[:, 1], [25, 75]) for group in groups]).T
    spread = np.clip([means - low, high - means], 0, None)  # a mean may lie outside its quartiles
    along = np.linspace(1, max(*lengths, 2), 200)
    with canvas(6, 4) as figure:
        axes = figure.add_subplot()
        axes.errorbar(lengths, means, spread, color="black", marker="o", capsize=2, label="mean and quartiles")
        axes.plot(along, along, color="0.5", linestyle="--", label="one token per iteration")
        axes.plot(along, np.log2(along), color="0.5", linestyle=":", label="logarithm of the length, base 2")
        highest = 1.25 * max(*high, *means, np.log2(along[-1]))
        axes.set(xlabel="tokens of the output", ylabel="iterations", xlim=(0, None), ylim=(0, highest))
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3)
        save_figure(figure, paths)
