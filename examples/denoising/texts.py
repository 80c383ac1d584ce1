"""Write the pairs of an example under fixed names: OUT/{train,valid,test}.{src,tgt}.

    python texts.py --train corpus/train.txt --valid corpus/valid.txt --test corpus/test.txt --copies 4 --output OUT

reads clean text: source and target are the same, and the training text is written --copies times (noise is added to
the sources later, different in each copy).

    python texts.py --train DIR/periodical.train --test DIR/periodical.valid --source src --target tgt --output OUT

reads pairs. Without --valid, every twentieth training pair is held out for validation. Without --valid and --test, the
training pairs are split 80-10-10, as in the paper.
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_parallel, write_lines
from lev_plugins.utils.errors import UserError, require

TWENTIETH, TENTH = 20, 10


class Pair(NamedTuple):
    source: str
    target: str


def read_pairs(prefix: Path, suffixes: list[str]) -> list[Pair]:
    """Reads two files, or one file for both sides; pairs with an empty side are left out."""
    paths = [prefix.with_name(f"{prefix.name}.{suffix}") for suffix in suffixes] or [prefix]
    sides = read_parallel(paths, "the name of the split and the suffix form its name")
    pairs = (Pair(*(" ".join(side.split()) for side in both)) for both in zip(sides[0], sides[-1], strict=True))
    return [pair for pair in pairs if pair.source and pair.target]


def held_out(pairs: list[Pair], one_in: int) -> tuple[list[Pair], list[Pair]]:
    """The remaining pairs, and the pairs number 0, one_in, 2 * one_in, ...

    >>> held_out([Pair(letter, letter) for letter in "abcde"], 3)
    ([Pair(source='b', target='b'), Pair(source='c', target='c'), Pair(source='e', target='e')], \
[Pair(source='a', target='a'), Pair(source='d', target='d')])
    """
    rest = [pair for number, pair in enumerate(pairs) if number % one_in]
    return rest, pairs[::one_in]


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
        raise UserError("--valid needs --test: give both, --test alone, or neither")
    return {"train": train, "valid": valid, "test": test}


def run(args: argparse.Namespace) -> None:
    for name, pairs in splits_of(args).items():
        require(bool(pairs), f"--train {args.train} is too small, no pair is left for {name}: give more pairs")
        for side in Pair._fields:
            lines = [getattr(pair, side) for pair in pairs] * (args.copies if name == "train" else 1)
            suffix = {"source": "src", "target": "tgt"}[side]
            write_lines(args.output / f"{name}.{suffix}", lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for split in ("train", "valid", "test"):
        parser.add_argument(f"--{split}", type=Path, required=split == "train", help="file, or PREFIX of two files")
    parser.add_argument("--source", help="suffix of the sources; without it, each file is clean text for both sides")
    parser.add_argument("--target", help="suffix of the targets")
    parser.add_argument("--copies", type=int, default=1, help="how many times the training text is written")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
