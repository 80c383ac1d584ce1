#!/usr/bin/env python3
"""Reads logs of ``fairseq-train --log-format json``: words per second, share of the time without an update, memory.

The first half of the updates is left out: caches are filled there. Peak memory is that of the GPU, from its free rest.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import timing
from lev_plugins.text.lines import read_lines
from lev_plugins.utils.errors import require

ENTRY = re.compile(r"\| train_inner \| (\{.*\})$")
TITLES = ["system", "words/s", "updates", "not in an update", "peak memory, GB"]


def measured(log: Path, total: float) -> list[object]:
    """Returns a row of the table; ``total``: gigabytes of the GPU, 0 without one."""
    entries = [json.loads(match[1]) for line in read_lines(log) if (match := ENTRY.search(line))]
    require(len(entries) > 1, f"{log} has {len(entries)} lines of train_inner, but must have two or more")
    entries = entries[len(entries) // 2 :]
    rates, free = ([float(entry.get(name, 0)) for entry in entries] for name in ("wps", "gb_free"))
    # fairseq rounds both to seconds
    walls, updates = (float(entries[-1][name]) - float(entries[0][name]) for name in ("wall", "train_wall"))
    waiting = f"{max(0.0, 1 - updates / walls):.0%}" if walls else ""
    memory = f"{total - min(free):.1f}" if total else ""
    return [
        log.stem.removeprefix("train."),
        f"{sum(rates) / len(rates):,.0f}",
        entries[-1]["num_updates"],
        waiting,
        memory,
    ]


def main(arguments: list[str] | None = None) -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("logs", metavar="LOG", type=Path, nargs="+", help="what fairseq-train printed")
    flags.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    args = flags.parse_args(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    total = torch.cuda.get_device_properties(0).total_memory / 2**30 if device.type == "cuda" else 0.0
    rows = [measured(log, total) for log in args.logs]
    results = {"machine": timing.machine(device), "training": [dict(zip(TITLES, row, strict=True)) for row in rows]}
    timing.report(results, timing.table(TITLES, rows), args.out)


if __name__ == "__main__":
    timing.run(main)
