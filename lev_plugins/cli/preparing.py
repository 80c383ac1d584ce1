"""The flags for pieces of ``prepare`` and ``prepare-labels``."""

import argparse
from pathlib import Path

from lev_plugins.cli.flags import requires
from lev_plugins.text.tokenise import bpe_options
from lev_plugins.training.tokenise import MODEL, learn_sentencepiece
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import at_least


def add_piece_arguments(parser: argparse.ArgumentParser, texts: str) -> None:
    add = parser.add_argument
    add("--learn-sentencepiece", metavar="N", type=int, help=f"learn and use N pieces from {texts}")
    add("--sentencepiece-type", choices=["unigram", "bpe"], default="unigram", help="algorithm for the pieces")
    add("--sentencepiece-coverage", metavar="X", type=float, default=1.0, help="share of the characters to cover")


def check_pieces(args: argparse.Namespace, flag: str, training_text: Path | None) -> None:
    """Checks the flags of pieces; ``flag`` names the training text, from which they are learned."""
    at_least(args, 1, "learn_sentencepiece")
    learns = args.learn_sentencepiece is not None
    requires(args, "--learn-sentencepiece", learns, sentencepiece_type="unigram", sentencepiece_coverage=1.0)
    require(
        not learns or (args.sentencepiece_model is None and args.bpe in (None, "sentencepiece")),
        "--learn-sentencepiece makes pieces of its own: leave out --bpe and --sentencepiece-model",
    )
    require(not learns or training_text is not None, f"--learn-sentencepiece requires {flag}, the text to learn from")
    piece_options(args, args.dest)  # raises an error for conflicting flags


def piece_options(args: argparse.Namespace, folder: Path) -> argparse.Namespace | None:
    """Returns fairseq's flags for the BPE; the model of learned pieces is in ``folder``."""
    flags = dict(vars(args))
    if args.learn_sentencepiece is not None:
        flags["sentencepiece_model"] = str(folder / MODEL)
    return bpe_options(argparse.Namespace(**flags))


def learn_pieces(args: argparse.Namespace, texts: list[Path], folder: Path) -> None:
    kind, coverage = args.sentencepiece_type, args.sentencepiece_coverage
    learn_sentencepiece(texts, folder / MODEL, args.learn_sentencepiece, kind, coverage)
