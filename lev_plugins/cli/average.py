"""``lev-plugins average``: average the weights of several checkpoints into one."""

import argparse
import sys
from pathlib import Path

import torch
from fairseq.checkpoint_utils import checkpoint_paths
from torch import Tensor
from tqdm import tqdm

from lev_plugins.training import checkpoints
from lev_plugins.utils.errors import require
from lev_plugins.utils.files import require_new
from lev_plugins.utils.ranges import at_least

EPOCH = r"checkpoint(\d+)\.pt"  # how fairseq names the checkpoints of epochs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("inputs", metavar="INPUT", nargs="+", type=Path, help="checkpoints, or one folder that contains them")
    add("--output", metavar="FILE", type=Path, required=True, help="file to write, which must not exist")
    add("--last", metavar="N", type=int, help="from a folder: the checkpoints of the last N epochs")


def run(args: argparse.Namespace) -> int:
    require_new(args.output, "--output")
    at_least(args, 1, "last")
    paths, folder = args.inputs, args.inputs[0]
    if args.last is None:
        require(not any(path.is_dir() for path in paths), f"{folder} is a folder: add --last N, or name its files")
    else:
        require(len(paths) == 1 and folder.is_dir(), "--last chooses from one folder: give it as INPUT")
        paths = last_checkpoints(folder, args.last)
    checkpoints.save(average(paths), args.output)
    sys.stdout.write(f"{args.output} is the average of {' '.join(str(path) for path in paths)}\n")
    return 0


def last_checkpoints(folder: Path, number: int) -> list[Path]:
    paths = checkpoint_paths(str(folder), EPOCH)  # the newest first
    says = f"--last {number}, but {folder} has {len(paths)} checkpoints called checkpointEPOCH.pt: use a smaller number"
    require(len(paths) >= number, f"{says}, or name other files")
    return [Path(path) for path in reversed(paths[:number])]


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
