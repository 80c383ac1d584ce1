"""Training, validation and test text of one set.

    python texts.py DIR/pos-ud-ewt --test dev --output OUT

The published validation set is the test here; what chooses checkpoints and thresholds is held out of train.tsv: one
line in twenty, evenly spread, 2,000 at the most.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

EVERY, MOST = 20, 2000


def hold_out(lines: list[str], every: int = EVERY, most: int = MOST) -> tuple[list[str], list[str]]:
    """
    >>> hold_out(["a", "b", "c", "d", "e"], every=2)
    (['a', 'c', 'e'], ['b', 'd'])
    """
    step = max(every, -(-len(lines) // most))
    held = [line for number, line in enumerate(lines, 1) if number % step == 0]
    return [line for number, line in enumerate(lines, 1) if number % step], held


def read(path: Path, most: int) -> list[str]:
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return lines[:most] if most else lines


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="with train.tsv and the test")
    parser.add_argument("--test", required=True, help="name of the test in that folder")
    parser.add_argument("--lines", type=int, default=0, help="the most lines of a file that are used (0: all)")
    parser.add_argument("--output", type=Path, required=True, help="where to write train, valid and test.tsv")
    args = parser.parse_args()
    try:
        train, valid = hold_out(read(args.folder / "train.tsv", args.lines))
        for name, lines in (
            ("train", train),
            ("valid", valid),
            ("test", read(args.folder / f"{args.test}.tsv", args.lines)),
        ):
            write(args.output / f"{name}.tsv", lines)
    except (OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"texts.py: error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
