"""The three splits of an example under fixed names, and the training text in halves.

    python texts.py --text DIR --test test16 --suffixes en de --output OUT [--halve]

copies DIR/{train,valid,test16}.{en,de} to OUT/{train,valid,test}.*. With --halve the first half of train becomes
OUT/weak.*, from which a weak system learns, and the second half OUT/train.*, which it has not seen.

    python texts.py --text OUT --suffixes en de --drafts all.draft --output DRAFTED

adds drafts to such a folder: all.draft has those of train, valid and test, one after the other.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path


class TextError(ValueError):
    """The text cannot be used; the message says where and why."""


def read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except FileNotFoundError as error:
        raise TextError(f"there is no file {path}: --text, the suffixes and --test make up its name") from error
    except UnicodeDecodeError as error:
        raise TextError(f"{path} is not UTF-8 ({error.reason}): convert the file") from error


def split_of(folder: Path, name: str, suffixes: list[str]) -> dict[str, list[str]]:
    files = {suffix: read_lines(folder / f"{name}.{suffix}") for suffix in suffixes}
    counts = {suffix: len(lines) for suffix, lines in files.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name}.{suffix} {count:,}" for suffix, count in counts.items())
        raise TextError(f"the files of a split have a line for a line, but their lines are: {told}")
    return files


def halves(files: dict[str, list[str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """
    >>> halves({"en": ["a", "b", "c"], "de": ["A", "B", "C"]})
    ({'en': ['a'], 'de': ['A']}, {'en': ['b', 'c'], 'de': ['B', 'C']})
    """
    middle = len(next(iter(files.values()))) // 2
    first = {suffix: lines[:middle] for suffix, lines in files.items()}
    return first, {suffix: lines[middle:] for suffix, lines in files.items()}


def write(files: dict[str, list[str]], folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, lines in files.items():
        (folder / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def cut(lines: list[str], sizes: list[int]) -> list[list[str]]:
    """
    >>> cut(["a", "b", "c"], [2, 1])
    [['a', 'b'], ['c']]
    """
    if len(lines) != sum(sizes):
        raise TextError(f"there are {len(lines):,} drafts for {sum(sizes):,} lines")
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
    parser.add_argument("--output", type=Path, required=True, help="where to write")
    parser.add_argument("--drafts", type=Path, help="drafts of train, valid and test, to add to --text")
    parser.add_argument("--halve", action="store_true", help="keep the first half of train for a weak system")
    try:
        run(parser.parse_args())
    except (TextError, OSError) as error:
        sys.stderr.write(f"texts.py: error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
