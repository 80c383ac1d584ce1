"""``lev-plugins encode FOLDER < TEXT > PIECES``: text to the symbols of an imported model, line by line."""

from __future__ import annotations

import argparse
import sys

NAME = "encode"
HELP = "cut text from stdin into the pieces of a folder that import-pretrained made, or join pieces again"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="made by lev-plugins import-pretrained")
    parser.add_argument("--decode", action="store_true", help="pieces in, text out")


def run(args: argparse.Namespace) -> int:
    from lev_plugins.data.pretrained import PretrainedBPE, PretrainedBPEConfig

    bpe = PretrainedBPE(PretrainedBPEConfig(pretrained_tokenizer=args.folder))
    change = bpe.decode if args.decode else bpe.encode
    for line in sys.stdin:
        sys.stdout.write(change(line.rstrip("\n")) + "\n")
    return 0
