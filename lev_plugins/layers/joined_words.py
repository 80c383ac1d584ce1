"""Words that were torn apart: two neighbours that are one word of the dictionary together.

Shapes: n words, L letters; (B, T) tokens of a batch.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

BASE = 1_000_003


class Prints(NamedTuple):
    """A number for the letters of each word, from which that of two words side by side follows."""

    value: Tensor  # (n,) 0: no letters
    power: Tensor  # (n,) BASE to the power of the number of letters

    def at(self, rows: Tensor) -> Prints:
        return Prints(self.value[rows], self.power[rows])

    def and_then(self, others: Prints) -> Prints:
        return Prints(*map(torch.cat, zip(self, others, strict=True)))


def prints_of(letters: Tensor) -> Prints:
    """``letters`` (n, L) are code points, and 0 after the last one.

    >>> (to, day, today), (_, power, _) = prints_of(torch.tensor([[7, 8, 0], [1, 0, 0], [7, 8, 1]]))
    >>> bool(to * power + day == today)
    True
    """
    value = torch.zeros(len(letters), dtype=torch.long, device=letters.device)
    power = torch.ones_like(value)
    for letter in letters.long().unbind(1):  # whole numbers of 64 bits, which begin again where they end
        some = letter.ne(0)
        value = torch.where(some, value * BASE + letter, value)
        power = torch.where(some, power * BASE, power)
    return Prints(value, power)


class Occurrences(NamedTuple):
    """How often the words occur, by the numbers of their letters."""

    values: Tensor  # (n,) ascending
    counts: Tensor  # (n,)

    @classmethod
    def of(cls, values: Tensor, counts: Tensor) -> Occurrences:
        """Words that differ in case alone count together.

        >>> found = Occurrences.of(torch.tensor([5, 0, 3, 5]), torch.tensor([1, 9, 2, 4]))
        >>> found.values.tolist(), found.counts.tolist()
        ([3, 5], [2, 5])
        """
        spelt = values.ne(0)
        values, which = values[spelt].unique(return_inverse=True)
        return cls(values, counts.new_zeros(len(values)).index_add_(0, which, counts[spelt]))

    def with_next(self, words: Prints, apart: Tensor) -> Tensor:
        """(B, T) how often the word occurs that each of ``words`` (B, T) makes with the next one.

        0 where one of the two has no letters, or the next one is not ``apart``, with a blank before it.

        >>> letters = torch.tensor([[7, 8, 0], [1, 0, 0], [7, 8, 1]])
        >>> prints = prints_of(letters)
        >>> known = Occurrences.of(prints.value, torch.tensor([9, 9, 4]))
        >>> tokens = torch.tensor([[0, 1, 0]])
        >>> known.with_next(prints.at(tokens), torch.tensor([[True, True, True]])).tolist()
        [[4, 0, 0]]
        """
        if not len(self.values):
            return torch.zeros_like(words.value)
        first, second = words.value[:, :-1], words.value[:, 1:]
        both = first * words.power[:, 1:] + second
        place = torch.searchsorted(self.values, both).clamp(max=len(self.values) - 1)
        named = self.values[place].eq(both) & first.ne(0) & second.ne(0) & apart[:, 1:]
        return F.pad(self.counts[place] * named, (0, 1))
