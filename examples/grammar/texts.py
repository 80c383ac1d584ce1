"""The texts of this example: clean sentences in two splits, and M2 files as pairs.

    python texts.py split CLEAN OUT [--sentences N]
    python texts.py pairs OUT A.m2 B.m2 ...
    python texts.py source GOLD.m2 OUT

``split`` tokenises CLEAN (a sentence a line; or a folder of train.txt and valid.txt, as examples/demo/corpus.py writes
it) and writes OUT/train.noisy, OUT/train.clean, which are the same, and OUT/valid.clean. ``pairs`` applies the
first annotator's edits and writes OUT/{train,valid}.{noisy,clean}; ``source`` writes OUT/test.{noisy,clean}.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_lines, write_lines
from lev_plugins.errors import require
from lev_plugins.scoring import m2

TOKEN = re.compile(r"\w+(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|\w+(?:[-.]\w+)*|[^\w\s]", re.IGNORECASE)
VALID_EVERY = 100  # one sentence in so many validates
MOST_VALID = 1000  # where there are more than 100,000 sentences, it is one in more
UNCORRECTED = ("UNK", "Um")  # as the script of BEA-2019 has it, which makes texts of M2 files


def tokenise(sentence: str) -> str:
    """As the texts of learners are: punctuation and clitics are words.

    >>> tokenise("It isn't the user's (first) well-known value, is it?")
    "It is n't the user 's ( first ) well-known value , is it ?"
    """
    return " ".join(TOKEN.findall(sentence))


def corrected(sentence: m2.Gold) -> str:
    """What the first annotator makes of it; what is marked as wrong, but not corrected, is left as it is.

    >>> edits = "A 1 2|||SVA|||goes|||REQUIRED|||-NONE-|||0\\nA 2 3|||UNK|||-NONE-|||REQUIRED|||-NONE-|||0\\n"
    >>> corrected(m2.parse(f"S he go home\\n{edits}")[0])
    'he goes home'
    """
    words = list(sentence.source)
    for edit in reversed(sentence.annotators[0]):
        if edit.kind not in UNCORRECTED:
            words[edit.start : edit.end] = edit.corrections[0].split()
    return " ".join(words)


def read_clean(path: Path) -> tuple[list[str], list[str]]:
    """Sentences to train and to validate on."""
    if path.is_dir():
        return read_lines(path / "train.txt"), read_lines(path / "valid.txt")[:MOST_VALID]
    return held_out(read_lines(path))


def held_out(rows: list) -> tuple[list, list]:
    """Every row is in one of the two parts.

    >>> train, valid = held_out(list(range(250)))
    >>> len(train), valid
    (248, [99, 199])
    """
    step = max(VALID_EVERY, math.ceil(len(rows) / MOST_VALID))
    chosen = set(range(step - 1, len(rows), step)) or set(range(len(rows))[-1:])
    return [row for i, row in enumerate(rows) if i not in chosen], [rows[i] for i in sorted(chosen)]


def read_m2(path: Path) -> list[m2.Gold]:
    return m2.parse("\n".join(read_lines(path)), str(path))


def split(args: argparse.Namespace) -> None:
    train, valid = ([line for line in map(tokenise, part) if line] for part in read_clean(args.clean))
    train = train[: args.sentences or None]
    require(bool(train) and bool(valid), f"{args.clean} has too few sentences to train and to validate on")
    for name, lines in (("train.noisy", train), ("train.clean", train), ("valid.clean", valid)):
        write_lines(args.out / name, lines)
    sys.stdout.write(f"{len(train):,} sentences to train, {len(valid):,} to validate on\n")


def pairs(args: argparse.Namespace) -> None:
    found = [sentence for path in args.files for sentence in read_m2(path) if sentence.source]
    for name, part in zip(("train", "valid"), held_out(found), strict=True):
        write_lines(args.out / f"{name}.noisy", (" ".join(sentence.source) for sentence in part))
        write_lines(args.out / f"{name}.clean", map(corrected, part))
        sys.stdout.write(f"{name}: {len(part):,} sentences\n")


def source(args: argparse.Namespace) -> None:
    found = read_m2(args.gold)
    write_lines(args.out / "test.noisy", (" ".join(sentence.source) for sentence in found))
    write_lines(args.out / "test.clean", map(corrected, found))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for command, names in ((split, ["clean", "out"]), (pairs, ["out"]), (source, ["gold", "out"])):
        each = commands.add_parser(command.__name__)
        for name in names:
            each.add_argument(name, type=Path)
        each.set_defaults(run=command)
        if command is split:
            each.add_argument("--sentences", type=int, default=0, help="how many to train on, 0 = all")
        if command is pairs:
            each.add_argument("files", type=Path, nargs="+")
    return finish(parser, lambda args: args.run(args))


if __name__ == "__main__":
    sys.exit(main())
