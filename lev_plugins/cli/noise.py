"""``lev-plugins noise``: slips of the finger, the pen and the scanner in a text, one line out for each line in."""

from __future__ import annotations

import argparse

from lev_plugins.cli import streams
from lev_plugins.noise import KINDS, NoiseOptions, build_corruption
from lev_plugins.noise.layouts import known_layouts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kind",
        required=True,
        metavar="KIND[:WEIGHT],...",
        help=f"one of {', '.join(KINDS)}; or several, with weights, as in keyboard:2,swap:1",
    )
    parser.add_argument("--word-rate", metavar="P", type=float, help="share of the words that are changed")
    parser.add_argument(
        "--char-rate",
        metavar="P",
        type=float,
        help="with --word-rate: slips by the characters of a changed word, at least one (default: one); without it: "
        "slips by the characters of the text",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="other noise (default: 1)")
    parser.add_argument(
        "--epoch", metavar="N", type=int, default=1, help="what training sees in this epoch (default: 1)"
    )
    parser.add_argument(
        "--layout",
        metavar="NAME",
        default="qwerty",
        help=f"of keyboard: {', '.join(known_layouts())} or a file like theirs (default: qwerty)",
    )
    parser.add_argument(
        "--alphabet",
        metavar="LETTERS",
        help="of random, insert and substitute: the letters to write (default: the script of the letter that is there)",
    )
    parser.add_argument("--confusions", metavar="FILE", help="of confusions: what `lev-plugins confusions` learned")


def run(args: argparse.Namespace) -> int:
    corrupt = build_corruption(
        NoiseOptions(args.kind, args.word_rate, args.char_rate, args.seed, args.layout, args.alphabet, args.confusions)
    )
    return streams.change_lines(lambda text, index: corrupt(text, index, args.epoch))
