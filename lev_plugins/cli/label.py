"""``lev-plugins label CHECKPOINT``: label standard input, one line of JSON per line of text."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lev_plugins.cli.streams import batches, write
from lev_plugins.errors import require
from lev_plugins.inference.labeller import Labeller, read_thresholds

__all__ = ["add_arguments", "add_model_arguments", "load", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add = parser.add_argument
    add("--labels-of-interest", metavar="A,B", help="multilabel: score only these labels")
    add(
        "--thresholds",
        metavar="FILE",
        type=Path,
        help="multilabel: thresholds from tune-thresholds (default: 0.5 for all labels)",
    )
    add("--scores", action="store_true", help="also print the probabilities of all labels")


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar="CHECKPOINT", help="checkpoint of --task text_labelling")
    add("--data", metavar="DIR", help="its data folder from prepare-labels, if that has moved since training")
    add("--batch-size", metavar="N", type=int, default=32, help="texts per batch")
    add("--cpu", action="store_true", help="run on the CPU")


def load(args: argparse.Namespace) -> Labeller:
    return Labeller.load(args.checkpoint, args.data, args.cpu, batch_size=args.batch_size)


def run(args: argparse.Namespace) -> int:
    options: dict[str, Any] = {"scores": args.scores}
    if args.thresholds is not None:
        options["thresholds"] = read_thresholds(args.thresholds)
    labeller = load(args)
    separator = labeller.task.info.separator
    if args.labels_of_interest is not None:
        names = [name.strip() for name in args.labels_of_interest.split(separator)]
        require(all(names), f"--labels-of-interest contains an empty label: {args.labels_of_interest!r}")
        options["labels_of_interest"] = names
    return write(answers_to_input(labeller, options))


def answers_to_input(labeller: Labeller, options: dict[str, Any]) -> Iterator[bytes]:
    for number, lines in batches(labeller.batch_size):
        texts = [line.rstrip("\r\n") for line in lines]
        for answer in labeller.label(texts, first_line=number, **options):
            yield (json.dumps(answer, ensure_ascii=False) + "\n").encode("utf-8")
