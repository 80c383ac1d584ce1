"""Convert a transformer's weights into those from which fairseq's IT or MaskT start, which also predict the length.

    python peer_start.py TRANSFORMER.pt OUT.pt --positions 1025 1281

Their learned positions start as the transformer's sinusoids.
"""

import argparse
import sys
from pathlib import Path

import torch
from fairseq.modules import SinusoidalPositionalEmbedding

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish
from lev_plugins.training import checkpoints

LENGTHS = 256  # classes of fairseq's length predictor
DEVIATION = 0.02  # standard deviation of --apply-bert-init
PAD = 1  # id of <pad>; fairseq counts positions from the next one


def convert(transformer: str, output: str, positions: dict[str, int]) -> None:
    state = checkpoints.load(transformer)
    width = state["model"]["decoder.embed_tokens.weight"].size(1)
    lengths = torch.empty(LENGTHS, width).normal_(0, DEVIATION, generator=torch.Generator().manual_seed(1))
    tables = {
        f"{side}.embed_positions.weight": SinusoidalPositionalEmbedding.get_embedding(number + PAD + 1, width, PAD)
        for side, number in positions.items()
    }
    weights = {**tables, **state["model"], "decoder.embed_length.weight": lengths}
    checkpoints.save({**state, "model": weights, "last_optimizer_state": None}, output)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("transformer")
    parser.add_argument("output")
    positions = "maximum tokens of their input and of their output"
    parser.add_argument("--positions", type=int, nargs=2, metavar="N", required=True, help=positions)

    def run(args: argparse.Namespace) -> None:
        convert(args.transformer, args.output, dict(zip(("encoder", "decoder"), args.positions, strict=True)))

    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
