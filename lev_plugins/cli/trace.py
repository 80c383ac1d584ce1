"""``lev-plugins trace LOG``: show how sentences were edited in each iteration."""

import argparse
import heapq
import os
import sys
from contextlib import nullcontext

from lev_plugins.cli import streams
from lev_plugins.cli.flags import RemovedFlag
from lev_plugins.errors import require
from lev_plugins.ranges import at_least
from lev_plugins.traces.log import Log
from lev_plugins.traces.rows import layout, sentencepiece, separate
from lev_plugins.traces.terminal import COLOUR, PLAIN, trace_lines

MAX_LISTED = 5  # of the sentences that are left out
SPACINGS = {"none": separate, "sentencepiece": sentencepiece}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("log", metavar="LOG", nargs="?", default="-", help="log of fairseq-generate (default: standard input)")
    only = "show only these sentences, by the number in S-NUMBER"
    add("--select", metavar="ID,...", action="append", help=only)
    add("--first", metavar="N", type=int, help="show only the first N of them, in input order")
    only = "show only sentences in which an iteration changed words of a draft or of an earlier iteration"
    add("--changed", action="store_true", help=only)
    add("--remove-bpe", choices=list(SPACINGS), default="none", help="how to join pieces into words")
    when = "when to use colours (default auto: on a terminal, unless NO_COLOR is set)"
    add("--color", choices=["auto", "always", "never"], help=when)
    page = "print the trace with --color always, and let a program such as aha make a page of it"
    add("--html", action=RemovedFlag, const=page)


def run(args: argparse.Namespace) -> int:
    numbers = sentence_numbers(args.select) if args.select else None
    at_least(args, 1, "first")
    piped = args.log == "-"
    require(
        not (piped and sys.stdin.isatty()),
        "LOG is missing: name a file, or pipe the output of fairseq-generate into trace",
    )
    log = Log("standard input" if piped else args.log)
    with nullcontext(sys.stdin.buffer) if piped else open(args.log, "rb") as file:
        complete = log.read(file, numbers)
        selection = (sentence for sentence in complete if sentence.changed() or not args.changed)
        # in input order, whatever the order of the log; only selected sentences are held in memory
        limit = sys.maxsize if args.first is None else args.first
        sentences = heapq.nsmallest(limit, selection, key=lambda sentence: sentence.number)
    log.check()
    require(not log.missing, f"--select {min(log.missing, default=0)}: {log.name} has no such sentence")
    if incomplete := sorted(log.incomplete):
        names = ", ".join([*map(str, incomplete[:MAX_LISTED]), *(["..."] if incomplete[MAX_LISTED:] else [])])
        number = f"{len(incomplete):,} of {log.sentences:,} sentences"
        warn(f"{log.name}: {number} left out, because their history is incomplete ({names})")
    if not sentences and args.changed:
        warn("nothing to show: no iteration changed existing words (--changed)")
    blocks = (block for sentence in sentences for block in layout(sentence, SPACINGS[args.remove_bpe]))
    lines = trace_lines(blocks, COLOUR if in_colour(args.color) else PLAIN)
    # characters that the terminal lacks are written as numbers
    return streams.write_records(f"{line}\n".encode(sys.stdout.encoding, "backslashreplace") for line in lines)


def sentence_numbers(lists: list[str]) -> set[int]:
    """
    >>> sorted(sentence_numbers(["3,1", "12"]))
    [1, 3, 12]
    """
    parts = [part.strip() for text in lists for part in text.split(",")]
    for part in parts:
        require(part.isdecimal(), f"--select must be sentence numbers, such as 3,17, but {part!r} is not a number")
    return {int(part) for part in parts}


def warn(text: str) -> None:
    sys.stderr.write(f"lev-plugins: {text}\n")


def in_colour(when: str | None) -> bool:
    """Returns whether to use colours: as --color says, or else by the rules of https://no-color.org."""
    if when in ("always", "never"):
        return when == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
