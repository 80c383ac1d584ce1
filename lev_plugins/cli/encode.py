"""``lev-plugins encode FOLDER``: convert text to the symbols of an imported model, line by line."""

import argparse
from collections import Counter
from pathlib import Path

from lev_plugins.cli import streams
from lev_plugins.text.lines import read_lines
from lev_plugins.text.pretrained import PretrainedBPE
from lev_plugins.utils.errors import require
from lev_plugins.utils.files import all_or_nothing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", metavar="FOLDER", help="folder from lev-plugins import-pretrained")
    add("files", metavar="FILE", nargs="*", type=Path, help="text (default: standard input to standard output)")
    add("--into", metavar="DIR", type=Path, help="folder for the results, which keep the names of the FILEs")
    add("--decode", action="store_true", help="join pieces into text instead")


def run(args: argparse.Namespace) -> int:
    require(bool(args.files) == (args.into is not None), "FILE and --into must be given together, or both left out")
    bpe = PretrainedBPE(args.folder)
    change = bpe.decode if args.decode else bpe.encode
    if not args.files:
        return streams.change_lines(lambda line, _: change(line.rstrip("\r")))
    name, count = Counter(path.name.casefold() for path in args.files).most_common(1)[0]
    require(count == 1, f"{count} FILEs are called {name}: encode them one by one, each with its own --into")
    for path in args.files:
        target = args.into / path.name
        overwrites = target.exists() and target.samefile(path)
        require(not overwrites, f"--into {args.into} would overwrite {path}: choose another folder")
        with all_or_nothing(target) as out:
            out.writelines(f"{change(line)}\n".encode() for line in read_lines(path))
    return 0
