"""A fold of misread words and their corrections, for the systems that learn from it.

    python texts.py FOLD OUT [--words N] [--by-type]

FOLD has {train,dev,test}.{src,tgt}, a word a line, its characters between blanks. OUT gets train, valid and test .src,
.draft (the misread words again, which an editor starts from) and .tgt, and train.words.{src,tgt} without the blanks,
from which confusions are learned.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

SPLITS = {"train": "train", "dev": "valid", "test": "test"}
Pair = tuple[str, str]  # misread, right


class TextError(ValueError):
    """The text cannot be used; the message says where and why."""


def read_pairs(prefix: Path) -> list[Pair]:
    files = [Path(f"{prefix}.{side}") for side in ("src", "tgt")]
    try:
        lines = [path.read_text(encoding="utf-8").removesuffix("\n").split("\n") for path in files]
    except FileNotFoundError as error:
        raise TextError(f"there is no file {error.filename}: a fold has train, dev and test .src and .tgt") from error
    except UnicodeDecodeError as error:
        raise TextError(f"a file of {prefix} is not UTF-8 ({error.reason}): convert it") from error
    if len(lines[0]) != len(lines[1]):
        raise TextError(
            f"a line belongs to a line, but {files[0]} has {len(lines[0])} lines and {files[1]} has {len(lines[1])}"
        )
    return list(zip(*lines, strict=True))


def types(pairs: list[Pair]) -> list[Pair]:
    """Each pair once.

    >>> types([("a", "b"), ("c", "c"), ("a", "b")])
    [('a', 'b'), ('c', 'c')]
    """
    return list(dict.fromkeys(pairs))


def joined(word: str) -> str:
    """
    >>> joined("k i s s a")
    'kissa'
    """
    return word.replace(" ", "")


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run(args: argparse.Namespace) -> None:
    args.out.mkdir(parents=True, exist_ok=True)
    for split, name in SPLITS.items():
        pairs = read_pairs(args.fold / split)[: args.words or None]
        if split == "train":
            pairs = types(pairs) if args.by_type else pairs
            for side, number in (("src", 0), ("tgt", 1)):
                write(args.out / f"train.words.{side}", [joined(pair[number]) for pair in pairs])
        for side, number in (("src", 0), ("draft", 0), ("tgt", 1)):
            write(args.out / f"{name}.{side}", [pair[number] for pair in pairs])
        sys.stdout.write(f"{name}: {len(pairs):,} words, {len(types(pairs)):,} different pairs\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("fold", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--words", type=int, default=0, help="how many of each split to keep, 0 = all")
    parser.add_argument("--by-type", action="store_true", help="keep each different training pair once")
    try:
        run(parser.parse_args())
    except (TextError, OSError) as error:
        sys.stderr.write(f"texts.py: error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
