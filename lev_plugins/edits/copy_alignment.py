"""How much of its source a text has covered that is written token by token, copying and editing.

Each text has one row of the Levenshtein table (insertion, deletion and substitution cost 1): the distance from what
was written so far to every prefix of its source, R rows of S + 1. Sources are padded on the right; padding does not
change the values for real tokens.
"""

import torch
from torch import Tensor


def distances_before(source: Tensor) -> Tensor:
    """The distances before the first token: (R, S) -> (R, S + 1).

    >>> distances_before(torch.tensor([[11, 12, 2]]))
    tensor([[0, 1, 2, 3]])
    """
    return torch.arange(source.size(1) + 1, device=source.device).repeat(source.size(0), 1)


def distances_after(distances: Tensor, source: Tensor, token: Tensor) -> Tensor:
    """The distances after writing ``token`` (R,).

    >>> source = torch.tensor([[11, 12, 13, 2]])
    >>> distances_after(distances_before(source), source, torch.tensor([11]))
    tensor([[1, 0, 1, 2, 3]])
    """
    inserted = distances + 1
    paired = distances[:, :-1] + source.ne(token[:, None])
    best = torch.cat([inserted[:, :1], torch.minimum(inserted[:, 1:], paired)], 1)
    # a source token may also have been skipped: each entry is at most 1 more than the one before it
    steps = torch.arange(best.size(1), device=best.device)
    return (best - steps).cummin(1).values + steps


def expected(distances: Tensor, source: Tensor, pad: int) -> Tensor:
    """Source tokens that come next if nothing more is edited, (R, S): one after each nearest prefix.

    For the source a b c: after "a", b; after "a x", where x may replace b or precede it, b or c.

    >>> source = torch.tensor([[11, 12, 13, 2]])
    >>> after_a = distances_after(distances_before(source), source, torch.tensor([11]))
    >>> expected(after_a, source, pad=1).int()
    tensor([[0, 1, 0, 0]], dtype=torch.int32)
    >>> expected(distances_after(after_a, source, torch.tensor([99])), source, pad=1).int()
    tensor([[0, 1, 1, 0]], dtype=torch.int32)
    """
    return distances[:, :-1].eq(distances.min(1, keepdim=True).values) & source.ne(pad)
