"""A transformer's weights as the start of fairseq's IT or MaskT, whose decoder also predicts how long the output is.

    python peer_start.py TRANSFORMER.pt OUT.pt --positions 1025 1281

The positions that these learn start as the transformer's sinusoids.
"""

import argparse
import sys
from pathlib import Path

import torch
from fairseq.modules import SinusoidalPositionalEmbedding

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish
from lev_plugins import checkpoints

LENGTHS = 256  # that fairseq's models tell apart
DEVIATION = 0.02  # of weights that --apply-bert-init draws
PAD = 1  # id of <pad>; fairseq counts positions from the next one


def start(transformer: str, output: str, positions: dict[str, int]) -> None:
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
    most = "maximum tokens that IT and MaskT read, and that they write"
    parser.add_argument("--positions", type=int, nargs=2, metavar="N", required=True, help=most)

    def run(args: argparse.Namespace) -> None:
        start(args.transformer, args.output, dict(zip(("encoder", "decoder"), args.positions, strict=True)))

    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
