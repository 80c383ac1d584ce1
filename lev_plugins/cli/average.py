"""``lev-plugins average``: average the weights of several checkpoints into one."""

import argparse
import re
import sys
from pathlib import Path

import torch
from fairseq.checkpoint_utils import checkpoint_paths
from torch import Tensor
from tqdm import tqdm

from lev_plugins import checkpoints
from lev_plugins.cli.flags import requires
from lev_plugins.errors import require
from lev_plugins.files import require_new
from lev_plugins.ranges import at_least

# how fairseq names checkpoints
EPOCH = r"checkpoint(\d+)\.pt"
UPDATES = r"checkpoint_\d+_(\d+)\.pt"
BEST_NAME = re.compile(r"checkpoint\.best_(.+)_(-?\d+\.\d+)\.pt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("inputs", metavar="INPUT", nargs="+", type=Path, help="checkpoints, or one folder that contains them")
    add("--output", metavar="FILE", type=Path, required=True, help="file to write, which must not exist")
    selection = parser.add_mutually_exclusive_group()
    selection.add_argument("--last", metavar="N", type=int, help="from a folder: the checkpoints of the last N epochs")
    best = "from a folder: the N best that fairseq's --keep-best-checkpoints kept"
    selection.add_argument("--best", metavar="N", type=int, help=best)
    updates = "with --last: use the checkpoints of --save-interval-updates, not those at the ends of epochs"
    add("--by-updates", action="store_true", help=updates)
    add("--metric", help="with --best: the metric in the file names, if there are several")


def run(args: argparse.Namespace) -> int:
    require_new(args.output, "--output")
    requires(args, "--last", args.last is not None, by_updates=False)
    requires(args, "--best", args.best is not None, metric=None)
    at_least(args, 1, "last", "best")
    paths, folder = args.inputs, args.inputs[0]
    if args.last is None and args.best is None:
        require(not any(path.is_dir() for path in paths), f"{folder} is a folder: add --last N or --best N")
    else:
        require(len(paths) == 1 and folder.is_dir(), "--last and --best choose from one folder: give it as INPUT")
        if args.last is not None:
            paths = last_checkpoints(folder, args.last, args.by_updates)
        else:
            paths = best_checkpoints(folder, args.best, args.metric)
    checkpoints.save(average(paths), args.output)
    sys.stdout.write(f"{args.output} is the average of {' '.join(str(path) for path in paths)}\n")
    return 0


def last_checkpoints(folder: Path, number: int, by_updates: bool) -> list[Path]:
    pattern, name = (UPDATES, "checkpoint_EPOCH_UPDATES.pt") if by_updates else (EPOCH, "checkpointEPOCH.pt")
    paths = checkpoint_paths(str(folder), pattern)  # the newest first
    require(
        len(paths) >= number,
        f"--last {number}, but {folder} has {len(paths)} checkpoints called {name}: use a smaller number"
        + ("" if by_updates else ", or add --by-updates"),
    )
    return [Path(path) for path in reversed(paths[:number])]


def best_checkpoints(folder: Path, number: int, metric: str | None) -> list[Path]:
    matches = {path: match for path in folder.iterdir() if (match := BEST_NAME.fullmatch(path.name))}
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
    state = checkpoints.load(next(iter(values)))
    training = state["cfg"]["checkpoint"] if state.get("cfg") else vars(state["args"])
    sign = 1 if training.get("maximize_best_checkpoint_metric") else -1
    return sorted(values, key=lambda path: sign * values[path])[-number:]


def average(paths: list[Path]) -> checkpoints.Checkpoint:
    """Returns the last checkpoint with the mean of each weight, and without its optimizer state.

    Counters and tables of integers stay those of the last checkpoint.
    """
    total: dict[str, Tensor] = {}
    shapes: dict[str, torch.Size] = {}
    state: checkpoints.Checkpoint = {}
    for path in tqdm(paths, unit="checkpoint", disable=None):  # None: shown on a terminal only
        state = checkpoints.load(path)
        own_shapes = {name: value.shape for name, value in state["model"].items()}
        shapes = shapes or own_shapes
        for name in sorted(shapes.keys() | own_shapes.keys()):
            agree = shapes.get(name) == own_shapes.get(name)
            require(agree, f"{path} and {paths[0]} belong to different models: they differ in {name}")
        for name, value in state["model"].items():
            if value.is_floating_point():
                total[name] = value.double() + total.get(name, 0)
    for name, value in total.items():
        state["model"][name] = (value / len(paths)).to(state["model"][name].dtype)
    return {**state, "last_optimizer_state": None}
