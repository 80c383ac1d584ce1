"""``lev-plugins sweep FOLDER``: what an editor repairs and breaks for each value of ``--min-confidence``."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence

from lev_plugins.cli.flags import add_held_out_arguments, number_or_name
from lev_plugins.cli.reporting import table
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.held_out import HeldOut, edit_held_out
from lev_plugins.editor.options import EditOptions
from lev_plugins.utils.errors import require
from lev_plugins.utils.model_folder import check_confidence, model_path
from lev_plugins.utils.ranges import at_least

THRESHOLDS = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,0.95,0.99"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=model_path, help="a model folder, or an installed model, that edits")
    add_held_out_arguments(add, "--pairs", "text and its correction")
    several = "values of --min-confidence to compare, numbers or dials; the text is edited only once"
    add("--min-confidence", "--min-edit-confidence", metavar="P,...", default=THRESHOLDS, help=several)
    add("--max-tokens", metavar="N", type=int, default=4096, help="tokens per batch")
    add("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    parts = [number_or_name(part.strip()) for part in args.min_confidence.split(",")]
    for part in parts:
        check_confidence("--min-confidence", part)
    at_least(args, 1, "max_tokens")
    require(bool(args.pairs + args.clean), f"{args.folder} edits text: give --pairs NOISY CLEAN, --clean FILE, or both")
    editor = Editor.load(args.folder, EditOptions(max_tokens=args.max_tokens, min_confidence=0.0))
    thresholds = sorted({editor.min_confidence_of(part, "--min-confidence") for part in parts})
    texts = edit_held_out(editor, args.pairs, args.clean)
    files = [{"noisy": str(text.noisy), "clean": str(text.clean)} for text in texts]
    curves = [list(points(text, thresholds)) for text in texts]
    if args.json:
        entries = [{**names, "points": curve} for names, curve in zip(files, curves, strict=True)]
        report = json.dumps({"texts": entries}, ensure_ascii=False, indent=2)
    else:
        blocks = [[names["noisy"], *table_rows(curve)] for names, curve in zip(files, curves, strict=True)]
        report = "\n\n".join("\n".join(block) for block in blocks)
    sys.stdout.write(f"{report}\n")
    return 0


def points(text: HeldOut, thresholds: Sequence[float]) -> Iterator[dict[str, float]]:
    for threshold in thresholds:
        score = text.harm(threshold)
        yield {"min-confidence": threshold, "broken of 1,000": score.score, **score.details}


def table_rows(points: Sequence[dict[str, float]]) -> list[str]:
    """
    >>> table_rows([{"min-confidence": 0.9, "broken of 1,000": 0.75}])
    ['min-confidence  broken of 1,000', '0.9             0.75']
    """
    return table(
        [[*point] for point in points[:1]] + [[f"{value:.4g}" for value in point.values()] for point in points]
    )
