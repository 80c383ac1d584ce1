"""Unknown words that were kept: which of several each is, where ids do not tell them apart."""

from itertools import product

import pytest
import torch

from lev_plugins.edits.expert import align
from lev_plugins.inference.decoder import told_apart

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
