"""Write the texts of this example as plain text: clean sentences in two splits, and M2 files as pairs.

    python texts.py split CLEAN OUT
    python texts.py pairs OUT A.m2 B.m2 ...
    python texts.py source GOLD.m2 OUT

``split`` reads CLEAN (one sentence per line, as people write it; or a folder with train.txt and valid.txt, as
examples/english/corpus.py writes it) and writes OUT/train.noisy and OUT/train.clean, which are the same, and
OUT/valid.clean. ``pairs`` applies the first annotator's edits and writes OUT/{train,valid}.{noisy,clean}; ``source``
writes the sources as OUT/test.noisy, and their tokens as OUT/test.tokens.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.grammar.tokens import plain
from examples.shared import finish, hold_out, read_lines, write_lines
from lev_plugins.scoring import m2
from lev_plugins.text.text_style import APART, JOINED
from lev_plugins.utils.errors import require

VALID_EVERY = 100  # one sentence in 100 is held out for validation
MAX_VALID = 1000  # with more than 100,000 sentences, fewer are held out


def read_clean(path: Path) -> tuple[list[str], list[str]]:
    """Sentences for training and for validation."""
    if path.is_dir():
        return read_lines(path / "train.txt"), read_lines(path / "valid.txt")[:MAX_VALID]
    return hold_out(read_lines(path), VALID_EVERY, MAX_VALID)


def split(args: argparse.Namespace) -> None:
    train, valid = ([line for line in map(str.strip, part) if line] for part in read_clean(args.clean))
    signs_behind_words, signs_behind_blanks = (
        sum(len(sign.findall(line)) for line in train) for sign in (JOINED, APART)
    )
    require(
        signs_behind_blanks <= signs_behind_words,
        f"{args.clean} is tokenised, with blanks before punctuation, and an editor would learn to write so: give plain "
        "text, or take the blanks out with tokens.py",
    )
    require(
        bool(train) and bool(valid),
        f"{args.clean} must have sentences for training and for validation, but has too few: give more text",
    )
    for name, lines in (("train.noisy", train), ("train.clean", train), ("valid.clean", valid)):
        write_lines(args.out / name, lines)
    sys.stdout.write(f"{len(train):,} sentences for training, {len(valid):,} for validation\n")


def pairs(args: argparse.Namespace) -> None:
    sentences = [sentence for path in args.files for sentence in m2.read_m2(path) if sentence.source]
    for name, part in zip(("train", "valid"), hold_out(sentences, VALID_EVERY, MAX_VALID), strict=True):
        write_lines(args.out / f"{name}.noisy", (plain(" ".join(sentence.source)) for sentence in part))
        write_lines(args.out / f"{name}.clean", (plain(" ".join(m2.corrected(sentence))) for sentence in part))
        sys.stdout.write(f"{name}: {len(part):,} sentences\n")


def source(args: argparse.Namespace) -> None:
    tokens = [" ".join(sentence.source) for sentence in m2.read_m2(args.gold)]
    write_lines(args.out / "test.tokens", tokens)
    write_lines(args.out / "test.noisy", map(plain, tokens))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for command, names in ((split, ["clean", "out"]), (pairs, ["out", "files"]), (source, ["gold", "out"])):
        subparser = commands.add_parser(command.__name__)
        for name in names:
            subparser.add_argument(name, type=Path, nargs="+" if name == "files" else None)
        subparser.set_defaults(run=command)
    return finish(parser, lambda args: args.run(args))


if __name__ == "__main__":
    sys.exit(main())
