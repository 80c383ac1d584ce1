"""An oracle's hand on the wheel (Figure 5 of the LevT paper): actions taken from the reference while decoding.

``delete``: every deletion is the expert's. ``delete+placeholder``: the number of placeholders in every slot as well,
so that the model only chooses words. What comes out measures how much a person who gives such hints would gain.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from lev_plugins.edits import align, insertion_labels

ORACLES = ["none", "delete", "delete+placeholder"]


def missing_counts(tokens: Tensor, target: Tensor, pad: int) -> Tensor:
    """(B, N) -> (B, N - 1): how many placeholders the expert opens in each slot; the target has all of ``tokens``.

    >>> import torch
    >>> y = torch.tensor([[0, 12, 13, 2, 1]])
    >>> missing_counts(y, torch.tensor([[0, 11, 11, 12, 13, 14, 2]]), pad=1)
    tensor([[2, 0, 1, 0]])
    """
    missing = ~align(tokens, target, pad).matched & target.ne(pad)
    counts = insertion_labels(target, missing, pad).counts  # (B, T - 1)
    slots = tokens.size(1) - 1
    return F.pad(counts, (0, max(slots - counts.size(1), 0)))[:, :slots]
