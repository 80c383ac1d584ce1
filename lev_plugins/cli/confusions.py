"""``lev-plugins confusions``: learn typical confusions from noisy and clean text, for ``lev-plugins noise``."""

import argparse
from itertools import zip_longest
from pathlib import Path

from lev_plugins.cli import streams
from lev_plugins.errors import UserError, require
from lev_plugins.noise.confusions import CONFUSION_UNITS, write_table
from lev_plugins.noise.learning import Learner
from lev_plugins.ranges import at_least
from lev_plugins.text.lines import read_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("noisy", metavar="NOISY", type=Path, help="noisy text, parallel to CLEAN line by line")
    add("clean", metavar="CLEAN", type=Path, help="clean text")
    add("--unit", choices=CONFUSION_UNITS, default="character", help="unit that is confused (default: character)")
    add("--longest", metavar="N", type=int, default=3, help="longest confusion, in units (default: 3)")
    add("--min-count", metavar="N", type=int, default=2, help="ignore confusions that occur less often (default: 2)")


def run(args: argparse.Namespace) -> int:
    at_least(args, 1, "longest", "min_count")
    require(
        args.clean.is_file() or not args.clean.exists(),
        f"CLEAN {args.clean} is read twice, so it must be a file, not a pipe: write the text to a file first",
    )
    learner = Learner(args.unit, args.longest)
    for number, (noisy, clean) in enumerate(zip_longest(read_lines(args.noisy), read_lines(args.clean)), 1):
        if noisy is None or clean is None:
            ended, longer = (args.noisy, args.clean) if noisy is None else (args.clean, args.noisy)
            raise UserError(
                f"NOISY and CLEAN must have the same number of lines, but {ended} has {number - 1} and {longer} more"
            )
        learner.learn(clean, noisy)
    for clean in read_lines(args.clean):
        learner.count(clean)
    table = learner.table(args.min_count)
    require(
        bool(table.confusions),
        f"{args.noisy} and {args.clean} have no confusion of at most {args.longest} {args.unit}s that occurs "
        f"{args.min_count} times: use more text, or a smaller --min-count",
    )
    return streams.write_records(line.encode("utf-8") for line in write_table(table))
