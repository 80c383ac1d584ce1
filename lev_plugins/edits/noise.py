"""The random deletion policy: pi^RND of Eq. (7)."""

from __future__ import annotations

import torch
from torch import Tensor


def random_deletions(length: int, generator: torch.Generator | None = None) -> Tensor:
    """Mark a random part of a target of ``length`` tokens, boundaries included, for deletion.

    The number of inner tokens kept is uniform in 0 .. length - 2, and so is their choice. Sometimes nothing is deleted:
    this teaches the placeholder policy when a sentence is complete, the state in which every decoding ends.

    >>> random_deletions(6, torch.Generator().manual_seed(1)).int()
    tensor([0, 1, 0, 0, 0, 0], dtype=torch.int32)
    """
    inner = max(length - 2, 0)
    stay = int((inner + 1) * torch.rand((), generator=generator))
    deleted = torch.zeros(length, dtype=torch.bool)
    deleted[1 + torch.randperm(inner, generator=generator)[stay:]] = True
    return deleted
