"""``lev-plugins label MODEL``: label standard input, one line of JSON per line of text."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lev_plugins.cli.edit import add_int8_argument, device_of
from lev_plugins.cli.streams import answer_lines
from lev_plugins.editor.labeller import Labeller, read_thresholds
from lev_plugins.editor.options import LabelOptions
from lev_plugins.utils.model_folder import model_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    what = "a model folder, a model that is installed, or a checkpoint of --task text_labelling"
    add("model", metavar="MODEL", type=model_path, help=what)
    add_model_arguments(parser)
    add_int8_argument(add)
    add("--labels-of-interest", metavar="A,B", help="multilabel: score only these labels")
    tuned = "multilabel: thresholds from tune-thresholds (default: those of the model folder, or 0.5 for all labels)"
    add("--thresholds", metavar="FILE", type=Path, help=tuned)
    add("--scores", action="store_true", help="also print the probabilities of all labels")


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", metavar="DIR", help="checkpoint: its folder from prepare-labels, if it has moved since training")
    add("--batch-size", metavar="N", type=int, default=32, help="texts per batch")
    add("--cpu", action="store_true", help="run on the CPU")


def labeller_from_args(args: argparse.Namespace, thresholds: dict[str, float] | None = None) -> Labeller:
    options = LabelOptions(
        device=device_of(args, args.model),
        cpu_int8=vars(args).get("cpu_int8", False),  # not a flag of tune-thresholds
        batch_size=args.batch_size,
        thresholds=thresholds,
    )
    return Labeller.load(args.model, args.data, options)


def run(args: argparse.Namespace) -> int:
    labeller = labeller_from_args(args, None if args.thresholds is None else read_thresholds(args.thresholds))
    options: dict[str, Any] = {"scores": args.scores}
    if args.labels_of_interest is not None:
        options["labels_of_interest"] = labeller.names_in(args.labels_of_interest)

    def answer(first_line: int, texts: list[str]) -> Iterator[str]:
        results = labeller.label([text.rstrip("\r") for text in texts], first_line=first_line, **options)
        return (json.dumps(result, ensure_ascii=False) for result in results)

    return answer_lines(answer, labeller.batch_size)
