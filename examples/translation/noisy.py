"""Noisy parallel decoding (Cho, 2016) of a LevT: the best of several decodings, whose hidden states get noise.

    python noisy.py NUMBER SIGMA ARGUMENTS OF FAIRSEQ-GENERATE

The first of NUMBER decodings has no noise. The others add normal noise of standard deviation SIGMA to the hidden states
that the policies read. Of each sentence, the decoding to which the model gives the highest score is printed.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fairseq_cli.generate import cli_main

from lev_plugins.levt.generator import RefinementGenerator
from lev_plugins.levt.model import LevTDecoder


def add_noise(number: int, sigma: float) -> None:
    """Replaces the constructor of LevT's decoder and the generator's method, so that all models decode with noise."""
    construct, decode = LevTDecoder.__init__, RefinementGenerator.generate
    level = 0.0

    def perturb(module: nn.Module, inputs: Any, states: Tensor) -> Tensor:
        return states + level * torch.randn_like(states)

    def construct_noisy(self: LevTDecoder, *args: Any, **options: Any) -> None:
        construct(self, *args, **options)
        self.norm.register_forward_hook(perturb)  # the policies read its output

    def decode_several(self: RefinementGenerator, *args: Any, **options: Any) -> list[list[dict[str, Any]]]:
        nonlocal level
        decodings = []
        for count in range(number):
            level = sigma if count else 0.0
            decodings.append(decode(self, *args, **options))
        return [max(each, key=lambda nbest: float(nbest[0]["score"])) for each in zip(*decodings, strict=True)]

    LevTDecoder.__init__ = construct_noisy  # type: ignore[method-assign]
    RefinementGenerator.generate = decode_several  # type: ignore[method-assign]


if __name__ == "__main__":
    number, sigma = sys.argv[1:3]
    del sys.argv[1:3]
    add_noise(int(number), float(sigma))
    cli_main()
