"""Write the texts of a published set as OUT/{train,valid,test}.tsv: ``python texts.py FOLDER TEST OUT --sentences N``.

A part of the set is a file PART.tsv, or PART.src, PART.mt and PART.hter: a source, its translation and a number. One
training line in 20, but at most 2,000, are held out to validate.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, hold_out, read_lines, read_parallel, write_lines

ONE_IN, MOST = 20, 2000


def rows(folder: Path, part: str) -> list[str]:
    if (table := folder / f"{part}.tsv").is_file():
        return read_lines(table)
    columns = read_parallel(folder / f"{part}.{suffix}" for suffix in ("src", "mt", "hter"))
    return ["\t".join(row) for row in zip(*columns, strict=True)]


def run(args: argparse.Namespace) -> None:
    train, valid = hold_out(rows(args.folder, "train")[: args.sentences or None], ONE_IN, MOST)
    test = rows(args.folder, args.test)[: args.sentences or None]
    for name, lines in (("train", train), ("valid", valid), ("test", test)):
        write_lines(args.out / f"{name}.tsv", lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the published set")
    parser.add_argument("test", metavar="TEST", help="name of its test files")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write to")
    parser.add_argument("--sentences", type=int, default=0, metavar="N", help="use the first N of each file (0: all)")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
