"""Write the pairs to train on and to report: ``python pairs.py PAIRS OUT``.

Reads PAIRS/{train,valid}.{noisy,clean}. One half of valid becomes OUT/test/valid, as it is written, to report; the
other half and train become OUT/pairs, with straight apostrophes and quotes. Some training lines have the Chinese sign
for one where a dash should be: it becomes a dash.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_lines, write_lines

STRAIGHT = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'})
CHINESE_ONE, DASH = "\u4e00", "\u2014"


def run(args: argparse.Namespace) -> None:
    for side in ("noisy", "clean"):
        train, valid = (read_lines(args.pairs / f"{part}.{side}") for part in ("train", "valid"))
        train = [line.replace(CHINESE_ONE, DASH).translate(STRAIGHT) for line in train]
        write_lines(args.out / "pairs" / f"train.{side}", train)
        write_lines(args.out / "pairs" / f"valid.{side}", (line.translate(STRAIGHT) for line in valid[::2]))
        write_lines(args.out / "test" / f"valid.{side}", valid[1::2])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pairs", type=Path, metavar="PAIRS", help="folder of {train,valid}.{noisy,clean}")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write to")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
