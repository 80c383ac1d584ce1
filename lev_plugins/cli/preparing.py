"""What ``prepare`` and ``prepare-labels`` share: the pieces that a text is cut into, and the folder that is made."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lev_plugins.errors import require
from lev_plugins.files import all_or_nothing_folder
from lev_plugins.ranges import at_least, bounded, flag_name
from lev_plugins.text.cutting import bpe_options, learn_sentencepiece

MODEL = "sentencepiece.model"  # its name in the folder where it is learned


def add_piece_arguments(parser: argparse.ArgumentParser, texts: str) -> None:
    add = parser.add_argument
    add("--learn-sentencepiece", metavar="N", type=int, help=f"learn N pieces from {texts}, and use them")
    add("--sentencepiece-type", choices=["unigram", "bpe"], help="kind of the learned pieces (default: unigram)")
    add("--sentencepiece-coverage", metavar="X", type=float, help="share of the characters learned (default: 1)")


def check_pieces(args: argparse.Namespace, flag: str, training_text: Path | None) -> None:
    """``flag`` is the one that names the training text."""
    if args.learn_sentencepiece is None:
        for name in ("sentencepiece_type", "sentencepiece_coverage"):
            require(getattr(args, name) is None, f"{flag_name(name)} goes with --learn-sentencepiece")
    else:
        check_learning(args)
        require(training_text is not None, f"--learn-sentencepiece learns from {flag}, but there is none")
    piece_options(args, args.dest)  # refuses flags of a BPE that do not go together


def check_learning(args: argparse.Namespace) -> None:
    at_least(args, 1, "learn_sentencepiece")
    require(
        args.sentencepiece_model is None,
        "--learn-sentencepiece learns a model, --sentencepiece-model takes one: leave one out",
    )
    require(
        args.bpe in (None, "sentencepiece"),
        f"--learn-sentencepiece does not go with --bpe {args.bpe}: leave out --bpe and --sentencepiece-model",
    )
    if args.sentencepiece_coverage is not None:
        bounded("--sentencepiece-coverage", args.sentencepiece_coverage, above=0, most=1)


def piece_options(args: argparse.Namespace, folder: Path) -> argparse.Namespace | None:
    """fairseq's flags of what cuts the texts; pieces that are learned have their model in ``folder``."""
    learned = {} if args.learn_sentencepiece is None else {"sentencepiece_model": str(folder / MODEL)}
    return bpe_options(argparse.Namespace(**{**vars(args), **learned}))


def learn_pieces(args: argparse.Namespace, texts: list[Path], folder: Path) -> None:
    kind, coverage = args.sentencepiece_type or "unigram", args.sentencepiece_coverage or 1.0
    learn_sentencepiece(texts, folder / MODEL, args.learn_sentencepiece, kind, coverage)


@contextmanager
def folder_in_the_making(dest: Path) -> Iterator[tuple[Path, Path]]:
    """The folder that gets the name ``dest`` once it is complete, and one inside for what is not to stay."""
    with all_or_nothing_folder(dest) as folder:
        scratch = folder / "scratch"
        scratch.mkdir()
        yield folder, scratch
        shutil.rmtree(scratch)
