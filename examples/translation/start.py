"""Give the policies of an imported levt decoder blocks of their own, which begin as copies of the shared ones.

lev-plugins import-levt TEACHER.pt TEACHER-LEVT.pt
python start.py TEACHER-LEVT.pt OUT.pt --share-weights none
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish
from lev_plugins.levt.config import SHARING
from lev_plugins.training import checkpoints
from lev_plugins.utils.errors import require
from lev_plugins.utils.files import require_new

SHARED = "decoder.stacks.shared."


def separate(state: checkpoints.Checkpoint, share_weights: str) -> checkpoints.Checkpoint:
    """Returns a checkpoint whose policies share decoder blocks as ``levt.config.SHARING`` says."""
    cfg, weights = state["cfg"], state["model"]
    blocks = {key.removeprefix(SHARED): value for key, value in weights.items() if key.startswith(SHARED)}
    require(
        cfg["model"]["share_weights"] == "all" and bool(blocks),
        f"--share-weights {share_weights} is for a levt whose policies share all blocks, which this one does not",
    )
    stacks = {f"decoder.stacks.{stack}." for stack in SHARING[share_weights].values()}
    separated = {key: value for key, value in weights.items() if not key.startswith(SHARED)}
    separated |= {stack + key: value for stack in stacks for key, value in blocks.items()}
    return {**state, "cfg": {**cfg, "model": {**cfg["model"], "share_weights": share_weights}}, "model": separated}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("input", metavar="TEACHER-LEVT.pt")
    parser.add_argument("output", metavar="OUT.pt", type=Path)
    parser.add_argument("--share-weights", choices=SHARING, required=True, help="the policies that share blocks")

    def run(args: argparse.Namespace) -> None:
        require_new(args.output, "OUT.pt")
        checkpoints.save(separate(checkpoints.load(args.input), args.share_weights), args.output)

    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
