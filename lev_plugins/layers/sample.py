"""Some words of a large dictionary, in place of all of them, for one step of training.

Shapes: V words of the dictionary, R of them in the sample.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Sample(NamedTuple):
    """The words of a step; without ``ids``, the whole dictionary."""

    ids: Tensor | None = None  # (R,)
    places: Tensor | None = None  # (V + 1,) of each word and the placeholder, which comes last; -1: not in the sample
    stands_for: Tensor | None = None  # (R,) logarithm of the number of words for which each stands

    def of(self, values: Tensor) -> Tensor:
        """Of the words of the sample, by what all have: (V, ...) -> (R, ...)"""
        return values if self.ids is None else values[self.ids]

    def place(self, words: Tensor) -> Tensor:
        return words if self.places is None else self.places[words]

    def word(self, places: Tensor) -> Tensor:
        return places if self.ids is None else self.ids[places]

    def as_decoded(self, scores: Tensor) -> Tensor:
        """(n, R) of each word for itself alone, as the whole dictionary gives them."""
        return scores if self.stands_for is None else scores - self.stands_for


WHOLE = Sample()


def draw_sample(needed: Tensor, others: int) -> Sample:
    """The words that are ``needed`` (V,), and at random some ``others``, each of which stands for more than itself.

    So the sum of exp(score) over the sample is on average that over the dictionary.

    >>> sample = draw_sample(torch.tensor([False, True, False, False, False, True]), others=2)
    >>> sample.ids[:2].tolist(), len(set(sample.ids.tolist())), sample.stands_for.exp().tolist()
    ([1, 5], 4, [1.0, 1.0, 2.0, 2.0])
    >>> sample.place(torch.tensor([5, 1, 6])).tolist(), sample.word(torch.tensor([1, 0])).tolist()
    ([1, 0, 4], [5, 1])
    """
    rest = (~needed).nonzero()[:, 0]
    drawn = rest[torch.randperm(len(rest), device=rest.device)[:others]]
    own = needed.nonzero()[:, 0]
    ids = torch.cat([own, drawn])
    places = torch.full((len(needed) + 1,), -1, device=ids.device)
    places[ids] = torch.arange(len(ids), device=ids.device)
    places[-1] = len(ids)
    number = torch.zeros(len(ids), device=ids.device)
    if len(drawn):
        number[len(own) :] = math.log(len(rest) / len(drawn))
    return Sample(ids, places, number)
