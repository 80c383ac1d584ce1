"""Write a fold of misread words and their corrections for training.

    python texts.py FOLD OUT [--words N] [--by-type]

FOLD has {train,dev,test}.{src,tgt}, one word per line, with blanks between its characters. OUT gets train,
valid and test .src, .draft (the misread words again, from which an editor starts) and .tgt, and train.words.{src,tgt}
without the blanks, from which confusions are learned.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_parallel, write_lines

SPLITS = {"train": "train", "dev": "valid", "test": "test"}
Pair = tuple[str, str]  # misread, right


def read_pairs(prefix: Path) -> list[Pair]:
    files = [Path(f"{prefix}.{side}") for side in ("src", "tgt")]
    return list(zip(*read_parallel(files, "a fold has train, dev and test .src and .tgt"), strict=True))


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


def run(args: argparse.Namespace) -> None:
    for split, name in SPLITS.items():
        pairs = read_pairs(args.fold / split)[: args.words or None]
        if split == "train":
            pairs = types(pairs) if args.by_type else pairs
            for side, number in (("src", 0), ("tgt", 1)):
                write_lines(args.out / f"train.words.{side}", [joined(pair[number]) for pair in pairs])
        for side, number in (("src", 0), ("draft", 0), ("tgt", 1)):
            write_lines(args.out / f"{name}.{side}", [pair[number] for pair in pairs])
        sys.stdout.write(f"{name}: {len(pairs):,} words, {len(types(pairs)):,} different pairs\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("fold", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--words", type=int, default=0, help="keep the first N of each split (0: all)")
    parser.add_argument("--by-type", action="store_true", help="keep each different training pair once")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
