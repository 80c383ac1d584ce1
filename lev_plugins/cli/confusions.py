"""``lev-plugins confusions``: learn typical confusions from noisy and clean text, for ``lev-plugins noise``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from lev_plugins.noise.confusions import CONFUSION_UNITS, ConfusionTable, write_table
from lev_plugins.noise.learning import Learner
from lev_plugins.text.lines import nonempty_lines, require_parallel
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import at_least


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("noisy", metavar="NOISY", type=Path, help="noisy text, parallel to CLEAN line by line")
    add("clean", metavar="CLEAN", type=Path, help="clean text")
    add("--unit", choices=CONFUSION_UNITS, default="character", help="unit that is confused (default: character)")
    add("--longest", metavar="N", type=int, default=3, help="longest confusion, in units (default: 3)")
    add("--min-count", metavar="N", type=int, default=2, help="ignore confusions that occur less often (default: 2)")


def run(args: argparse.Namespace) -> int:
    at_least(args, 1, "longest", "min_count")
    noisy, clean = nonempty_lines(args.noisy), nonempty_lines(args.clean)
    require_parallel(args.noisy, len(noisy), args.clean, len(clean))
    table = learned_table([*zip(noisy, clean, strict=True)], args.unit, args.longest, args.min_count)
    require(
        bool(table.confusions),
        f"{args.noisy} and {args.clean} have no confusion of at most {args.longest} {args.unit}s that occurs "
        f"{args.min_count} times: use more text, or a smaller --min-count",
    )
    sys.stdout.buffer.writelines(line.encode("utf-8") for line in write_table(table))
    return 0


def learned_table(pairs: Sequence[tuple[str, str]], unit: str, longest: int, min_count: int) -> ConfusionTable:
    """Returns the confusions in pairs of noisy and clean text that occur at least ``min_count`` times."""
    learner = Learner(unit, longest)
    for noisy, clean in tqdm(pairs, unit=" lines", disable=None):  # None: shown on a terminal only
        learner.learn(clean, noisy)
    for _, clean in pairs:  # after all pairs are learned: only what some pair confuses is counted
        learner.count(clean)
    return learner.table(min_count)
