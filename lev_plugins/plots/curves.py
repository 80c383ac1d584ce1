"""Scores along the iterations (Figure 5 of the LevT paper), and scores against time (Figure 4b)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lev_plugins.plots.figures import canvas, save

MARKERS, DASHES = "osD^vP*X", ["-", "--", "-.", ":"]


class Timed(NamedTuple):
    """A decoding of a test set."""

    name: str
    milliseconds: float  # for a sentence
    score: float


def states_after(histories: Sequence[Sequence[str]], iterations: int, steps: int) -> list[str]:
    """The texts after so many iterations, of ``steps`` states each; one that has ended stays as it is.

    >>> states_after([["", "", "<plh>", "a"], ["b", "b", "b", "b", "c", "c <plh>", "c d"]], 2, steps=3)
    ['a', 'c d']
    """
    return [states[min(iterations * steps, len(states) - 1)] for states in histories]


def scores_by_iteration(
    histories: Sequence[Sequence[str]], references: Sequence[str], steps: int, metric: Any
) -> list[float]:
    """From the start, 0 iterations, to the last of any text; ``metric`` is sacrebleu's."""
    last = max((len(states) - 1) // steps for states in histories)
    return [
        float(metric.corpus_score(states_after(histories, iterations, steps), [list(references)]).score)
        for iterations in range(last + 1)
    ]


def draw_curves(curves: Mapping[str, Sequence[float]], metric: str, paths: Sequence[Path]) -> None:
    with canvas(6, 4) as figure:
        axes = figure.add_subplot()
        for number, scores in enumerate(curves.values()):
            again, first = divmod(number, len(MARKERS))
            style = {"marker": MARKERS[first], "linestyle": DASHES[again % len(DASHES)]}
            axes.plot(range(len(scores)), scores, color="black", markersize=4, **style)
        axes.set(xlabel="iterations", ylabel=metric)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(axes.get_lines(), list(curves), fontsize=8)  # not by label: it hides those that begin with _
        figure.set_layout_engine("tight")
        save(figure, paths)


def draw_points(points: Sequence[Timed], metric: str, paths: Sequence[Path]) -> None:
    with canvas(6, 4) as figure:
        axes = figure.add_subplot()
        for number, point in enumerate(points):
            again, first = divmod(number, len(MARKERS))
            style = {"marker": MARKERS[first], "fillstyle": "none" if again % 2 else "full"}
            axes.plot(point.milliseconds, point.score, color="black", linestyle="", markersize=6, **style)
        axes.set(xlabel="milliseconds per sentence", ylabel=metric, xlim=(0, None))
        axes.margins(x=0.15, y=0.15)
        axes.legend(axes.get_lines(), [point.name for point in points], fontsize=8)  # names beside points would overlap
        figure.set_layout_engine("tight")
        save(figure, paths)
