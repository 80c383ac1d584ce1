"""``lev-plugins average``: the mean of several checkpoints' weights, as one checkpoint to decode with."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from lev_plugins import checkpoints
from lev_plugins.errors import require
from lev_plugins.ranges import at_least

# how fairseq names checkpoints
EPOCH = re.compile(r"checkpoint(\d+)\.pt")
UPDATES = re.compile(r"checkpoint_\d+_(\d+)\.pt")
BEST = re.compile(r"checkpoint\.best_(.+)_(-?\d+\.\d+)\.pt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", metavar="INPUT", nargs="+", type=Path, help="checkpoints, or one folder of them")
    parser.add_argument("--output", metavar="FILE", type=Path, required=True, help="where to write the result")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--last", metavar="N", type=int, help="of a folder: the N checkpoints of the last epochs")
    chosen.add_argument(
        "--best", metavar="N", type=int, help="of a folder: the N best kept by fairseq's --keep-best-checkpoints"
    )
    parser.add_argument(
        "--by-updates",
        action="store_true",
        help="with --last: those written by --save-interval-updates, not those at the ends of epochs",
    )
    parser.add_argument("--metric", help="with --best: the metric in the file names, where there are several")


def run(args: argparse.Namespace) -> int:
    require(not args.output.is_dir(), f"--output {args.output} is a folder: name a file")
    require(args.last is not None or not args.by_updates, "--by-updates goes with --last")
    require(args.best is not None or args.metric is None, "--metric goes with --best")
    paths = choose(args)
    checkpoints.save(average(paths), args.output)
    sys.stdout.write(f"{args.output} is the average of {' '.join(str(path) for path in paths)}\n")
    return 0


def choose(args: argparse.Namespace) -> list[Path]:
    """The files to average; the last of them gives everything that is no weight."""
    folders = [path for path in args.inputs if path.is_dir()]
    if args.last is None and args.best is None:
        require(not folders, f"{folders[0] if folders else ''} is a folder: say --last N or --best N")
        return list(args.inputs)
    at_least(args, 1, "last", "best")
    flag, number = ("--last", args.last) if args.best is None else ("--best", args.best)
    require(len(args.inputs) == 1 and bool(folders), f"{flag} chooses from one folder, but INPUT is no such thing")
    if args.best is not None:
        return best(folders[0], number, args.metric)
    return last(folders[0], number, args.by_updates)


def last(folder: Path, number: int, by_updates: bool) -> list[Path]:
    pattern, name = (UPDATES, "checkpoint_EPOCH_UPDATES.pt") if by_updates else (EPOCH, "checkpointEPOCH.pt")
    found = {path: int(match[1]) for path in folder.iterdir() if (match := pattern.fullmatch(path.name))}
    require(
        len(found) >= number,
        f"--last {number}, but {folder} has {len(found)} checkpoints called {name}: take a smaller number"
        + ("" if by_updates else ", or --by-updates"),
    )
    return sorted(found, key=lambda path: found[path])[-number:]


def best(folder: Path, number: int, metric: str | None) -> list[Path]:
    matches = {path: match for path in folder.iterdir() if (match := BEST.fullmatch(path.name))}
    metrics = sorted({match[1] for match in matches.values()})
    require(
        metric is not None or len(metrics) <= 1,
        f"{folder} has the best checkpoints by {', '.join(metrics)}: choose with --metric",
    )
    metric = metric or "".join(metrics)
    found = {path: float(match[2]) for path, match in matches.items() if match[1] == metric}
    require(
        len(found) >= number,
        f"--best {number}, but {folder} has {len(found)} checkpoints called "
        f"checkpoint.best_{metric or 'METRIC'}_VALUE.pt: take a smaller number, or train with --keep-best-checkpoints",
    )
    sign = 1 if higher_is_better(next(iter(found))) else -1
    return sorted(found, key=lambda path: sign * found[path])[-number:]


def higher_is_better(path: Path) -> bool:
    """What the training thought of its metric: --maximize-best-checkpoint-metric."""
    state = checkpoints.load(path)
    if state.get("cfg"):
        return bool(state["cfg"]["checkpoint"]["maximize_best_checkpoint_metric"])
    return bool(getattr(state.get("args"), "maximize_best_checkpoint_metric", False))


def average(paths: list[Path]) -> dict[str, Any]:
    """The last checkpoint with the mean of all weights, and without what only its training could go on with."""
    total: dict[str, Tensor] = {}
    state: dict[str, Any] = {}
    for path in progress(paths):
        state = checkpoints.load(path)
        check_same(total, state["model"], paths[0], path)
        for name, value in state["model"].items():
            total[name] = value.double() + total[name] if name in total and adds_up(value) else widen(value)
    weights = {
        name: (total[name] / len(paths)).to(value.dtype) if adds_up(value) else value
        for name, value in state["model"].items()
    }
    return {**state, "model": weights, "last_optimizer_state": None}


def adds_up(value: Tensor) -> bool:
    """Weights have a mean; counters and tables of integers are taken from the last checkpoint."""
    return torch.is_floating_point(value)


def widen(value: Tensor) -> Tensor:
    return value.double() if adds_up(value) else value


def check_same(total: dict[str, Tensor], model: dict[str, Tensor], first: Path, path: Path) -> None:
    if not total:
        return
    odd = sorted(total.keys() ^ model.keys())
    require(not odd, f"{path} and {first} are not of one model: only one of them has {odd[0] if odd else ''}")
    for name, value in model.items():
        ours, theirs = tuple(total[name].shape), tuple(value.shape)
        require(ours == theirs, f"{path} and {first} are not of one model: {name} is {theirs} and {ours}")


def progress(paths: list[Path]) -> Iterable[Path]:
    return tqdm(paths, unit="checkpoint", disable=None)  # None: shown on a terminal only
