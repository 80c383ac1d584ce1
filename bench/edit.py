#!/usr/bin/env python3
"""An editor's graphs of 32 bits and of 8 bits, or on a GPU: first edit, memory, speed, and whether edits agree.

Each runs in a process of its own, on one core, and reports processor time, so that other programs do not matter.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lev_plugins
from bench import timing
from lev_plugins.text.lines import read_lines

ENGINES = ("graphs", "graphs, 8 bits")
ON_GPU = ("graphs", "GPU")
BATCH, GPU_BATCH = 64, 512  # lines
SINGLE = 300  # lines that are also edited one by one
TYPO = "I beleive it.\n"


def first_edit(folder: Path, engine: str) -> dict[str, float]:
    """Measures the command on one sentence with a typo."""
    command = [sys.executable, "-m", "lev_plugins", "edit", str(folder)]
    command += ["--device", "cuda"] if engine == "GPU" else []
    command += ["--cpu-int8"] if engine.endswith("8 bits") else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=TYPO, text=True, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"first_edit_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def measure(folder: Path, lines: list[str], engine: str) -> dict[str, Any]:
    """Measures loaded editors in this process."""
    device = torch.device("cuda" if engine == "GPU" else "cpu")
    options = lev_plugins.EditOptions(cpu_int8=engine.endswith("8 bits"), device=device.type)
    editor = lev_plugins.load(folder, options=options)
    batch = GPU_BATCH if engine == "GPU" else BATCH
    editor.edit(lines[:batch])
    clock, seconds, edits = timing.Clock(device), 0.0, list[Any]()
    single = [clock.time(partial(editor.edit, [line]))[0] for line in lines[:SINGLE]]
    for first in range(0, len(lines), batch):
        time, texts = clock.time(partial(editor.edit, lines[first : first + batch]))
        edits += [[(edit.start, edit.end, edit.replacement) for edit in text.edits] for text in texts]
        seconds += time
    return {
        "lines_per_second": len(lines) / seconds,
        "p50_milliseconds": 1000 * float(np.median(single)),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "edits": edits,
    }


def in_new_process(folder: Path, args: argparse.Namespace, engine: str) -> dict[str, Any]:
    command = [sys.executable, __file__, str(folder), str(args.text), "--lines", str(args.lines), "--engine", engine]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    return {**first_edit(folder, engine), **json.loads(output)}


def main(arguments: list[str] | None = None) -> None:
    flags = timing.parser(__doc__)
    flags.add_argument("folder", metavar="FOLDER", type=Path, help="an editor with graphs, from lev-plugins export")
    flags.add_argument("text", metavar="TEXT", type=Path, help="lines to edit")
    flags.add_argument("--lines", metavar="N", type=int, default=1000, help="use the first N lines (default: 1000)")
    flags.add_argument("--engine", choices=(*ENGINES, "GPU"), help=argparse.SUPPRESS)
    args = flags.parse_args(arguments)
    args.lines = 20 if args.quick else args.lines
    if args.engine:
        lines = [line for _, line in zip(range(args.lines), read_lines(args.text), strict=False)]
        sys.stdout.write(json.dumps(measure(args.folder, lines, args.engine)))
        return
    engines = ON_GPU if args.device == "cuda" else ENGINES
    results = {name: in_new_process(args.folder, args, name) for name in engines}
    expected, rows = results["graphs"]["edits"], []
    for name, line in results.items():
        line["lines_edited_otherwise"] = sum(a != b for a, b in zip(expected, line.pop("edits"), strict=True))
        rows.append([name, *(f"{line[key]:.1f}" for key in list(line)[:-1]), line["lines_edited_otherwise"]])
    titles = ["engine", "first edit, s", "lines/s", "one line, ms", "memory, MiB", "lines edited otherwise"]
    results = {"machine": timing.machine(torch.device(args.device)), "lines": args.lines, "editing": results}
    timing.report(results, timing.table(titles, rows), args.out)


if __name__ == "__main__":
    timing.run(main)
