"""``lev-plugins tune-thresholds FOLDER DATA OUT``: find the lowest probability at which each label is assigned."""

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np

from lev_plugins.editor.labeller import Labeller
from lev_plugins.editor.options import LabelOptions
from lev_plugins.labelling.dataset import BinarisedExamples, targets
from lev_plugins.labelling.folder import LABELS, WORDS
from lev_plugins.labelling.scores import best_thresholds, common_threshold, multilabel
from lev_plugins.text.ids import Array
from lev_plugins.training.binarise import load_dictionary
from lev_plugins.utils.errors import require
from lev_plugins.utils.files import all_or_nothing
from lev_plugins.utils.model_folder import command_to_export

TEST = r"test\d*"  # fairseq's names of test sets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=Path, help="model folder that labels texts with sets of labels")
    add("data", metavar="DATA", type=Path, help="its folder from prepare-labels")
    add("output", metavar="OUT", type=Path, help="file to write: JSON, one number per label")
    common = "one threshold for all labels, with the best micro-F1: on few texts, the best for each label is chance"
    add("--common", action="store_true", help=common)
    add("--batch-size", metavar="N", type=int, default=32, help="texts per batch")
    add("--split", default="valid", help="split to tune on (default: valid); a test set is refused")


def run(args: argparse.Namespace) -> int:
    require(
        re.fullmatch(TEST, args.split) is None,
        f"--split {args.split}: thresholds tuned on a test set make its scores too good: tune on the validation set",
    )
    command = command_to_export(args.folder, args.data)
    require(not args.folder.is_file(), f"{args.folder} is a file, not a model folder: make one with {command}")
    labeller = Labeller.load(args.folder, LabelOptions(batch_size=args.batch_size))
    require(
        labeller.kind == "multilabel", f"thresholds are for multilabel models, but {args.folder} is for {labeller.kind}"
    )
    truth, scores = truth_and_scores(labeller, args.folder, args.data, args.split)
    tuned = [common_threshold(truth, scores)] * truth.shape[1] if args.common else best_thresholds(truth, scores)
    untuned_scores, tuned_scores = multilabel(truth, scores, 1), multilabel(truth, scores, 1, tuned)
    thresholds = dict(zip(labeller.names, tuned, strict=True))
    with all_or_nothing(args.output) as file:
        file.write((json.dumps(thresholds, ensure_ascii=False, indent=1) + "\n").encode("utf-8"))
    lines = [f"{args.output}: thresholds of {len(thresholds):,} labels, tuned on {len(truth):,} texts of {args.split}"]
    for name in ("micro_f1", "macro_f1"):
        lines.append(f"{name} {untuned_scores[name]:.2f} with 0.5, {tuned_scores[name]:.2f} tuned")
    never = [name for name, number in zip(labeller.names, truth.sum(0).tolist(), strict=True) if not number]
    if never and not args.common:
        lines.append(f"left at 0.5, because not in {args.split}: {', '.join(never)}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def truth_and_scores(labeller: Labeller, folder: Path, data: Path, part: str) -> tuple[Array, Array]:
    """Returns which labels the examples of a part have, and the scores of all labels, both (n, L)."""
    for name in (WORDS, LABELS):
        is_equal = (data / name).is_file() and (data / name).read_bytes() == (folder / name).read_bytes()
        require(is_equal, f"{data / name} is not that of {folder}: give the data that its model was trained with")
    examples = [*BinarisedExamples(data, part, load_dictionary(data / WORDS))]
    scores = labeller.scorer.scores(examples, size=labeller.batch_size)
    return targets(examples, labeller.scorer.request).numpy(), np.stack(scores)
