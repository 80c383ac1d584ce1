"""Noisy parallel decoding (Cho, 2016) of a LevT: the best of several decodings, whose hidden states get noise.

    python noisy.py NUMBER SIGMA ARGUMENTS OF FAIRSEQ-GENERATE

The first of NUMBER decodings has no noise. The others add normal noise of standard deviation SIGMA to what the policies
read. The best has the highest score, which is the model's own.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fairseq_cli.generate import cli_main

from lev_plugins.generators.generator import RefinementGenerator
from lev_plugins.models.levt_stacks import LevTDecoder


def add_noise(number: int, sigma: float) -> None:
    """To all decoders, and several decodings to all generators."""
    built, once = LevTDecoder.__init__, RefinementGenerator.generate
    levels = [0.0]

    def noisy(module: nn.Module, read: Any, states: Tensor) -> Tensor:
        return states + levels[-1] * torch.randn_like(states)

    def build(self: LevTDecoder, *args: Any, **options: Any) -> None:
        built(self, *args, **options)
        self.norm.register_forward_hook(noisy)  # its output, or what passes it, is what the policies read

    def generate(self: RefinementGenerator, *args: Any, **options: Any) -> list[list[dict[str, Any]]]:
        found = []
        for count in range(number):
            levels[-1] = sigma if count else 0.0
            found.append(once(self, *args, **options))
        return [max(each, key=lambda hypotheses: float(hypotheses[0]["score"])) for each in zip(*found, strict=True)]

    LevTDecoder.__init__, RefinementGenerator.generate = build, generate  # type: ignore[method-assign]


if __name__ == "__main__":
    number, sigma = sys.argv[1:3]
    del sys.argv[1:3]
    add_noise(int(number), float(sigma))
    cli_main()
