"""Dropout, without torch's slow random numbers on a CPU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

LEVELS = 1 << 16  # of the rate; four random numbers of 16 bits are drawn together
HIGHEST = 1 - 1 / LEVELS  # a rate above it would round to 1, which 16 bits cannot tell from 0


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """``torch.nn.functional.dropout``; on a CPU, it takes a third of the time.

    >>> _ = torch.manual_seed(1)
    >>> dropout(torch.ones(8), 0.25, training=True)
    tensor([0.0000, 1.3333, 1.3333, 1.3333, 1.3333, 1.3333, 1.3333, 0.0000])
    >>> dropout(torch.ones(2), 0.25, training=False)
    tensor([1., 1.])
    """
    if not training or rate == 0.0:
        return x
    if x.device.type != "cpu" or x.dtype != torch.float32 or rate > HIGHEST:
        return F.dropout(x, rate)
    drawn = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    kept = drawn.view(torch.int16)[: x.numel()].view(x.shape) >= round((rate - 0.5) * LEVELS)
    return x * kept.to(x.dtype).mul_(1 / (1 - rate))
