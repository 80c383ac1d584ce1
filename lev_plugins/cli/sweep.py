"""``lev-plugins sweep``: what an editor repairs and breaks, or how a corrector's settings trade precision for recall.

A model folder edits plain text (``editor_report``); a checkpoint of ``text_correction`` decodes binarised data.
"""

import argparse
import json
import logging
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from fairseq.utils import split_paths
from tqdm import tqdm

from lev_plugins.cli.edit import device_of
from lev_plugins.cli.export import add_held_out_arguments
from lev_plugins.cli.reporting import table
from lev_plugins.data.tokenise import JOINED
from lev_plugins.errors import UserError, require
from lev_plugins.figures import canvas, check_figures, save_figure
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.inference.editor import Editor
from lev_plugins.inference.held_out import HeldOut, held_out, reliability
from lev_plugins.model_folder import found
from lev_plugins.ranges import at_least, bounded, flag_name
from lev_plugins.scoring.harm import WORD_KINDS
from lev_plugins.scoring.threshold_curve import Judged, Point, curve, judge
from lev_plugins.tasks.text_correction import TextCorrectionTask

THRESHOLDS = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,0.95,0.99"
UNKNOWN_IN_TARGET = "<<unk>>"  # matches no word

# flags of binarised data alone, and what they are where they are not given
OF_DATA = {"split": "valid", "keep_bias": "0", "post_process": None, "beam": 5, "lenpen": 1.0, "plot": None}

Curve = tuple[float, list[Point]]  # --keep-bias and its points

logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    what = "a model folder, or an installed model, that edits; or with --path, a folder of binarised data"
    add("data", metavar="DATA", type=found, help=what)
    add_held_out_arguments(add, "--pairs", "for a model folder: text and its correction")
    add("--path", metavar="FILE", help="checkpoint of --task text_correction, or an ensemble: A.pt:B.pt")
    add("--split", default="valid", help="split to decode (default: valid); settings chosen on a test set flatter it")
    several = "thresholds to compare, of a model folder those of --min-confidence; more cost no extra decoding"
    add("--min-edit-confidence", metavar="P,...", default=THRESHOLDS, help=several)
    several = "biases to compare, one decoding each (default: 0); write --keep-bias=-1,0 if the first is negative"
    add("--keep-bias", metavar="B,...", default="0", help=several)
    add("--post-process", choices=JOINED, help="how to join pieces into words, to count edits of words")
    add("--beam", metavar="N", type=int, default=5, help="beam size (default: 5)")
    add("--lenpen", metavar="X", type=float, default=1.0, help="length penalty (default: 1)")
    add("--max-tokens", metavar="N", type=int, default=4096, help="tokens per batch")
    add("--cpu", action="store_true", help="run on the CPU")
    add("--json", action="store_true", help="print JSON")
    add("--plot", metavar="FILE", type=Path, help="draw the curve: .png, .svg or .pdf (extra [plot])")


def run(args: argparse.Namespace) -> int:
    thresholds = numbers(args.min_edit_confidence, "--min-edit-confidence", 0, 1)
    biases = numbers(args.keep_bias, "--keep-bias", -math.inf, math.inf)
    require(args.data.is_dir(), f"there is no folder {args.data}")
    at_least(args, 1, "beam", "max_tokens")
    bounded("--lenpen", args.lenpen)
    if args.path is None:
        sys.stdout.write(editor_report(args, thresholds))
        return 0
    require(not args.pairs + args.clean, "--pairs and --clean are for a model folder, without --path")
    if args.plot is not None:
        check_figures("--plot", [args.plot])
    curves = [(bias, curve(list(judged(args, bias)), thresholds)) for bias in biases]
    sys.stdout.write(as_json(args, curves) if args.json else as_text(curves))
    if args.plot is not None:  # last: what took long is printed if the file cannot be written
        draw(curves, args.plot)
    return 0


def numbers(text: str, flag: str, least: float, most: float) -> list[float]:
    """
    >>> numbers("0.5, 0.1,0.5", "--min-edit-confidence", 0, 1)
    [0.1, 0.5]
    """
    try:
        values = sorted({float(part) for part in text.split(",")})
    except ValueError as error:
        raise UserError(f"{flag} must be numbers separated by commas, such as 0,0.5, but is {text!r}") from error
    for number in values:
        bounded(flag, number, least, most)
    return values


# ---- a model folder and plain text -----------------------------------------------------------------------------------


def editor_report(args: argparse.Namespace, thresholds: Sequence[float]) -> str:
    require(bool(args.pairs + args.clean), f"{args.data} edits text: give --pairs NOISY CLEAN, --clean FILE, or both")
    for name, usual in OF_DATA.items():
        require(vars(args)[name] == usual, f"{flag_name(name)} is for binarised data, with --path: leave it out")
    editor = Editor.load(args.data, device=device_of(args, args.data), max_tokens=args.max_tokens, min_confidence=0.0)
    texts = held_out(editor, args.pairs, args.clean)
    files = [{"noisy": str(text.noisy), "clean": str(text.clean)} for text in texts]
    curves = [list(points(text, thresholds)) for text in texts]
    tenths = reliability(texts)
    if args.json:
        entries = [{**named, "points": rows} for named, rows in zip(files, curves, strict=True)]
        return json.dumps({"texts": entries, "reliability": tenths}, ensure_ascii=False, indent=2) + "\n"
    blocks = [[named["noisy"], *rows_of(rows)] for named, rows in zip(files, curves, strict=True)]
    return "\n\n".join("\n".join(block) for block in [*blocks, rows_of(tenths)]) + "\n"


def points(text: HeldOut, thresholds: Sequence[float]) -> Iterator[dict[str, float]]:
    for least in thresholds:
        score = text.harm(least)
        shares = {name: share for name, share in score.details.items() if name not in WORD_KINDS}
        yield {"min-confidence": least, "broken of 1,000": score.score, **shares}


def rows_of(points: Sequence[dict[str, float]]) -> list[str]:
    """
    >>> rows_of([{"at least": 0.9, "edits": 4, "right": 0.75}])
    ['at least  edits  right', '0.9       4      0.75']
    """
    return table(
        [[*point] for point in points[:1]] + [[f"{value:.4g}" for value in point.values()] for point in points]
    )


# ---- decoding ----------------------------------------------------------------------------------------------------


def judged(args: argparse.Namespace, bias: float) -> Iterator[Judged]:
    """Every sentence of the split, decoded once with this bias and without a threshold."""
    overrides = {"data": str(args.data), "keep_bias": bias, "min_edit_confidence": 0.0}
    search = {"beam": args.beam, "lenpen": args.lenpen}
    paths = [Path(path) for path in split_paths(args.path)]
    corrector = CheckpointDecoder(paths, overrides, search, device_of(args))
    require(
        isinstance(corrector.task, TextCorrectionTask),
        f"--path {args.path} was not trained with --task text_correction, so it has neither setting",
    )
    try:
        dataset = corrector.dataset(args.split)
    except FileNotFoundError as error:
        raise UserError(f"--split: {args.data} has no split {args.split}") from error
    require(dataset[0].get("target") is not None, f"{args.split} of {args.data} has no targets to compare with")
    source, target = corrector.task.source_dictionary, corrector.task.target_dictionary
    hypotheses = corrector.best(dataset, range(len(dataset)), args.max_tokens)
    decoded = 0
    for index, best in tqdm(hypotheses, total=len(dataset), unit="sentence", disable=None):
        decoded += 1
        example = dataset[index]
        yield judge(
            source.string(example["source"], args.post_process).split(),
            target.string(best["tokens"].int().cpu(), args.post_process).split(),
            target.string(example["target"], args.post_process, unk_string=UNKNOWN_IN_TARGET).split(),
            best["confidence"],
        )
    require(decoded > 0, f"all {len(dataset)} sentences of {args.split} are too long for the model")
    if decoded < len(dataset):
        warn_of_length(len(dataset) - decoded, len(dataset), args.split)


@cache
def warn_of_length(left_out: int, sentences: int, split: str) -> None:
    logger.warning("%d of the %d sentences of %s are too long for the model and left out", left_out, sentences, split)


# ---- the report ---------------------------------------------------------------------------------------------


def best_of(curves: Sequence[Curve]) -> tuple[float, Point]:
    """The highest F0.5; among equals, the one that changes fewest lines."""
    points = [(bias, point) for bias, curve_points in curves for point in curve_points]
    return max(points, key=lambda one: (one[1].f_score, -one[1].lines_changed))


def as_text(curves: Sequence[Curve]) -> str:
    """
    >>> print(as_text([(0.0, [Point(0.5, 0.75, 0.6, 0.7143, 0.2, 0.9, 3, 4, 5)])]), end="")
    keep_bias  min_edit_confidence  precision  recall  f_score  lines_changed  lines_right  correct  proposed  gold
    0          0.5                       0.75     0.6   0.7143            0.2          0.9        3         4  5
    best F0.5: --keep-bias 0 --min-edit-confidence 0.5
    """
    bias, point = best_of(curves)
    best = f"best F0.5: --keep-bias {bias:g} --min-edit-confidence {point.min_edit_confidence:g}"
    return "".join(f"{line}\n" for line in [*rows_of(as_rows(curves)), best])


def as_rows(curves: Sequence[Curve]) -> list[dict[str, float]]:
    return [{"keep_bias": bias, **asdict(point)} for bias, points in curves for point in points]


def as_json(args: argparse.Namespace, curves: Sequence[Curve]) -> str:
    bias, point = best_of(curves)
    best = {"keep_bias": bias, "min_edit_confidence": point.min_edit_confidence}
    settings = {name: vars(args)[name] for name in ("path", "split", "beam", "lenpen", "post_process")}
    return json.dumps({**settings, "points": as_rows(curves), "best": best}, indent=2) + "\n"


def draw(curves: Sequence[Curve], path: Path) -> None:
    with canvas(6, 4.5) as figure:
        axes = figure.add_subplot()
        for (bias, points), marker in zip(curves, "os^Dv*Px" * len(curves), strict=False):
            axes.plot([at.recall for at in points], [at.precision for at in points], marker + "-", label=f"{bias:g}")
        axes.set(xlabel="recall of edits", ylabel="precision of edits")
        axes.legend(title="--keep-bias")
        axes.grid(alpha=0.3)
        save_figure(figure, [path])
