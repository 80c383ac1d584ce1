"""Split text without drafts for a weak system, and then the drafts that it has made.

    python halves.py split TEXT OUT --suffixes en de
    python halves.py drafts ALL OUT --suffixes en de

``split`` writes the first half of TEXT/train to OUT/half/weak, for the weak system; the second one, valid and test to
OUT/drafts. ``drafts`` cuts ALL, the drafts of these three one after the other, into OUT/drafts/PART.draft.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_lines, write_lines

PARTS = ("train", "valid", "test")


def split(text: Path, out: Path, suffixes: list[str]) -> None:
    for suffix in suffixes:
        train, valid, test = (read_lines(text / f"{part}.{suffix}") for part in PARTS)
        half = len(train) // 2
        write_lines(out / "half" / f"weak.{suffix}", train[:half])
        for part, lines in zip(PARTS, (train[half:], valid, test), strict=True):
            write_lines(out / "drafts" / f"{part}.{suffix}", lines)


def cut(drafts: Path, out: Path, suffixes: list[str]) -> None:
    lines = iter(read_lines(drafts))
    for part in PARTS:
        sources = read_lines(out / "drafts" / f"{part}.{suffixes[0]}")
        write_lines(out / "drafts" / f"{part}.draft", (draft for _, draft in zip(sources, lines, strict=False)))


def run(args: argparse.Namespace) -> None:
    (split if args.command == "split" else cut)(args.text, args.out, args.suffixes)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=["split", "drafts"])
    parser.add_argument("text", type=Path, metavar="TEXT", help="folder of train, valid and test; or all drafts")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder of run.sh")
    parser.add_argument("--suffixes", nargs=2, required=True, help="of the two languages")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
