"""``lev-plugins plot oracle`` and ``plot exits``: curves and points from several logs of ``fairseq-generate``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq.data.data_utils import post_process

from lev_plugins.cli.named import named_paths
from lev_plugins.errors import UserError, require
from lev_plugins.plots.curves import Timed, draw_curves, draw_points, scores_by_iteration
from lev_plugins.plots.figures import check_figures
from lev_plugins.text.lines import read_lines
from lev_plugins.text.tokenise import JOINED
from lev_plugins.traces.log import STEPS, Sentence, decoding_seconds, read_log

ORACLE = "draw scores after each iteration, one curve for each log, such as with and without --oracle"
EXITS = "draw BLEU against the time of a sentence, one point for each log, such as of several early exits"
METRICS = ["bleu", "ter"]
BLEU = re.compile(r"^Generate .*: BLEU4? = ([\d.]+)", re.MULTILINE)


def add_logs(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("logs", metavar="NAME=LOG", nargs="+", help=f"{what}, and what the figure calls it")
    parser.add_argument(
        "--output", metavar="FILE", type=Path, nargs="+", required=True, help="figures to write: .png, .svg or .pdf"
    )


def add_oracle_arguments(parser: argparse.ArgumentParser) -> None:
    add_logs(parser, "output of fairseq-generate --retain-iter-history --print-step")
    parser.add_argument("--metric", choices=METRICS, default="bleu", help="score of all sentences (default: bleu)")
    parser.add_argument(
        "--reference", metavar="FILE", type=Path, help="references, one per line (default: the T- lines of the log)"
    )
    parser.add_argument("--post-process", choices=JOINED, help="how to join pieces into words")


def add_exits_arguments(parser: argparse.ArgumentParser) -> None:
    add_logs(parser, "output of fairseq-generate, with 2>&1")


def run_oracle(args: argparse.Namespace) -> int:
    check_figures("--output", args.output)
    references = None if args.reference is None else list(read_lines(args.reference))
    metric = metric_of(args.metric)
    curves = {}
    for name, path in named_paths(args.logs, "logs").items():
        sentences = read_log(path)
        texts = texts_of(sentences, path) if references is None else references
        require(
            len(texts) == len(sentences),
            f"{args.reference} has {len(texts):,} lines, but {path} has {len(sentences):,} sentences",
        )
        histories = [joined(sentence, args.post_process) for sentence in sentences]
        curves[name] = scores_by_iteration(histories, texts, STEPS, metric)
    draw_curves(curves, args.metric.upper(), args.output)
    report(args.output, {name: " ".join(f"{score:.2f}" for score in scores) for name, scores in curves.items()})
    return 0


def run_exits(args: argparse.Namespace) -> int:
    check_figures("--output", args.output)
    points = [timed(name, path) for name, path in named_paths(args.logs, "logs").items()]
    draw_points(points, "BLEU", args.output)
    report(args.output, {point.name: f"{point.score:.2f} BLEU, {point.milliseconds:.1f} ms" for point in points})
    return 0


def metric_of(name: str) -> Any:
    from sacrebleu import metrics

    return metrics.TER(case_sensitive=True) if name == "ter" else metrics.BLEU(tokenize="none", force=True)


def joined(sentence: Sentence, kind: str | None) -> list[str]:
    """The states of the best hypothesis."""
    return [post_process(" ".join(state), kind) if kind else " ".join(state) for state in sentence.hypotheses[0].states]


def texts_of(sentences: Sequence[Sentence], path: Path) -> list[str]:
    texts = [sentence.reference for sentence in sentences if sentence.reference is not None]
    require(len(texts) == len(sentences), f"{path} has no T- lines with references: add --reference FILE")
    return texts


def timed(name: str, path: Path) -> Timed:
    text = path.read_text(encoding="utf-8", errors="replace")
    scores, (sentences, seconds) = BLEU.findall(text), decoding_seconds(text.splitlines())
    if not scores or not sentences:
        missing = "score ('Generate ... BLEU4 = ...')" if sentences else "time ('Translated ... sentences/s')"
        raise UserError(f"{path} has no {missing}: use the whole output of fairseq-generate, with 2>&1")
    return Timed(name, 1000 * seconds / sentences, float(scores[-1]))


def report(paths: Sequence[Path], lines: dict[str, str]) -> None:
    for name, line in lines.items():
        sys.stdout.write(f"{name}: {line}\n")
    sys.stdout.write(f"{', '.join(map(str, paths))}: {len(lines)} {'log' if len(lines) == 1 else 'logs'}\n")
