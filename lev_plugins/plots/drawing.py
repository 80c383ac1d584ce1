"""Figures of gates that need no colour: grey cells with numbers, lines with markers, bars with hatching."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lev_plugins.inference.gates import Sentence
from lev_plugins.plots.figures import canvas, save
from lev_plugins.plots.gates import Group
from lev_plugins.text.control import visible

COLUMNS = 16  # cells in a row; longer sentences continue below
CELL, LINE = 0.62, 0.34  # inches
TOKEN_LINES = 2.2  # lines that slanted tokens need
LONGEST = 14  # characters shown of a token
NEAR = 0.06  # numbers of points closer than this go on different sides
DARK = 0.55  # above this, numbers are white
MARKERS, DASHES = "osD^", ["-", "--", "-.", ":"]
HATCHES = ["", "//", "..", "xx"]
GREYS = ["0.35", "1.0", "0.8", "0.95"]


# ---- heat maps (Figures 3 and 4) -----------------------------------------------------------------------------------


def short(token: str) -> str:
    """
    >>> short("representational"), short("a b"), short("a\\x01b")
    ('representatio…', 'a b', 'a\\\\u0001b')
    """
    token = visible(token)
    return token if len(token) <= LONGEST else token[: LONGEST - 1] + "…"


def panels(sentence: Sentence) -> list[tuple[str, list[str], dict[str, list[float]]]]:
    """The gates on the source and those on the output: (side, tokens, gate -> probabilities)."""
    mask = {name: values for name, values in sentence.gates.items() if name == "mask"}
    rest = {name: values for name, values in sentence.gates.items() if name != "mask"}
    sides = [("source", sentence.source, mask), ("output", sentence.output, rest)]
    return [side for side in sides if side[2]]


def heat_maps(sentences: Sequence[Sentence], paths: Sequence[Path]) -> None:
    blocks = [
        (side, tokens[start : start + COLUMNS], {name: row[start : start + COLUMNS] for name, row in gates.items()})
        for sentence in sentences
        for side, tokens, gates in panels(sentence)
        for start in range(0, len(tokens), COLUMNS)
    ]
    lines = sum(TOKEN_LINES + len(gates) + 0.6 for _, _, gates in blocks) + 1.2
    with canvas((COLUMNS + 2.6) * CELL, lines * LINE) as figure:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-2.2, COLUMNS + 0.4), ylim=(lines, 0))
        axes.axis("off")
        top = 0.2
        for block in blocks:
            top = draw_block(axes, top, *block)
        draw_scale(axes, top + 0.2)
        save(figure, paths)


def draw_block(axes: Any, top: float, side: str, tokens: list[str], gates: dict[str, list[float]]) -> float:
    """Draw tokens, with one cell per gate below each; returns the top of the next block."""
    top += TOKEN_LINES
    axes.text(-0.15, top - 0.25, side, ha="right", va="bottom", style="italic", fontsize=8)
    for column, token in enumerate(tokens):
        where = {"ha": "left", "va": "bottom", "rotation": 35, "rotation_mode": "anchor"}
        axes.text(column + 0.3, top - 0.12, short(token), fontsize=8, **where)
    for name, values in gates.items():
        axes.text(-0.15, top + 0.5, name, ha="right", va="center", fontsize=8)
        for column, value in enumerate(values):
            draw_cell(axes, column, top, value)
        top += 1
    return top + 0.6


def draw_cell(axes: Any, left: float, top: float, value: float) -> None:
    """A cell from white (0) to black (1), with its number."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((left, top), 1, 1, facecolor=str(round(1 - value, 4)), edgecolor="0.6", linewidth=0.5))
    ink = "white" if value > DARK else "black"
    axes.text(left + 0.5, top + 0.53, f"{value:.2f}", color=ink, ha="center", va="center", fontsize=8)


def draw_scale(axes: Any, top: float) -> None:
    axes.text(-0.15, top + 0.4, "scale", ha="right", va="center", fontsize=8)
    for step in range(5):
        draw_cell(axes, step, top - 0.1, step / 4)


# ---- means (Figure 2) ----------------------------------------------------------------------------------------------


def lines(
    groups: Sequence[Group], gates: Sequence[str], axis: str, beside: dict[str, float | None], paths: Sequence[Path]
) -> None:
    """One line per gate, one point per group; ``beside``: the correlation per gate, for the legend."""
    with canvas(max(5.0, 0.9 * len(groups) + 3), 4) as figure:
        axes = figure.add_subplot()
        for number, gate in enumerate(gates):
            means = [group.mean(gate) for group in groups]
            r = beside.get(gate)
            style = {"marker": MARKERS[number], "linestyle": DASHES[number], "color": "black"}
            axes.plot(range(len(groups)), means, **style, label=gate if r is None else f"{gate} (r = {r:+.2f})")
            for place, mean in enumerate(means):
                above = 6 if number_goes_above(gate, gates, groups[place]) else -13
                where = {"xytext": (0, above), "textcoords": "offset points"}
                axes.annotate(f"{mean:.2f}", (place, mean), ha="center", fontsize=7, **where)
        finish(figure, axes, [f"{group.title}\n({len(group.sentences)})" for group in groups], axis, paths)


def number_goes_above(gate: str, gates: Sequence[str], group: Group) -> bool:
    """Whether it goes above; it goes below if another gate has a point close above."""
    mean, place = group.mean(gate), gates.index(gate)
    others = [(group.mean(other), number) for number, other in enumerate(gates) if number != place]
    return not any(0 <= other - mean < NEAR and (other, -number) > (mean, -place) for other, number in others)


def bars(groups: Sequence[Group], gates: Sequence[str], axis: str, paths: Sequence[Path]) -> None:
    """One cluster of bars per group, one bar per gate."""
    with canvas(max(5.0, 1.4 * len(groups) + 3), 4) as figure:
        axes = figure.add_subplot()
        width = 0.8 / len(gates)
        for number, gate in enumerate(gates):
            places = [place - 0.4 + (number + 0.5) * width for place in range(len(groups))]
            means = [group.mean(gate) for group in groups]
            look = {"facecolor": GREYS[number], "hatch": HATCHES[number], "edgecolor": "black"}
            axes.bar(places, means, width, label=gate, **look)
            for place, mean in zip(places, means, strict=True):
                axes.text(place, mean + 0.01, f"{mean:.2f}", ha="center", va="bottom", fontsize=7)
        finish(figure, axes, [f"{group.title}\n({len(group.sentences)})" for group in groups], axis, paths)


def finish(figure: Any, axes: Any, titles: list[str], axis: str, paths: Sequence[Path]) -> None:
    axes.set_xticks(range(len(titles)), titles, fontsize=8)
    axes.set(
        xlabel=f"{axis} (number of sentences)",
        ylabel="mean gate probability",
        ylim=(0, 1),
        xlim=(-0.6, len(titles) - 0.4),
    )
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
    figure.set_layout_engine("constrained")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # lay out only once: each drawing would shift things further
    save(figure, paths)
