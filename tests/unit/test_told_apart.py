"""Unknown words that were kept: which of several each is, where ids do not tell them apart."""

from __future__ import annotations

from itertools import combinations, product

import pytest
import torch

from lev_plugins.edits import align
from lev_plugins.inference.seq2seq import cheapest, told_apart

A, B, NEW, UNKNOWN, PAD = 5, 6, 9, 3, 1


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_words_that_are_replaced_one_by_one_leave_the_others_in_their_places(size: int) -> None:
    given = [A, *[UNKNOWN] * size, B]
    for kept in product([False, True], repeat=size):
        written = [A, *(UNKNOWN if keep else NEW for keep in kept), B]
        found = align(torch.tensor([given]), torch.tensor([written]), PAD)
        places = iter(found.kept[0].nonzero()[:, 0].tolist())
        origin = [next(places) if same else None for same in found.matched[0].tolist()]
        expected = [0, *(i if keep else None for i, keep in enumerate(kept, 1)), size + 1]
        assert told_apart(origin, given, written, UNKNOWN) == expected


def test_the_cheapest_way_is_the_best_of_all() -> None:
    draw = torch.Generator().manual_seed(1)
    for rows, columns in ((1, 1), (2, 3), (3, 5), (4, 4)):
        costs = torch.randint(0, 20, (rows, columns), generator=draw).tolist()
        ways = list(combinations(range(columns), rows))
        cost = {way: sum(costs[row][column] for row, column in enumerate(way)) for way in ways}
        assert cost[tuple(cheapest(costs))] == min(cost.values())
