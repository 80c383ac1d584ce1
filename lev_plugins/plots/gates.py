"""Figures of gates that need no colour: grey cells with numbers, lines with markers, bars with hatching."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lev_plugins.errors import UserError
from lev_plugins.inference.gates import GatedSentence
from lev_plugins.models.gated import GATES
from lev_plugins.plots.figures import canvas, save_figure
from lev_plugins.text.control import visible

COLUMNS = 16  # cells in a row; longer sentences continue below
LONGEST = 14  # characters shown of a token
DARK = 0.55  # above this, numbers are white
MARKERS, DASHES = "osD^", ["-", "--", "-.", ":"]
HATCHES, GREYS = ["", "//", "..", "xx"], ["0.35", "1.0", "0.8", "0.95"]


# ---- heat maps (Figures 3 and 4) -----------------------------------------------------------------------------------


def heat_maps(sentences: Sequence[GatedSentence], paths: Sequence[Path]) -> None:
    """The mask gate below the tokens of the source, the others below those of the output."""
    blocks = []
    for sentence in sentences:
        mask = {name: values for name, values in sentence.gates.items() if name == "mask"}
        rest = {name: values for name, values in sentence.gates.items() if name != "mask"}
        for side, tokens, gates in (("source", sentence.source, mask), ("output", sentence.output, rest)):
            for start in range(0, len(tokens) if gates else 0, COLUMNS):
                part = slice(start, start + COLUMNS)
                blocks.append((side, tokens[part], {name: row[part] for name, row in gates.items()}))
    heights = [len(gates) for _, _, gates in blocks]
    with canvas(0.62 * COLUMNS + 2, 0.34 * sum(heights) + 0.9 * len(blocks) + 0.5) as figure:
        rows = figure.subplots(len(blocks), squeeze=False, height_ratios=heights)[:, 0]
        for axes, (side, tokens, gates) in zip(rows, blocks, strict=True):
            cells = np.full((len(gates), COLUMNS), np.nan)
            cells[:, : len(tokens)] = list(gates.values())
            image = axes.imshow(cells, cmap="Greys", vmin=0, vmax=1, aspect="auto")
            axes.xaxis.tick_top()
            axes.set_xticks(range(len(tokens)), [short(token) for token in tokens], rotation=35, ha="left", fontsize=8)
            axes.set_yticks(range(len(gates)), list(gates), fontsize=8)
            axes.set_ylabel(side, style="italic", fontsize=8)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            for row, values in enumerate(gates.values()):
                for column, value in enumerate(values):
                    ink = "white" if value > DARK else "black"
                    axes.text(column, row, f"{value:.2f}", color=ink, ha="center", va="center", fontsize=8)
        figure.colorbar(image, ax=list(rows), fraction=0.03)
        save_figure(figure, paths)


def short(token: str) -> str:
    """
    >>> short("representational"), short("a b"), short("a\\x01b")
    ('representatio…', 'a b', 'a\\\\u0001b')
    """
    token = visible(token)
    return token if len(token) <= LONGEST else token[: LONGEST - 1] + "…"


# ---- means (Figure 2) ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """Sentences that share a property."""

    title: str
    sentences: list[GatedSentence]

    def mean(self, gate: str) -> float:
        """The mean over all tokens."""
        return float(np.mean([value for sentence in self.sentences for value in sentence.gates[gate]]))


def gates_of_all(sentences: Sequence[GatedSentence]) -> tuple[list[str], list[str]]:
    """The gates that all sentences have, and those that only some have, in the order of the paper.

    >>> both = GatedSentence(["a"], ["b"], {"copy": [0.5], "mask": [0.5]})
    >>> gates_of_all([both, GatedSentence(["a"], ["b"], {"mask": [0.5]})])
    (['mask'], ['copy'])
    """
    present = [name for name in GATES if any(name in sentence.gates for sentence in sentences)]
    common = [name for name in present if all(name in sentence.gates for sentence in sentences)]
    return common, [name for name in present if name not in common]


def property_of(sentence: GatedSentence, name: str) -> float:
    """The noise in per cent, or the length of the source in tokens."""
    if name == "length":
        return len(sentence.source)
    if sentence.noise is None:
        raise UserError(
            "the noise level of a sentence needs its clean text: give --reference FILE, with --save as well"
        )
    return 100 * sentence.noise


def grouped_by(name: str, sentences: Sequence[GatedSentence], bins: int) -> list[Group]:
    """``bins`` ranges of equal width, without empty ones, called after the lowest and the highest value in each.

    >>> some = [GatedSentence([""] * n, [], {}) for n in (1, 2, 2, 11)]
    >>> [(group.title, len(group.sentences)) for group in grouped_by("length", some, 5)]
    [('1-2', 3), ('11', 1)]
    """
    values = np.array([property_of(sentence, name) for sentence in sentences])
    edges = np.linspace(values.min(), values.max(), bins + 1)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, bins - 1)
    groups = []
    for number in np.unique(place):
        inside = place == number
        ends = [f"{end:.3g}" for end in (values[inside].min(), values[inside].max())]
        title = "-".join(dict.fromkeys(ends)) + (" %" if name == "noise" else "")
        groups.append(Group(title, [sentences[at] for at in inside.nonzero()[0]]))
    return groups


def correlation(name: str, sentences: Sequence[GatedSentence], gate: str) -> float | None:
    """Pearson's r of a property and the mean gate of a sentence; None if either is constant."""
    values = [property_of(sentence, name) for sentence in sentences]
    means = [float(np.mean(sentence.gates[gate])) for sentence in sentences]
    if np.ptp(values) == 0 or np.ptp(means) == 0:
        return None
    return float(np.corrcoef(values, means)[0, 1])


def draw_means(
    groups: Sequence[Group], labels: Mapping[str, str], axis: str, bars: bool, paths: Sequence[Path]
) -> None:
    """``labels``: those of the gates in the legend; a line with a point for each group, or a bar in each."""
    with canvas(max(5.0, 1.2 * len(groups) + 3), 4) as figure:
        axes = figure.add_subplot()
        places, width = np.arange(len(groups)), 0.8 / len(labels)
        for number, (gate, label) in enumerate(labels.items()):
            means = [group.mean(gate) for group in groups]
            if bars:
                look = {"facecolor": GREYS[number], "hatch": HATCHES[number], "edgecolor": "black"}
                drawn = axes.bar(places - 0.4 + (number + 0.5) * width, means, width, label=label, **look)
                axes.bar_label(drawn, fmt="%.2f", fontsize=7)
                continue
            axes.plot(places, means, marker=MARKERS[number], linestyle=DASHES[number], color="black", label=label)
        axes.grid(axis="y", alpha=0.3)
        axes.set_xticks(places, [f"{group.title}\n({len(group.sentences)})" for group in groups], fontsize=8)
        axes.set(xlabel=f"{axis} (number of sentences)", ylabel="mean gate probability", ylim=(0, 1))
        axes.set_xlim(-0.6, len(groups) - 0.4)
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
        save_figure(figure, paths)
