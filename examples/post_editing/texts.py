"""Write the splits of an example under fixed names, and halve the training text.

    python texts.py --text DIR --test test16 --suffixes en de --output OUT [--halve]

copies DIR/{train,valid,test16}.{en,de} to OUT/{train,valid,test}.*. With --halve the first half of train becomes
OUT/weak.*, from which a weak system learns, and the second half OUT/train.*, which it has not seen.

    python texts.py --text OUT --suffixes en de --drafts all.draft --output DRAFTED

adds drafts to such a folder: all.draft has the drafts of train, valid and test, in this order.
"""

import argparse
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_lines, read_parallel, write_lines
from lev_plugins.errors import UserError


def split_of(folder: Path, name: str, suffixes: list[str]) -> dict[str, list[str]]:
    paths = [folder / f"{name}.{suffix}" for suffix in suffixes]
    texts = read_parallel(paths, "--text, the suffixes and --test form its name")
    return dict(zip(suffixes, texts, strict=True))


def halves(files: dict[str, list[str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """
    >>> halves({"en": ["a", "b", "c"], "de": ["A", "B", "C"]})
    ({'en': ['a'], 'de': ['A']}, {'en': ['b', 'c'], 'de': ['B', 'C']})
    """
    middle = len(next(iter(files.values()))) // 2
    first = {suffix: lines[:middle] for suffix, lines in files.items()}
    return first, {suffix: lines[middle:] for suffix, lines in files.items()}


def write(files: dict[str, list[str]], folder: Path, name: str) -> None:
    for suffix, lines in files.items():
        write_lines(folder / f"{name}.{suffix}", lines)


def cut(lines: list[str], sizes: list[int]) -> list[list[str]]:
    """
    >>> cut(["a", "b", "c"], [2, 1])
    [['a', 'b'], ['c']]
    """
    if len(lines) != sum(sizes):
        raise UserError(
            f"--drafts must have one draft per line of text ({sum(sizes):,}), but has {len(lines):,}: draft it again"
        )
    ends = list(itertools.accumulate(sizes))
    return [lines[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def add_drafts(args: argparse.Namespace) -> None:
    names = ("train", "valid", "test")
    splits = [split_of(args.text, name, args.suffixes) for name in names]
    drafts = cut(read_lines(args.drafts), [len(files[args.suffixes[0]]) for files in splits])
    for name, files, lines in zip(names, splits, drafts, strict=True):
        write({**files, "draft": lines}, args.output, name)


def run(args: argparse.Namespace) -> None:
    if args.drafts:
        add_drafts(args)
        return
    train = split_of(args.text, "train", args.suffixes)
    if args.halve:
        weak, train = halves(train)
        write(weak, args.output, "weak")
    write(train, args.output, "train")
    for name, given in (("valid", "valid"), ("test", args.test)):
        write(split_of(args.text, given, args.suffixes), args.output, name)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--text", type=Path, required=True, help="folder of the text")
    parser.add_argument("--test", default="test", help="name of the test files")
    parser.add_argument("--suffixes", nargs="+", required=True, help="suffixes of the files of a split")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    parser.add_argument("--drafts", type=Path, help="drafts of train, valid and test, to add to --text")
    parser.add_argument("--halve", action="store_true", help="keep the first half of train for a weak system")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
