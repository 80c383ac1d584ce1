"""Write the training, validation and test text of one set.

    python texts.py DIR/pos-ud-ewt --test dev --output OUT

The published validation set is the test here; one line in twenty of train.tsv, evenly spread and 2,000
at most, is held out to choose checkpoints and thresholds.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, hold_out, read_lines, read_parallel, write_lines

EVERY, MOST = 20, 2000


def rated(folder: Path, name: str) -> list[str]:
    """Sources, drafts and edit rates, from a file each."""
    files = read_parallel([folder / f"{name}.{suffix}" for suffix in ("src", "mt", "hter")])
    return ["\t".join(columns) for columns in zip(*files, strict=True)]


def run(args: argparse.Namespace) -> None:
    most = args.lines or None
    read = rated if args.rated else lambda folder, name: read_lines(folder / f"{name}.tsv")
    train, valid = hold_out(read(args.folder, "train")[:most], EVERY, MOST)
    test = read(args.folder, args.test)[:most]
    for name, lines in (("train", train), ("valid", valid), ("test", test)):
        write_lines(args.output / f"{name}.tsv", lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with train.tsv and the test")
    parser.add_argument("--test", required=True, help="name of the test in that folder")
    parser.add_argument("--rated", action="store_true", help="the folder has NAME.src, NAME.mt and NAME.hter instead")
    parser.add_argument("--lines", type=int, default=0, help="use the first N lines of each file (0: all)")
    parser.add_argument("--output", type=Path, required=True, help="where to write train, valid and test.tsv")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
