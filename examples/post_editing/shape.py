"""Print the flags of fairseq-train that give a LevT the shape of a checkpoint, one per line.

python shape.py OUT/levt/checkpoint_best.pt
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lev_plugins.checkpoints import load
from lev_plugins.errors import explained

SIZES = ("layers", "embed_dim", "ffn_embed_dim", "attention_heads")
SWITCHES = ("normalize_before", "learned_pos")


def shape(model: Mapping[str, Any]) -> list[str]:
    """
    >>> narrow = {f"{side}_{name}": 8 for side in ("encoder", "decoder") for name in SIZES}
    >>> shape({**narrow, "encoder_learned_pos": True})[:3]
    ['--encoder-layers 8', '--encoder-embed-dim 8', '--encoder-ffn-embed-dim 8']
    >>> shape({**narrow, "encoder_learned_pos": True})[3:6]
    ['--encoder-attention-heads 8', '--encoder-learned-pos', '--decoder-layers 8']
    """
    flags = []
    for side in ("encoder", "decoder"):
        flags += [f"--{side}-{name} {model[f'{side}_{name}']}" for name in SIZES]
        flags += [f"--{side}-{name}" for name in SWITCHES if model.get(f"{side}_{name}")]
    return [flag.replace("_", "-") for flag in flags]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    try:
        settings = load(parser.parse_args().checkpoint)["cfg"]["model"]
    except Exception as error:
        sys.stderr.write(f"shape.py: error: {explained(error)[1] or error}\n")
        return 2
    sys.stdout.write("".join(f"{flag}\n" for flag in shape(settings)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
