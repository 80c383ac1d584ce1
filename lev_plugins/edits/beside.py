"""Which token of a source stands in the place of each token of a text that is being edited."""

import torch
from rapidfuzz.distance import Levenshtein
from torch import Tensor


def places_beside(tokens: Tensor, source: Tensor, pad: int) -> Tensor:
    """(B, T), (B, S) -> (B, T): the same token, or the one that it took the place of; S: there is none.

    The source may be padded on either side.

    >>> source = torch.tensor([[1, 0, 11, 12, 2]])
    >>> places_beside(torch.tensor([[0, 11, 12, 2], [0, 11, 99, 2]]), source.repeat(2, 1), pad=1)
    tensor([[1, 2, 3, 4],
            [1, 2, 3, 4]])
    >>> places_beside(torch.tensor([[0, 12, 99, 2, 1]]), source, pad=1)
    tensor([[1, 3, 5, 4, 5]])
    """
    width = source.size(1)
    rows = [[width] * tokens.size(1) for _ in tokens]
    for row, own, theirs in zip(rows, tokens.tolist(), source.tolist(), strict=True):
        start = theirs.count(pad) if theirs[0] == pad else 0
        pair = [[token for token in side if token != pad] for side in (own, theirs)]
        for step in Levenshtein.opcodes(*pair):
            if step.tag in ("equal", "replace"):
                row[step.src_start : step.src_end] = range(start + step.dest_start, start + step.dest_end)
    return torch.tensor(rows, device=tokens.device)
