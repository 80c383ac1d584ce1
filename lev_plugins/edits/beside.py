"""Which token of a source stands in the place of each token of a text that is being edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rapidfuzz.distance import Levenshtein

if TYPE_CHECKING:
    from torch import Tensor


def places_beside(tokens: Tensor, source: Tensor, pad: int) -> Tensor:
    """(B, T), (B, S) -> (B, T): the same token, or the one that it took the place of; S: there is none.

    The source may be padded on either side.

    >>> import torch
    >>> source = torch.tensor([[1, 0, 11, 12, 2]])
    >>> places_beside(torch.tensor([[0, 11, 12, 2], [0, 11, 99, 2]]), source.repeat(2, 1), pad=1)
    tensor([[1, 2, 3, 4],
            [1, 2, 3, 4]])
    >>> places_beside(torch.tensor([[0, 12, 99, 2, 1]]), source, pad=1)
    tensor([[1, 3, 5, 4, 5]])
    """
    return tokens.new_tensor([beside(*pair, pad) for pair in zip(tokens.tolist(), source.tolist(), strict=True)])


def beside(own: list[int], theirs: list[int], pad: int) -> list[int]:
    """Of one row.

    >>> beside([0, 12, 99, 2, 1], [1, 0, 11, 12, 2], pad=1)
    [1, 3, 5, 4, 5]
    """
    row, start = [len(theirs)] * len(own), theirs.count(pad) if theirs[0] == pad else 0
    pair = [[token for token in side if token != pad] for side in (own, theirs)]
    for step in Levenshtein.opcodes(*pair):
        if step.tag in ("equal", "replace"):
            row[step.src_start : step.src_end] = range(start + step.dest_start, start + step.dest_end)
    return row
