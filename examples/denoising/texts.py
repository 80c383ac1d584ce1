"""The pairs of an example, under fixed names: OUT/{train,valid,test}.{src,tgt}.

    python texts.py --train corpus/train.txt --valid corpus/valid.txt --test corpus/test.txt --copies 4 --output OUT

takes clean text: source and target are the same lines, and the training text stands there --copies times (noise is
put into the sources afterwards, other noise each time).

    python texts.py --train DIR/periodical.train --test DIR/periodical.valid --source src --target tgt --output OUT

takes pairs. Without --valid, every twentieth training pair is held out for validation; without --test as well, one in
ten is validation, one in ten test (80-10-10, as the paper cuts its sets).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

TWENTIETH, TENTH = 20, 10


class TextError(ValueError):
    """The text cannot be used; the message says where and why."""


class Pair(NamedTuple):
    source: str
    target: str


def read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except FileNotFoundError as error:
        raise TextError(f"there is no file {path}: the name of the split and the suffix make up its name") from error
    except UnicodeDecodeError as error:
        raise TextError(f"{path} is not UTF-8 ({error.reason}): convert the file") from error


def read_pairs(prefix: Path, suffixes: list[str]) -> list[Pair]:
    """Two files, or one that is both sides; pairs of which a side is empty are left out."""
    paths = [prefix.with_name(f"{prefix.name}.{suffix}") for suffix in suffixes] or [prefix]
    sides = [read_lines(path) for path in paths]
    if len(sides[0]) != len(sides[-1]):
        raise TextError(
            f"a source has a line for each of its targets, but {paths[0]} has {len(sides[0]):,} lines and {paths[-1]} "
            f"{len(sides[-1]):,}"
        )
    pairs = (Pair(*(" ".join(side.split()) for side in both)) for both in zip(sides[0], sides[-1], strict=True))
    return [pair for pair in pairs if pair.source and pair.target]


def held_out(pairs: list[Pair], one_in: int, first: int = 0) -> tuple[list[Pair], list[Pair]]:
    """The rest, and the pairs number first, first + one_in, ...

    >>> held_out([Pair(letter, letter) for letter in "abcde"], 3)
    ([Pair(source='b', target='b'), Pair(source='c', target='c'), Pair(source='e', target='e')], \
[Pair(source='a', target='a'), Pair(source='d', target='d')])
    """
    rest = [pair for number, pair in enumerate(pairs) if number % one_in != first]
    return rest, pairs[first::one_in]


def splits_of(args: argparse.Namespace) -> dict[str, list[Pair]]:
    suffixes = [args.source, args.target] if args.source else []
    train = read_pairs(args.train, suffixes)
    test = read_pairs(args.test, suffixes) if args.test else []
    valid = read_pairs(args.valid, suffixes) if args.valid else []
    if not valid and not test:
        train, test = held_out(train, TENTH)
        train, valid = held_out(train, TENTH - 1)
    elif not valid:
        train, valid = held_out(train, TWENTIETH)
    elif not test:
        raise TextError("--valid without --test leaves nothing to test on: give both, --test alone, or neither")
    return {"train": train, "valid": valid, "test": test}


def run(args: argparse.Namespace) -> None:
    args.output.mkdir(parents=True, exist_ok=True)
    for name, pairs in splits_of(args).items():
        pairs = pairs[: args.sentences or None]
        if not pairs:
            raise TextError(f"{args.train} is too small: no pair is left for {name}")
        for side in Pair._fields:
            lines = [getattr(pair, side) for pair in pairs] * (args.copies if name == "train" else 1)
            suffix = {"source": "src", "target": "tgt"}[side]
            (args.output / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for split in ("train", "valid", "test"):
        parser.add_argument(f"--{split}", type=Path, required=split == "train", help="file, or PREFIX of two files")
    parser.add_argument("--source", help="suffix of the sources; without it the files are clean text, for both sides")
    parser.add_argument("--target", help="suffix of the targets")
    parser.add_argument("--sentences", type=int, default=0, help="how many pairs of each split to keep, 0 = all")
    parser.add_argument("--copies", type=int, default=1, help="how many times the training text is written")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    try:
        run(parser.parse_args())
    except (TextError, OSError) as error:
        sys.stderr.write(f"texts.py: error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
