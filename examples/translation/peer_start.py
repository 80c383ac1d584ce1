"""A transformer's weights as the start of fairseq's IT or MaskT, whose decoder also predicts how long the output is.

python peer_start.py TRANSFORMER.pt OUT.pt
"""

import argparse
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish
from lev_plugins import checkpoints

LENGTHS = 256  # that fairseq's models tell apart
DEVIATION = 0.02  # of weights that --apply-bert-init draws


def start(transformer: str, output: str) -> None:
    state = checkpoints.load(transformer)
    width = state["model"]["decoder.embed_tokens.weight"].size(1)
    lengths = torch.empty(LENGTHS, width).normal_(0, DEVIATION, generator=torch.Generator().manual_seed(1))
    weights = {**state["model"], "decoder.embed_length.weight": lengths}
    checkpoints.save({**state, "model": weights, "last_optimizer_state": None}, output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("transformer")
    parser.add_argument("output")
    sys.exit(finish(parser, lambda args: start(args.transformer, args.output)))
