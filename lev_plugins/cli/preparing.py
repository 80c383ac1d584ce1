"""What ``prepare`` and ``prepare-labels`` share: pieces, and the folder to create."""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lev_plugins.cli.flags import requires
from lev_plugins.data.tokenise import MODEL, learn_sentencepiece
from lev_plugins.errors import require
from lev_plugins.files import all_or_nothing_folder
from lev_plugins.ranges import at_least
from lev_plugins.text.tokenise import bpe_options


def add_piece_arguments(parser: argparse.ArgumentParser, texts: str) -> None:
    add = parser.add_argument
    add("--learn-sentencepiece", metavar="N", type=int, help=f"learn and use N pieces from {texts}")
    add("--sentencepiece-type", choices=["unigram", "bpe"], help="algorithm for the pieces (default: unigram)")
    add("--sentencepiece-coverage", metavar="X", type=float, help="share of the characters to cover (default: 1)")


def check_pieces(args: argparse.Namespace, flag: str, training_text: Path | None) -> None:
    """Checks the flags of pieces; ``flag`` names the training text, from which they are learned."""
    at_least(args, 1, "learn_sentencepiece")
    learns = args.learn_sentencepiece is not None
    requires(args, "--learn-sentencepiece", learns, sentencepiece_type=None, sentencepiece_coverage=None)
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
    coverage = 1.0 if args.sentencepiece_coverage is None else args.sentencepiece_coverage
    kind = args.sentencepiece_type or "unigram"
    learn_sentencepiece(texts, folder / MODEL, args.learn_sentencepiece, kind, coverage)


@contextmanager
def folder_in_the_making(dest: Path) -> Iterator[tuple[Path, Path]]:
    """Creates a folder that is renamed to ``dest`` when complete, and a temporary folder inside it."""
    with all_or_nothing_folder(dest) as folder:
        scratch = folder / "scratch"
        scratch.mkdir()
        yield folder, scratch
        shutil.rmtree(scratch)
