"""How many slips lead from one spelling to another."""

from __future__ import annotations

import torch
from torch import Tensor


def slips(words: Tensor, others: Tensor) -> Tensor:
    """(n, L), (n, K, M) letters, 0 after the last one -> (n, K): slips from each word to each of its K others.

    A slip is a letter that is missing, too many or wrong, or two neighbours that have changed places.

    >>> spell = lambda *words: torch.tensor([[ord(c) for c in word.ljust(5, chr(0))] for word in words])
    >>> slips(spell("teh"), spell("the", "eh", "tea", "other")[None])
    tensor([[1, 1, 1, 3]])
    """
    width = others.size(2)
    places = torch.arange(width + 1, device=words.device)
    lengths, ends = words.ne(0).sum(1)[:, None], others.ne(0).sum(2)[:, :, None]
    # row[j]: slips from the first i letters of a word to the first j of another
    row = places.expand(*others.shape[:2], width + 1)
    above, found = row, ends[:, :, 0]
    # a GPU is not asked for the longest word
    longest = int(lengths.max()) if words.numel() and words.device.type == "cpu" else words.size(1)
    for i in range(1, longest + 1):
        letter = words[:, i - 1, None, None]
        right = others.eq(letter)
        cost = torch.minimum(row[:, :, 1:] + 1, row[:, :, :-1] + ~right)  # too many, or wrong
        if i > 1:
            swapped = right[:, :, :-1] & others[:, :, 1:].eq(words[:, i - 2, None, None])
            turned = torch.where(swapped, above[:, :, :-2] + 1, cost[:, :, 1:])
            cost[:, :, 1:] = torch.minimum(cost[:, :, 1:], turned)
        cost = torch.cat([torch.full_like(row[:, :, :1], i), cost], 2)
        above, row = row, (cost - places).cummin(2).values + places  # missing
        found = torch.where(lengths.eq(i), row.gather(2, ends)[:, :, 0], found)
    return found
