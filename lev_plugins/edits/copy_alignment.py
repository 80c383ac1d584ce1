"""The progress of left-to-right decoding through the source, for texts that mostly copy it.

Each of R hypotheses has one row of the Levenshtein table (insertion, deletion and substitution cost 1): the distances
(R, S + 1) from its tokens so far to every prefix of its source. Sources are padded on the right; padding does not
change the values for real tokens.
"""

import torch
from torch import Tensor


def distances_before(source: Tensor) -> Tensor:
    """Returns the distances (R, S + 1) before the first token, for sources (R, S).

    >>> distances_before(torch.tensor([[11, 12, 2]]))
    tensor([[0, 1, 2, 3]])
    """
    return torch.arange(source.size(1) + 1, device=source.device).repeat(source.size(0), 1)


def distances_after(distances: Tensor, source: Tensor, token: Tensor) -> Tensor:
    """Returns the distances after each hypothesis was extended by its ``token`` (R,).

    >>> source = torch.tensor([[11, 12, 13, 2]])
    >>> distances_after(distances_before(source), source, torch.tensor([11]))
    tensor([[1, 0, 1, 2, 3]])
    """
    insertion = distances + 1
    substitution = distances[:, :-1] + source.ne(token[:, None])
    best = torch.cat([insertion[:, :1], torch.minimum(insertion[:, 1:], substitution)], 1)
    # a source token may also have been deleted: each entry is at most 1 more than the one before it
    steps = torch.arange(best.size(1), device=best.device)
    return (best - steps).cummin(1).values + steps


def expected_tokens(distances: Tensor, source: Tensor, pad: int) -> Tensor:
    """Returns a mask (R, S), True = the source token comes next if nothing more is edited.

    It follows one of the prefixes that are nearest to the hypothesis.

    For the source a b c: after "a", b; after "a x", where x may replace b or precede it, b or c.

    >>> source = torch.tensor([[11, 12, 13, 2]])
    >>> after_a = distances_after(distances_before(source), source, torch.tensor([11]))
    >>> expected_tokens(after_a, source, pad=1).int()
    tensor([[0, 1, 0, 0]], dtype=torch.int32)
    >>> expected_tokens(distances_after(after_a, source, torch.tensor([99])), source, pad=1).int()
    tensor([[0, 1, 1, 0]], dtype=torch.int32)
    """
    return distances[:, :-1].eq(distances.min(1, keepdim=True).values) & source.ne(pad)
