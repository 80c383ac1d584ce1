"""``lev-plugins encode FOLDER``: convert text to the symbols of an imported model, line by line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from lev_plugins.errors import require
from lev_plugins.text.pretrained import PretrainedBPE, PretrainedBPEConfig

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="folder from lev-plugins import-pretrained")
    parser.add_argument(
        "files", metavar="FILE", nargs="*", type=Path, help="text files (default: standard input to standard output)"
    )
    parser.add_argument(
        "--into", metavar="DIR", type=Path, help="folder for the results, which keep the names of the FILEs"
    )
    parser.add_argument("--decode", action="store_true", help="join pieces into text instead")


def run(args: argparse.Namespace) -> int:
    require(bool(args.files) == (args.into is not None), "FILE and --into must be given together, or both left out")
    bpe = PretrainedBPE(PretrainedBPEConfig(pretrained_tokenizer=args.folder))
    change = bpe.decode if args.decode else bpe.encode
    if not args.files:
        line_by_line(change, sys.stdin, sys.stdout)
    for path in args.files:
        target = args.into / path.name
        require(target.resolve() != path.resolve(), f"--into {args.into} would overwrite {path}: choose another folder")
        args.into.mkdir(parents=True, exist_ok=True)
        with path.open(encoding="utf-8", newline="\n") as text, target.open("w", encoding="utf-8") as out:
            line_by_line(change, text, out)
    return 0


def line_by_line(change: Callable[[str], str], text: TextIO, out: TextIO) -> None:
    for line in text:
        out.write(change(line.rstrip("\r\n")) + "\n")
