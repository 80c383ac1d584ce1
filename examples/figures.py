"""Figures of the LevT paper, from logs of fairseq-generate; they need matplotlib (pip install '.[plot]').

    python examples/figures.py iterations LOG --output FILE       Figure 4a: iterations by length
    python examples/figures.py exits NAME=LOG ... --output FILE   Figure 4b: BLEU against the time of a sentence
    python examples/figures.py oracle NAME=LOG ... --output FILE  Figure 5: the score after each iteration

A log without a name is called after its file. FILE ends in .png, .svg or .pdf; several may be given.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from fairseq.data.data_utils import post_process
from sacrebleu import metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.canvas import canvas, check_figures, save_figure
from examples.shared import finish
from lev_plugins.cli.log import STEPS, Log, LoggedSentence, parse_line, to_pieces
from lev_plugins.cli.named import named_paths
from lev_plugins.text.lines import read_lines
from lev_plugins.training.tokenise import POST_PROCESSES
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import at_least

BLEU = re.compile(r"^Generate .*: BLEU4? = ([\d.]+)", re.MULTILINE)
SPEED = re.compile(r"Translated [\d,]+ sentences .*\(([\d.]+) sentences/s")  # without loading
STYLES = list(product(["-", "--", "-.", ":"], "osD^vP*X"))  # of one curve after another


@contextmanager
def axes_of(args: argparse.Namespace, x: str, y: str) -> "Iterator[Axes]":
    """A figure with one pair of axes, which is saved as --output."""
    with canvas(6, 4) as figure:
        axes = figure.add_subplot()
        yield axes
        axes.set(xlabel=x, ylabel=y)
        save_figure(figure, args.output)


def legend(axes: "Axes", names: Iterable[str]) -> None:
    axes.legend(axes.get_lines(), list(names), fontsize=8)  # by label, it would hide names that begin with _


def report(args: argparse.Namespace, lines: Mapping[str, str]) -> None:
    for name, line in lines.items():
        sys.stdout.write(f"{name}: {line}\n")
    sys.stdout.write(f"{', '.join(map(str, args.output))}: {len(lines)} {'log' if len(lines) == 1 else 'logs'}\n")


# ---- iterations by length --------------------------------------------------------------------------------------------


def iterations(args: argparse.Namespace) -> None:
    """Draws means and quartiles, beside one iteration per token and one per doubling of the length."""
    at_least(args, 1, "bins")
    with args.log.open("rb") as file:
        counts = iteration_counts(file, args.by)
    message = f"{args.log} does not say how many iterations a sentence took: run fairseq-generate with --print-step"
    require(bool(counts), message)
    groups = bins_by_length(counts, args.bins)
    lengths, means = np.array([group.mean(axis=0) for group in groups]).T
    low, high = np.array([np.percentile(group[:, 1], [25, 75]) for group in groups]).T
    spread = np.clip([means - low, high - means], 0, None)  # a mean may lie outside its quartiles
    line = np.linspace(1, max(*lengths, 2), 200)
    with axes_of(args, f"tokens of the {args.by}", "iterations") as axes:
        axes.errorbar(lengths, means, spread, color="black", marker="o", capsize=2, label="mean and quartiles")
        axes.plot(line, line, color="0.5", linestyle="--", label="one token per iteration")
        axes.plot(line, np.log2(line), color="0.5", linestyle=":", label="logarithm of the length, base 2")
        axes.set(xlim=(0, None), ylim=(0, 1.25 * max(*high, *means, np.log2(line[-1]))))
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3)
    mean = np.mean([count for _, count in counts])
    plural = "s" if len(counts) > 1 else ""
    outputs = ", ".join(map(str, args.output))
    sys.stdout.write(f"{outputs}: {len(counts):,} sentence{plural}, {mean:.2f} iterations on average\n")


def iteration_counts(log: Iterable[bytes], by: str = "output") -> list[tuple[int, int]]:
    """The length of each sentence and the iterations of its best hypothesis, without the last, which changes nothing.

    ``P-`` has a score for each piece and for </s>, also where ``H-`` has words, because of --remove-bpe.

    >>> second = [b"H-3\\t-0.9\\ta\\n", b"I-3\\t1\\n"]
    >>> iteration_counts([b"H-3\\t-0.5\\tab\\n", b"P-3\\t-1 -2 -3\\n", b"I-3\\t2\\n", *second])
    [(2, 2)]
    >>> iteration_counts([b"S-3\\ta b c\\n", b"H-3\\t-0.5\\tab\\n", b"I-3\\t2\\n"], by="source")
    [(3, 2)]
    """
    lengths: dict[int, int] = {}
    counts: dict[int, tuple[int, int]] = {}
    for line in filter(None, map(parse_line, log)):
        text = line.text.decode("utf-8", errors="replace")
        if line.kind == "S" and by == "source":
            lengths[line.number] = len(to_pieces(text))
        elif line.kind == "H" and by == "output":
            lengths.setdefault(line.number, len(to_pieces(text.partition("\t")[2])))
        elif line.kind == "P" and by == "output" and line.number not in counts:
            lengths[line.number] = len(text.split()) - 1
        elif line.kind == "I" and text.strip().isdecimal() and line.number in lengths:
            counts.setdefault(line.number, (lengths[line.number], int(text)))
    return list(counts.values())


def bins_by_length(counts: Sequence[tuple[int, int]], bins: int) -> list[np.ndarray]:
    """Returns at most ``bins`` groups of nearly equal size; sentences of one length stay together.

    >>> for group in bins_by_length([(8, 3), (2, 1), (4, 1), (8, 5)], bins=2):
    ...     print(group.tolist())
    [[2.0, 1.0], [4.0, 1.0]]
    [[8.0, 3.0], [8.0, 5.0]]
    """
    ordered = np.array(sorted(counts), dtype=float)
    group = np.searchsorted(ordered[:, 0], ordered[:, 0]) * bins // len(ordered)  # by the first of that length
    return [ordered[group == number] for number in np.unique(group)]


# ---- BLEU by time ----------------------------------------------------------------------------------------------------


def exits(args: argparse.Namespace) -> None:
    points: dict[str, tuple[float, float]] = {}
    for name, path in named_paths(args.logs, "logs").items():
        text = path.read_text(encoding="utf-8", errors="replace")
        scores, speeds = BLEU.findall(text), SPEED.findall(text)
        message = f"{path} has no BLEU or no time of fairseq-generate: give its whole output, with 2>&1"
        require(bool(scores and speeds), message)
        points[name] = (1000 / float(speeds[-1]), float(scores[-1]))
    with axes_of(args, "milliseconds per sentence", "BLEU") as axes:
        for (dashes, marker), (milliseconds, score) in zip(STYLES, points.values(), strict=False):
            fill = "full" if dashes == "-" else "none"
            axes.plot(milliseconds, score, color="black", linestyle="", marker=marker, markersize=6, fillstyle=fill)
        axes.set(xlim=(0, None))
        axes.margins(x=0.15, y=0.15)
        legend(axes, points)  # names beside points would overlap
    report(args, {name: f"{score:.2f} BLEU, {time:.1f} ms" for name, (time, score) in points.items()})


# ---- scores by iteration ---------------------------------------------------------------------------------------------


def oracle(args: argparse.Namespace) -> None:
    metric = metrics.TER(case_sensitive=True) if args.metric == "ter" else metrics.BLEU(tokenize="none", force=True)
    curves: dict[str, list[float]] = {}
    for name, path in named_paths(args.logs, "logs").items():
        sentences = read_sentences(path)
        references = [sentence.reference for sentence in sentences if sentence.reference is not None]
        if args.reference is not None:
            references = list(read_lines(args.reference))
        require(
            len(references) == len(sentences),
            f"{args.reference or 'the log'} has {len(references):,} references, but {path} has {len(sentences):,} "
            "sentences: add --reference FILE, with one for each",
        )
        histories = [
            [post_process(" ".join(state), args.post_process) for state in sentence.hypotheses[0].states]
            for sentence in sentences
        ]
        curves[name] = [
            float(metric.corpus_score([texts[min(at, len(texts) - 1)] for texts in histories], [references]).score)
            for at in range(0, max(map(len, histories)), STEPS)  # a history that has ended stays as it is
        ]
    with axes_of(args, "iterations", args.metric.upper()) as axes:
        for (dashes, marker), scores in zip(STYLES, curves.values(), strict=False):
            axes.plot(range(len(scores)), scores, color="black", markersize=4, marker=marker, linestyle=dashes)
        axes.xaxis.get_major_locator().set_params(integer=True)
        legend(axes, curves)
    report(args, {name: " ".join(f"{score:.2f}" for score in scores) for name, scores in curves.items()})


def read_sentences(path: Path) -> list[LoggedSentence]:
    """Returns all sentences, in the order of the input; none may be incomplete."""
    log = Log(str(path))
    with path.open("rb") as file:
        sentences = sorted(log.read(file), key=lambda sentence: sentence.number)
    log.check()
    message = f"{path}: the history of {len(log.incomplete):,} of {log.sentences:,} sentences is incomplete"
    require(not log.incomplete, f"{message}: give the whole output, or decode again")
    return sentences


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    figures = parser.add_subparsers(required=True, metavar="FIGURE")
    for draw, meaning in (
        (iterations, "draw the number of iterations by length"),
        (exits, "draw BLEU against the time of a sentence, one point for each log, such as of several early exits"),
        (oracle, "draw scores after each iteration, one curve for each log, such as with and without --oracle"),
    ):
        figure = figures.add_parser(draw.__name__, help=meaning, description=meaning)
        figure.set_defaults(draw=draw)
        add = figure.add_argument
        if draw is iterations:
            add("log", metavar="LOG", type=Path, help="output of fairseq-generate --print-step, decoded by a levt")
            add("--by", choices=["output", "source"], default="output", help="whose length (default: output)")
            add("--bins", metavar="N", type=int, default=10, help="at most N points, of nearly as many sentences each")
        else:
            flags = " --retain-iter-history --print-step" if draw is oracle else ", with 2>&1"
            what = f"output of fairseq-generate{flags}, and what the figure calls it"
            add("logs", metavar="NAME=LOG", nargs="+", help=what)
        if draw is oracle:
            add("--metric", choices=["bleu", "ter"], default="bleu", help="score of all sentences (default: bleu)")
            add("--reference", metavar="FILE", type=Path, help="references, one per line (default: those of the log)")
            add("--post-process", choices=POST_PROCESSES, help="how to join pieces into words")
        add("--output", metavar="FILE", type=Path, nargs="+", required=True, help="figures to write")

    def run(args: argparse.Namespace) -> None:
        check_figures("--output", args.output)
        args.draw(args)

    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
