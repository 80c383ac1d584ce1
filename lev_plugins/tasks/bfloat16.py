"""``--cpu-bf16``: what fairseq's --bf16 is on a GPU, for training on a CPU.

fairseq trains in half precision on a GPU only. Processors with bfloat16 products (avx512_bf16 or amx_bf16 among their
flags) multiply matrices in it several times faster than in 32 bits; torch's autocast leaves all else, the weights and
the optimiser in 32 bits.
"""

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq.dataclass import FairseqDataclass

from lev_plugins.errors import require

logger = logging.getLogger(__name__)


@dataclass
class PrecisionConfig(FairseqDataclass):
    cpu_bf16: bool = field(
        default=False,
        metadata={
            "help": "training with --cpu: matrix products in bfloat16, weights in 32 bits; 1.3 to 2.2 times as fast "
            "where the processor can (avx512_bf16, amx_bf16), slower elsewhere"
        },
    )


class PrecisionTask:
    """To be inherited before a fairseq task."""

    cfg: Any

    def train_step(self, sample: Any, model: Any, criterion: Any, *more: Any, **named: Any) -> Any:
        loss = in_bfloat16(criterion) if self.cfg.cpu_bf16 else criterion
        return super().train_step(sample, model, loss, *more, **named)  # type: ignore[misc]


def in_bfloat16(criterion: Callable[..., Any]) -> Callable[..., Any]:
    """The forward pass only: gradients follow the precision of what they are the gradients of."""

    def loss(model: Any, sample: Any) -> Any:
        device = next(model.parameters()).device
        require(
            device.type == "cpu", "--cpu-bf16 is for --cpu: on a GPU, leave it out and take --fp16, --bf16 or --amp"
        )
        warn_of_slow_processor()
        with torch.autocast("cpu", torch.bfloat16):
            return criterion(model, sample)

    return loss


@functools.cache
def warn_of_slow_processor() -> None:
    fast = [getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")]
    if not any(ask() for ask in fast if ask):
        logger.warning("this processor has no bfloat16 products: training is likely to be faster without --cpu-bf16")
