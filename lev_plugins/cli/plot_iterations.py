"""``lev-plugins plot iterations``: draw the iterations that outputs of each length take."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from lev_plugins.errors import require
from lev_plugins.plots.figures import check_figures
from lev_plugins.plots.iterations import Decoded, draw, points
from lev_plugins.ranges import at_least
from lev_plugins.traces.log import parse_line, to_pieces

HELP = "draw the number of iterations by the length of the output"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("log", metavar="LOG", type=Path, help="output of fairseq-generate --print-step, decoded by a levt")
    add("--output", metavar="FILE", type=Path, nargs="+", required=True, help="figures to write: .png, .svg or .pdf")
    add("--bins", metavar="N", type=int, default=10, help="at most N points, of nearly as many sentences each")


def run(args: argparse.Namespace) -> int:
    check_figures("--output", args.output)
    at_least(args, 1, "bins")
    with args.log.open("rb") as file:
        decoded = decoded_in(file)
    require(
        bool(decoded),
        f"{args.log} does not say how many iterations a sentence took: run fairseq-generate with --print-step",
    )
    means = points(list(decoded.values()), args.bins)
    draw(means, args.output)
    mean = sum(each.iterations for each in decoded.values()) / len(decoded)
    written = ", ".join(str(path) for path in args.output)
    plural = "s" if len(decoded) > 1 else ""
    sys.stdout.write(f"{written}: {len(decoded):,} sentence{plural}, {mean:.2f} iterations on average\n")
    return 0


def decoded_in(log: Iterable[bytes]) -> dict[int, Decoded]:
    """The best hypothesis of each sentence; the last iteration, which changes nothing, does not count.

    ``P-`` has a score for each piece and for </s>, also where ``H-`` has words, because of --remove-bpe.

    >>> decoded_in([b"H-3\\t-0.5\\tab\\n", b"P-3\\t-1 -2 -3\\n", b"I-3\\t2\\n", b"H-3\\t-0.9\\ta\\n", b"I-3\\t1\\n"])
    {3: Decoded(length=2, iterations=2)}
    """
    lengths: dict[int, int] = {}
    found: dict[int, Decoded] = {}
    for line in filter(None, map(parse_line, log)):
        text = line.text.decode("utf-8", errors="replace")
        if line.kind == "H" and line.number not in lengths:
            lengths[line.number] = len(to_pieces(text.partition("\t")[2]))
        elif line.kind == "P" and line.number in lengths and line.number not in found:
            lengths[line.number] = len(text.split()) - 1
        elif line.kind == "I" and line.number in lengths and line.number not in found and text.isdecimal():
            found[line.number] = Decoded(lengths[line.number], int(text))
    return found
