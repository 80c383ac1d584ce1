"""``lev-plugins label MODEL``: label standard input, one line of JSON per line of text."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lev_plugins.cli.edit import add_computation_arguments
from lev_plugins.cli.streams import answer_lines
from lev_plugins.editor.labeller import Labeller, read_thresholds
from lev_plugins.editor.options import LabelOptions
from lev_plugins.utils.model_folder import model_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=model_path, help="a model folder, or the name of an installed model")
    add("--batch-size", metavar="N", type=int, default=32, help="texts per batch")
    add_computation_arguments(add)
    add("--labels-of-interest", metavar="A,B", help="multilabel: score only these labels")
    tuned = "multilabel: thresholds from tune-thresholds (default: those of the model folder, or 0.5 for all labels)"
    add("--thresholds", metavar="FILE", type=Path, help=tuned)
    add("--scores", action="store_true", help="also print the probabilities of all labels")


def run(args: argparse.Namespace) -> int:
    thresholds = None if args.thresholds is None else read_thresholds(args.thresholds)
    computation = {"device": args.device, "cpu_int8": args.cpu_int8, "batch_size": args.batch_size}
    labeller = Labeller.load(args.model, LabelOptions(thresholds=thresholds, **computation))
    options: dict[str, Any] = {"scores": args.scores}
    if args.labels_of_interest is not None:
        options["labels_of_interest"] = labeller.names_in(args.labels_of_interest)

    def answer(first_line: int, texts: list[str]) -> Iterator[str]:
        results = labeller.label([text.rstrip("\r") for text in texts], first_line=first_line, **options)
        return (json.dumps(result, ensure_ascii=False) for result in results)

    return answer_lines(answer, labeller.batch_size)
