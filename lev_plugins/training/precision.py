"""``--cpu-bf16`` (fairseq's --bf16 for training on a CPU), and packed weights for decoding on a CPU.

fairseq supports half precision only on a GPU. Processors with bfloat16 products (flags avx512_bf16 or amx_bf16)
multiply matrices several times faster in bfloat16 than in 32 bits; torch's autocast keeps everything else, including
weights and optimiser, in 32 bits.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from fairseq.criterions import FairseqCriterion
from fairseq.dataclass import FairseqDataclass
from fairseq.models import BaseFairseqModel
from torch import Tensor, nn

from lev_plugins.nn.linear import pack_weights
from lev_plugins.training.batch import Batch
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag

LossSizeLog = tuple[Tensor, int, dict[str, Tensor | float]]  # a batch's loss, sample size and logging output
Criterion = Callable[[nn.Module, Batch], LossSizeLog]


@dataclass
class PrecisionConfig(FairseqDataclass):
    cpu_bf16: bool = flag(
        False,
        "training with --cpu: matrix products in bfloat16, weights in 32 bits; 1.3 to 2.2 times as fast on "
        "processors with avx512_bf16 or amx_bf16, slower on others",
    )


class PrecisionTask:
    """A mixin for tasks with these flags, which comes before fairseq's class."""

    cfg: PrecisionConfig
    building = False

    def build_model(self, cfg: FairseqDataclass | Namespace, from_checkpoint: bool = False) -> BaseFairseqModel:
        self.building = True  # with --eval-bleu, fairseq builds a generator before the weights are read
        try:
            return super().build_model(cfg, from_checkpoint)  # type: ignore[misc]
        finally:
            self.building = False

    def prepare_for_decoding(self, models: Iterable[nn.Module]) -> None:
        """Packs the weights of the models in place, but not while fairseq builds its generator for BLEU scores."""
        if not self.building:
            for model in models:
                pack_weights(model)

    def train_step(
        self, sample: Batch, model: nn.Module, criterion: FairseqCriterion, *args: object, **options: object
    ) -> LossSizeLog:
        loss = in_bfloat16(criterion) if self.cfg.cpu_bf16 else criterion
        return super().train_step(sample, model, loss, *args, **options)  # type: ignore[misc]


def in_bfloat16(criterion: Criterion) -> Criterion:
    """Returns a criterion whose forward pass runs in bfloat16; each gradient has the precision of its tensor."""

    def loss(model: nn.Module, sample: Batch) -> LossSizeLog:
        device = next(model.parameters()).device
        require(device.type == "cpu", "--cpu-bf16 requires --cpu: on a GPU, use --fp16, --bf16 or --amp instead")
        with torch.autocast("cpu", torch.bfloat16):
            return criterion(model, sample)

    return loss
