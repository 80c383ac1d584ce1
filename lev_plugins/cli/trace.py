"""``lev-plugins trace LOG``: show how sentences were edited in each iteration."""

import argparse
import os
import sys
from contextlib import nullcontext

from lev_plugins.cli.log import Log
from lev_plugins.cli.shown import COLOUR, PLAIN, sentencepiece, separate, trace_blocks
from lev_plugins.utils.errors import require

SPACINGS = {"none": separate, "sentencepiece": sentencepiece}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("log", metavar="LOG", nargs="?", default="-", help="log of fairseq-generate (default: standard input)")
    only = "show only these sentences, by the number in S-NUMBER"
    add("--select", metavar="ID,...", action="append", default=[], help=only)
    add("--remove-bpe", choices=list(SPACINGS), default="none", help="how to join pieces into words")
    when = "when to use colours (default auto: on a terminal, unless NO_COLOR is set)"
    add("--color", choices=["auto", "always", "never"], help=when)


def run(args: argparse.Namespace) -> int:
    numbers = sentence_numbers(args.select)
    piped = args.log == "-"
    require(
        not (piped and sys.stdin.isatty()),
        "LOG is missing: name a file, or pipe the output of fairseq-generate into trace",
    )
    log = Log("standard input" if piped else args.log)
    with nullcontext(sys.stdin.buffer) if piped else open(args.log, "rb") as file:
        sentences = sorted(log.read(file, numbers or None), key=lambda sentence: sentence.number)
    log.check()
    require(not log.missing, f"--select {min(log.missing, default=0)}: {log.name} has no such sentence")
    if log.incomplete:
        number = f"{len(log.incomplete):,} of {log.sentences:,} sentences"
        sys.stderr.write(f"lev-plugins: {log.name}: {number} left out, because their history is incomplete\n")
    style = COLOUR if in_colour(args.color) else PLAIN
    blocks = (block for sentence in sentences for block in trace_blocks(sentence, SPACINGS[args.remove_bpe], style))
    sys.stdout.writelines(f"\n{block}" if number else block for number, block in enumerate(blocks))
    return 0


def sentence_numbers(lists: list[str]) -> set[int]:
    """
    >>> sorted(sentence_numbers(["3,1", "12"]))
    [1, 3, 12]
    """
    parts = [part.strip() for text in lists for part in text.split(",")]
    for part in parts:
        require(part.isdecimal(), f"--select must be sentence numbers, such as 3,17, but {part!r} is not a number")
    return {int(part) for part in parts}


def in_colour(when: str | None) -> bool:
    """Returns whether to use colours: as --color says, or else by the rules of https://no-color.org."""
    if when in ("always", "never"):
        return when == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
