"""``lev-plugins confusions``: learn from pairs of texts what is taken for what, for ``lev-plugins noise``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from lev_plugins.cli import streams
from lev_plugins.errors import UserError, require
from lev_plugins.noise.confusions import UNITS, write_table
from lev_plugins.noise.learning import Learner
from lev_plugins.ranges import at_least
from lev_plugins.text.lines import read_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("noisy", metavar="NOISY", type=Path, help="noisy text, a line for each line of CLEAN")
    parser.add_argument("clean", metavar="CLEAN", type=Path, help="clean text")
    parser.add_argument("--unit", choices=UNITS, default="character", help="what is confused (default: character)")
    parser.add_argument(
        "--longest", metavar="N", type=int, default=3, help="the most units that are confused together (default: 3)"
    )
    parser.add_argument(
        "--min-count", metavar="N", type=int, default=2, help="leave out what happened less often (default: 2)"
    )


def run(args: argparse.Namespace) -> int:
    at_least(args, 1, "longest", "min_count")
    learner = Learner(args.unit, args.longest)
    for number, (noisy, clean) in enumerate(pairs(args.noisy, args.clean), 1):
        try:
            learner.learn(clean, noisy)
        except UserError as error:
            raise UserError(f"line {number} of {args.noisy} and {args.clean}: {error}") from error
    for clean in read_lines(args.clean):
        learner.count(clean)
    table = learner.table(args.min_count)
    require(
        bool(table.confusions),
        f"{args.noisy} and {args.clean} have no confusion of at most {args.longest} {args.unit}s that happens "
        f"{args.min_count} times: give more text, or a smaller --min-count",
    )
    return streams.write(line.encode("utf-8") for line in write_table(table))


def pairs(noisy: Path, clean: Path) -> Iterator[tuple[str, str]]:
    counts = [0, 0]
    for pair in zip_longest(read_lines(noisy), read_lines(clean)):
        counts = [count + (line is not None) for count, line in zip(counts, pair, strict=True)]
        if counts[0] == counts[1]:
            yield pair
    require(
        counts[0] == counts[1],
        f"line i of NOISY belongs to line i of CLEAN, but {noisy} has {counts[0]} lines and {clean} has {counts[1]}",
    )
