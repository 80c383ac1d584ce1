"""Figures of the LevT paper, from logs of fairseq-generate; they need matplotlib (pip install '.[plot]').

    python examples/figures.py iterations LOG --output FILE       Figure 4a: iterations by length
    python examples/figures.py exits NAME=LOG ... --output FILE   Figure 4b: BLEU against the time of a sentence
    python examples/figures.py oracle NAME=LOG ... --output FILE  Figure 5: the score after each iteration

A log without a name is called after its file. FILE ends in .png, .svg or .pdf; several may be given.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from fairseq.data.data_utils import post_process
from sacrebleu import metrics

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.canvas import canvas, check_figures, save_figure
from examples.logs import decoding_seconds
from examples.shared import finish
from lev_plugins.cli.named import named_paths
from lev_plugins.data.tokenise import JOINED
from lev_plugins.errors import UserError, require
from lev_plugins.ranges import at_least
from lev_plugins.text.lines import read_lines
from lev_plugins.traces.log import STEPS, Log, LoggedSentence, parse_line, to_pieces

BLEU = re.compile(r"^Generate .*: BLEU4? = ([\d.]+)", re.MULTILINE)
LOOKS = list(product(["-", "--", "-.", ":"], "osD^vP*X"))  # of one curve after another


class IterationCount(NamedTuple):
    """A sentence."""

    length: int  # tokens of the output, or of the source
    iterations: int


def run(args: argparse.Namespace) -> None:
    check_figures("--output", args.output)
    args.draw(args)


def report(paths: list[Path], lines: dict[str, str]) -> None:
    for name, line in lines.items():
        sys.stdout.write(f"{name}: {line}\n")
    sys.stdout.write(f"{', '.join(map(str, paths))}: {len(lines)} {'log' if len(lines) == 1 else 'logs'}\n")


# ---- iterations by length --------------------------------------------------------------------------------------------


def iterations(args: argparse.Namespace) -> None:
    at_least(args, 1, "bins")
    with args.log.open("rb") as file:
        decoded = list(decoded_in(file, args.by).values())
    require(
        bool(decoded),
        f"{args.log} does not say how many iterations a sentence took: run fairseq-generate with --print-step",
    )
    draw_iterations(decoded, args.bins, args.output, args.by)
    mean = sum(sentence.iterations for sentence in decoded) / len(decoded)
    plural = "s" if len(decoded) > 1 else ""
    written = ", ".join(map(str, args.output))
    sys.stdout.write(f"{written}: {len(decoded):,} sentence{plural}, {mean:.2f} iterations on average\n")


def decoded_in(log: Iterable[bytes], by: str = "output") -> dict[int, IterationCount]:
    """The best hypothesis of each sentence; the last iteration, which changes nothing, does not count.

    ``P-`` has a score for each piece and for </s>, also where ``H-`` has words, because of --remove-bpe.

    >>> decoded_in([b"H-3\\t-0.5\\tab\\n", b"P-3\\t-1 -2 -3\\n", b"I-3\\t2\\n", b"H-3\\t-0.9\\ta\\n", b"I-3\\t1\\n"])
    {3: IterationCount(length=2, iterations=2)}
    >>> decoded_in([b"S-3\\ta b c\\n", b"H-3\\t-0.5\\tab\\n", b"I-3\\t2\\n"], by="source")
    {3: IterationCount(length=3, iterations=2)}
    """
    lengths: dict[int, int] = {}
    decoded: dict[int, IterationCount] = {}
    for line in filter(None, map(parse_line, log)):
        text = line.text.decode("utf-8", errors="replace")
        if line.kind == "S" and by == "source":
            lengths[line.number] = len(to_pieces(text))
        elif line.kind == "H" and line.number not in lengths:
            lengths[line.number] = len(to_pieces(text.partition("\t")[2]))
        elif line.number in lengths and line.number not in decoded:
            if line.kind == "P" and by == "output":
                lengths[line.number] = len(text.split()) - 1
            elif line.kind == "I" and text.isdecimal():
                decoded[line.number] = IterationCount(lengths[line.number], int(text))
    return decoded


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


def draw_iterations(decoded: Sequence[IterationCount], bins: int, paths: Sequence[Path], by: str) -> None:
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
        axes.set(xlabel=f"tokens of the {by}", ylabel="iterations", xlim=(0, None), ylim=(0, highest))
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3)
        save_figure(figure, paths)


# ---- BLEU by time ----------------------------------------------------------------------------------------------------


def exits(args: argparse.Namespace) -> None:
    points = {}
    for name, path in named_paths(args.logs, "logs").items():
        text = path.read_text(encoding="utf-8", errors="replace")
        scores, (sentences, seconds) = BLEU.findall(text), decoding_seconds(text.splitlines())
        if not scores or not sentences:
            missing = "score ('Generate ... BLEU4 = ...')" if sentences else "time ('Translated ... sentences/s')"
            raise UserError(f"{path} has no {missing}: use the whole output of fairseq-generate, with 2>&1")
        points[name] = (1000 * seconds / sentences, float(scores[-1]))
    with canvas(6, 4) as figure:
        axes = figure.add_subplot()
        for number, (milliseconds, score) in enumerate(points.values()):
            dashes, marker = LOOKS[number % len(LOOKS)]
            style = {"marker": marker, "fillstyle": "full" if dashes == "-" else "none"}
            axes.plot(milliseconds, score, color="black", linestyle="", markersize=6, **style)
        axes.set(xlabel="milliseconds per sentence", ylabel="BLEU", xlim=(0, None))
        axes.margins(x=0.15, y=0.15)
        axes.legend(axes.get_lines(), list(points), fontsize=8)  # names beside points would overlap
        save_figure(figure, args.output)
    report(args.output, {name: f"{score:.2f} BLEU, {time:.1f} ms" for name, (time, score) in points.items()})


# ---- scores by iteration ---------------------------------------------------------------------------------------------


def oracle(args: argparse.Namespace) -> None:
    given = None if args.reference is None else list(read_lines(args.reference))
    ter = args.metric == "ter"
    metric = metrics.TER(case_sensitive=True) if ter else metrics.BLEU(tokenize="none", force=True)
    curves = {}
    for name, path in named_paths(args.logs, "logs").items():
        sentences = sentences_of(path)
        references = given
        if references is None:
            references = [sentence.reference for sentence in sentences if sentence.reference is not None]
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
    draw_curves(curves, args.metric.upper(), args.output)
    report(args.output, {name: " ".join(f"{score:.2f}" for score in scores) for name, scores in curves.items()})


def sentences_of(path: Path) -> list[LoggedSentence]:
    """All sentences, in the order of the input; none may be incomplete."""
    log = Log(str(path))
    with path.open("rb") as file:
        sentences = sorted(log.read(file), key=lambda sentence: sentence.number)
    log.check()
    require(
        not log.incomplete,
        f"{path}: the history of {len(log.incomplete):,} of {log.sentences:,} sentences is incomplete, first of "
        f"sentence {''.join(map(str, log.incomplete[:1]))}: give the whole output, or decode again",
    )
    return sentences


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
            add("--post-process", choices=JOINED, help="how to join pieces into words")
        add("--output", metavar="FILE", type=Path, nargs="+", required=True, help="figures to write")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
