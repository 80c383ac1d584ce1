"""Matrix products in 8 bits, for decoding on a CPU.

Weights are rounded once, with a scale for each row; what is multiplied is rounded for each product, with one scale
for all of it. So the result for a sentence changes a little with the others of its batch.
"""

import warnings
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from lev_plugins.errors import UserError
from lev_plugins.layers.linear import replace_linears

warnings.filterwarnings("ignore", message="torch.quantize_per_tensor")  # deprecated; nothing replaces it on CPUs yet

SMALLEST = 50_000  # weights; a smaller matrix is multiplied faster in 32 bits, if it has few rows to multiply with
LEVELS = 127
TINY = 1e-12  # in place of the largest weight of a row of zeros


class Int8Linear(nn.Module):
    """In place of an ``nn.Linear``. Its weights in 32 bits stay, for code that reads them."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None):
        super().__init__()
        self.weight, self.bias = weight, bias
        self.out_features, self.in_features = weight.shape
        exact = weight.detach().float()
        scales = exact.abs().amax(1).clamp(min=TINY).double() / LEVELS
        zeros = torch.zeros(len(scales), dtype=torch.long)
        try:
            rounded = torch.quantize_per_channel(exact, scales, zeros, 0, torch.qint8)
            self.packed: Any = torch.ops.quantized.linear_prepack(
                rounded, None if bias is None else bias.detach().float()
            )
        except (RuntimeError, AttributeError) as error:
            reason = str(error).splitlines()[0]
            raise UserError(
                f"this torch has no products in 8 bits for this processor ({reason}): leave out --cpu-int8"
            ) from error

    def forward(self, x: Tensor) -> Tensor:
        """(..., I) -> (..., O)"""
        return torch.ops.quantized.linear_dynamic(x.contiguous(), self.packed, reduce_range=overflows())


@cache
def overflows() -> bool:
    """Whether this processor adds up products in 16 bits, as those without vnni do: half of the range must then do."""
    ones = torch.ones(1, 64)
    packed = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(ones, 1 / LEVELS, 0, torch.qint8), None)
    total = torch.ops.quantized.linear_dynamic(ones, packed, reduce_range=False)
    return bool(total.sub(ones.size(1)).abs().gt(1).any())


def in_8_bits(model: nn.Module) -> None:
    """Replace, in place, the large ``nn.Linear`` of a model."""
    replace_linears(model, lambda layer: Int8Linear(layer.weight, layer.bias), SMALLEST)
