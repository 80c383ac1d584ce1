"""``lev-plugins trace LOG``: show how sentences were edited in each iteration, as text or as an HTML page."""

from __future__ import annotations

import argparse
import heapq
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from lev_plugins.cli import streams
from lev_plugins.errors import UserError, require
from lev_plugins.files import all_or_nothing
from lev_plugins.ranges import at_least
from lev_plugins.traces import page, terminal
from lev_plugins.traces.log import STEPS, Log, Sentence
from lev_plugins.traces.rows import SPELLINGS, layout

COLOURS = ["auto", "always", "never"]
NAMED = 5  # how many of the sentences left out are listed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "log", metavar="LOG", nargs="?", default="-", help="log of fairseq-generate (default: standard input)"
    )
    parser.add_argument(
        "--html", metavar="OUT.html", type=Path, help="write a self-contained HTML page instead of text"
    )
    parser.add_argument(
        "--select", metavar="ID,...", action="append", help="show only these sentences, by the number in S-NUMBER"
    )
    parser.add_argument("--first", metavar="N", type=int, help="show only the first N of them, in input order")
    parser.add_argument(
        "--changed",
        action="store_true",
        help="show only sentences in which an iteration changed words of a draft or of an earlier iteration",
    )
    parser.add_argument("--remove-bpe", choices=list(SPELLINGS), default="none", help="how to join pieces into words")
    parser.add_argument(
        "--color", choices=COLOURS, help="when to use colours (default auto: on a terminal, unless NO_COLOR is set)"
    )


def run(args: argparse.Namespace) -> int:
    wanted = sentence_numbers(args.select) if args.select else None
    at_least(args, 1, "first")
    require(args.html is None or args.color is None, "--color applies to text: leave it out with --html")
    log = Log("standard input" if args.log == "-" else args.log)
    with opened(args) as file:
        sentences = choose(log.read(file, wanted), args)
    log.check()
    check_wanted(log, wanted or set())
    report_left_out(log)
    if not sentences:
        warn("nothing to show: no iteration changed existing words (--changed)")
    spelling = SPELLINGS[args.remove_bpe]
    blocks = (block for sentence in sentences for block in layout(sentence, spelling))
    if args.html is None:
        return write_text(terminal.lines(blocks, terminal.COLOUR if in_colour(args.color) else terminal.PLAIN))
    summary = f"{len(sentences):,} of {log.sentences:,} sentences"
    with all_or_nothing(args.html) as out:
        out.writelines(part.encode() for part in page.page(Path(log.name).name, summary, blocks))
    sys.stdout.write(f"{args.html} shows {summary} of {log.name}\n")
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


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[BinaryIO]:
    if args.log == "-":
        require(
            not sys.stdin.isatty(), "LOG is missing: name a file, or pipe the output of fairseq-generate into trace"
        )
        yield sys.stdin.buffer
        return
    with open(args.log, "rb") as file:
        same = args.html is not None and args.html.exists() and args.html.samefile(args.log)
        require(not same, f"--html {args.html} is the log itself: choose another file")
        yield file


def choose(sentences: Iterable[Sentence], args: argparse.Namespace) -> list[Sentence]:
    """In input order, whatever the order of the log; only chosen sentences are held in memory."""
    if args.changed:
        sentences = filter(changed, sentences)
    if args.first is not None:
        return heapq.nsmallest(args.first, sentences, key=lambda sentence: sentence.number)
    return sorted(sentences, key=lambda sentence: sentence.number)


def changed(sentence: Sentence) -> bool:
    """Whether existing words were edited, if only by inserting others between them.

    >>> from lev_plugins.traces.log import Hypothesis
    >>> from_nothing = [[], [], ["<plh>"], ["a"]]
    >>> once_more = [*from_nothing, ["a"], ["a", "<plh>"], ["a", "b"]]
    >>> [changed(Sentence(0, "x", None, [Hypothesis(0.0, "", states)])) for states in (from_nothing, once_more)]
    [False, True]
    """
    starts = [hypothesis.states[::STEPS] for hypothesis in sentence.hypotheses]
    return any(given and given != left for states in starts for given, left in pairwise(states))


def check_wanted(log: Log, wanted: set[int]) -> None:
    if log.missing:
        raise UserError(
            f"--select {min(log.missing)}: {log.name} has no such sentence; its sentences are {log.first} to {log.last}"
        )
    cut = wanted.intersection(log.incomplete)
    if cut:
        raise UserError(f"--select {min(cut)}: the history of this sentence is incomplete in {log.name}")


def report_left_out(log: Log) -> None:
    if log.incomplete:
        names = ", ".join([*map(str, log.incomplete[:NAMED]), *(["..."] if log.incomplete[NAMED:] else [])])
        number = f"{len(log.incomplete):,} of {log.sentences:,} sentences"
        warn(f"{log.name}: {number} left out, because their history is incomplete ({names})")


def warn(text: str) -> None:
    sys.stderr.write(f"lev-plugins: {text}\n")


def in_colour(when: str | None) -> bool:
    """As the flag says, or by the rules of https://no-color.org."""
    if when in ("always", "never"):
        return when == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write_text(lines: Iterable[str]) -> int:
    """Characters that the terminal lacks are written as numbers. Returns the exit status."""
    encoding = sys.stdout.encoding
    return streams.write(f"{line}\n".encode(encoding, "backslashreplace") for line in lines)
