"""``lev-plugins average``: average the weights of several checkpoints into one."""

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
    parser.add_argument(
        "inputs", metavar="INPUT", nargs="+", type=Path, help="checkpoints, or one folder that contains them"
    )
    parser.add_argument("--output", metavar="FILE", type=Path, required=True, help="file to write")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--last", metavar="N", type=int, help="from a folder: the checkpoints of the last N epochs")
    chosen.add_argument(
        "--best", metavar="N", type=int, help="from a folder: the N best that fairseq's --keep-best-checkpoints kept"
    )
    parser.add_argument(
        "--by-updates",
        action="store_true",
        help="with --last: use the checkpoints of --save-interval-updates, not those at the ends of epochs",
    )
    parser.add_argument("--metric", help="with --best: the metric in the file names, if there are several")


def run(args: argparse.Namespace) -> int:
    require(not args.output.is_dir(), f"--output {args.output} is a folder: name a file")
    require(args.last is not None or not args.by_updates, "--by-updates requires --last")
    require(args.best is not None or args.metric is None, "--metric requires --best")
    paths = choose(args)
    checkpoints.save(average(paths), args.output)
    sys.stdout.write(f"{args.output} is the average of {' '.join(str(path) for path in paths)}\n")
    return 0


def choose(args: argparse.Namespace) -> list[Path]:
    """The files to average; everything except weights comes from the last of them."""
    folders = [path for path in args.inputs if path.is_dir()]
    if args.last is None and args.best is None:
        require(not folders, f"{folders[0] if folders else ''} is a folder: add --last N or --best N")
        return list(args.inputs)
    at_least(args, 1, "last", "best")
    flag, number = ("--last", args.last) if args.best is None else ("--best", args.best)
    require(len(args.inputs) == 1 and bool(folders), f"{flag} chooses from one folder: give a single folder as INPUT")
    if args.best is not None:
        return best(folders[0], number, args.metric)
    return last(folders[0], number, args.by_updates)


def last(folder: Path, number: int, by_updates: bool) -> list[Path]:
    pattern, name = (UPDATES, "checkpoint_EPOCH_UPDATES.pt") if by_updates else (EPOCH, "checkpointEPOCH.pt")
    epochs_or_updates = {path: int(match[1]) for path in folder.iterdir() if (match := pattern.fullmatch(path.name))}
    require(
        len(epochs_or_updates) >= number,
        f"--last {number}, but {folder} has {len(epochs_or_updates)} checkpoints called {name}: use a smaller number"
        + ("" if by_updates else ", or add --by-updates"),
    )
    return sorted(epochs_or_updates, key=lambda path: epochs_or_updates[path])[-number:]


def best(folder: Path, number: int, metric: str | None) -> list[Path]:
    matches = {path: match for path in folder.iterdir() if (match := BEST.fullmatch(path.name))}
    metrics = sorted({match[1] for match in matches.values()})
    require(
        metric is not None or len(metrics) <= 1,
        f"{folder} has the best checkpoints by {', '.join(metrics)}: choose with --metric",
    )
    metric = metric or "".join(metrics)
    values = {path: float(match[2]) for path, match in matches.items() if match[1] == metric}
    require(
        len(values) >= number,
        f"--best {number}, but {folder} has {len(values)} checkpoints called "
        f"checkpoint.best_{metric or 'METRIC'}_VALUE.pt: use a smaller number, or train with --keep-best-checkpoints",
    )
    sign = 1 if higher_is_better(next(iter(values))) else -1
    return sorted(values, key=lambda path: sign * values[path])[-number:]


def higher_is_better(path: Path) -> bool:
    """As set in training by --maximize-best-checkpoint-metric."""
    state = checkpoints.load(path)
    if state.get("cfg"):
        return bool(state["cfg"]["checkpoint"]["maximize_best_checkpoint_metric"])
    return bool(getattr(state.get("args"), "maximize_best_checkpoint_metric", False))


def average(paths: list[Path]) -> dict[str, Any]:
    """The last checkpoint with the mean of all weights, and without its optimizer state."""
    total: dict[str, Tensor] = {}
    state: dict[str, Any] = {}
    for number, path in enumerate(progress(paths)):
        state = checkpoints.load(path)
        if number:
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
    odd = sorted(total.keys() ^ model.keys())
    require(not odd, f"{path} and {first} belong to different models: only one of them has {odd[0] if odd else ''}")
    for name, value in model.items():
        ours, theirs = tuple(total[name].shape), tuple(value.shape)
        require(
            ours == theirs,
            f"{path} and {first} belong to different models: {name} is {theirs} in one and {ours} in the other",
        )


def progress(paths: list[Path]) -> Iterable[Path]:
    return tqdm(paths, unit="checkpoint", disable=None)  # None: shown on a terminal only
