"""Words that were torn apart: two neighbours that are one word of the dictionary together.

Shapes: n words; (B, T) tokens of a batch.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.layers.later import HasLaterWeights


class JoinedWords(HasLaterWeights):
    """A vector for how often the word occurs that a word makes with the next one, and with the last one."""

    later_weights = ("weight",)
    values: Tensor  # (n,) numbers for the letters of the dictionary's words, ascending
    counts: Tensor  # (n,)

    def __init__(self, prints: Tensor, counts: Tensor, levels: Tensor, dim: int):
        """``prints`` and ``counts`` (V,); ``levels``: occurrences from which a word counts as more familiar."""
        super().__init__()
        self.levels = len(levels)
        self.weight = nn.Parameter(torch.zeros(2 * (len(levels) + 1), dim))
        for name, value in zip(("values", "counts"), occurrences(prints, counts), strict=True):
            self.register_buffer(name, value, persistent=False)

    def forward(self, prints: Tensor, apart: Tensor, levels: Tensor) -> Tensor:
        """(2, B, T) numbers of the words, (B, T) True = with a blank before it -> (B, T, C)"""
        level = torch.bucketize(with_next(prints, apart, self.values, self.counts), levels, right=True)
        last = self.levels + 1 + F.pad(level[:, :-1], (1, 0))
        return F.embedding(level, self.weight) + F.embedding(last, self.weight)


def occurrences(values: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers of words in ascending order, and how often they occur; those that differ in case count together.

    >>> occurrences(torch.tensor([5, 0, 3, 5]), torch.tensor([1, 9, 2, 4]))
    (tensor([3, 5]), tensor([2, 5]))
    """
    spelt = values.ne(0)
    values, which = values[spelt].unique(return_inverse=True)
    return values, counts.new_zeros(len(values)).index_add_(0, which, counts[spelt])


def with_next(prints: Tensor, apart: Tensor, values: Tensor, counts: Tensor) -> Tensor:
    """(B, T) how often the word occurs that each word makes with the next one (``text.spelling.prints_of``).

    0 where one of the two has no letters, or the next one is not ``apart``, with a blank before it.

    >>> from lev_plugins.text.spelling import prints_of
    >>> to_day, (today,) = torch.tensor(prints_of(["to", "day"])), prints_of(["today"])[0]
    >>> apart = torch.tensor([[True, True]])
    >>> with_next(to_day[:, None], apart, torch.tensor([today]), torch.tensor([4])).tolist()
    [[4, 0]]
    """
    if not len(values):
        return torch.zeros_like(prints[0])
    (first, _), (second, power) = prints[..., :-1], prints[..., 1:]
    both = first * power + second
    place = torch.searchsorted(values, both).clamp(max=len(values) - 1)
    named = values[place].eq(both) & first.ne(0) & second.ne(0) & apart[:, 1:]
    return F.pad(counts[place] * named, (0, 1))
