"""``lev-plugins encode FOLDER``: text to the symbols of an imported model, a line out for each line in."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from lev_plugins.errors import require
from lev_plugins.text.pretrained import PretrainedBPE, PretrainedBPEConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="made by lev-plugins import-pretrained")
    parser.add_argument("files", metavar="FILE", nargs="*", type=Path, help="text; without one: stdin to stdout")
    parser.add_argument("--into", metavar="DIR", type=Path, help="where to write a file of the same name for each FILE")
    parser.add_argument("--decode", action="store_true", help="pieces in, text out")


def run(args: argparse.Namespace) -> int:

    require(bool(args.files) == (args.into is not None), "FILE and --into DIR go together; or leave out both")
    bpe = PretrainedBPE(PretrainedBPEConfig(pretrained_tokenizer=args.folder))
    change = bpe.decode if args.decode else bpe.encode
    if not args.files:
        line_by_line(change, sys.stdin, sys.stdout)
    for path in args.files:
        target = args.into / path.name
        require(target.resolve() != path.resolve(), f"--into {args.into} would overwrite {path}: name another folder")
        args.into.mkdir(parents=True, exist_ok=True)
        with path.open(encoding="utf-8", newline="\n") as text, target.open("w", encoding="utf-8") as out:
            line_by_line(change, text, out)
    return 0


def line_by_line(change: Callable[[str], str], text: TextIO, out: TextIO) -> None:
    for line in text:
        out.write(change(line.rstrip("\r\n")) + "\n")
