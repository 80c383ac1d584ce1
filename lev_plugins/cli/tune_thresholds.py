"""``lev-plugins tune-thresholds CHECKPOINT OUT``: find the lowest probability at which each label is assigned."""

import argparse
import json
import re
import sys
from pathlib import Path

from lev_plugins.cli.label import add_model_arguments, labeller_from_args
from lev_plugins.labelling.scores import best_thresholds, common_threshold, multilabel
from lev_plugins.utils.errors import require
from lev_plugins.utils.files import all_or_nothing
from lev_plugins.utils.model_folder import is_model_folder

TEST = r"test\d*"  # fairseq's names of test sets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="CHECKPOINT", help="checkpoint of --task text_labelling")
    add_model_arguments(parser)
    add("output", metavar="OUT", type=Path, help="file to write: JSON, one number per label")
    common = "one threshold for all labels, with the best micro-F1: on few texts, the best for each label is chance"
    add("--common", action="store_true", help=common)
    add("--split", default="valid", help="split to tune on (default: valid); a test set is refused")


def run(args: argparse.Namespace) -> int:
    require(
        re.fullmatch(TEST, args.split) is None,
        f"--split {args.split}: thresholds tuned on a test set make its scores too good: tune on the validation set",
    )
    require(not is_model_folder(args.model), f"{args.model} is a folder: thresholds are tuned on a checkpoint's data")
    labeller = labeller_from_args(args)
    require(
        labeller.kind == "multilabel", f"thresholds are for multilabel models, but {args.model} is for {labeller.kind}"
    )
    truth, scores = labeller.scorer.of_part(args.split, size=labeller.batch_size)
    tuned = [common_threshold(truth, scores)] * truth.shape[1] if args.common else best_thresholds(truth, scores)
    untuned_scores, tuned_scores = multilabel(truth, scores, 1), multilabel(truth, scores, 1, tuned)
    thresholds = dict(zip(labeller.names, tuned, strict=True))
    with all_or_nothing(args.output) as file:
        file.write((json.dumps(thresholds, ensure_ascii=False, indent=1) + "\n").encode("utf-8"))
    lines = [f"{args.output}: thresholds of {len(thresholds):,} labels, tuned on {len(truth):,} texts of {args.split}"]
    for name in ("micro_f1", "macro_f1"):
        lines.append(f"{name} {untuned_scores[name]:.2f} with 0.5, {tuned_scores[name]:.2f} tuned")
    never = [name for name, present in zip(labeller.names, truth.any(0), strict=True) if not present]
    if never and not args.common:
        lines.append(f"left at 0.5, because not in {args.split}: {', '.join(never)}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0
