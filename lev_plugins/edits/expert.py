"""The expert of Eq. (8): the cheapest insertions and deletions that turn one sequence into another.

Without substitution the cheapest edit keeps a longest common subsequence (LCS), deletes the rest of the draft
and inserts the rest of the target. Among equally cheap edits it chooses as fairseq's ``libnat`` does
(walking back from the end: insert before delete before keep), so that labels agree token by token.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.edits.actions import apply_deletions


class Alignment(NamedTuple):
    """The tokens that a sequence and its target have in common, in an optimal edit."""

    kept: Tensor  # (B, N) True = the expert keeps this token of the edited sequence; False = it deletes it, or padding
    matched: Tensor  # (B, T) True = this target token is already present; False = it must be inserted, or padding


class InsertionLabels(NamedTuple):
    """A target without its missing tokens, and where these are missing."""

    tokens: Tensor  # (B, T) y_ins: the target without the missing tokens, moved to the left
    counts: Tensor  # (B, T - 1) p*: how many tokens are missing in each slot of y_ins


def align(tokens: Tensor, target: Tensor, pad: int) -> Alignment:
    """Returns which tokens an optimal editor keeps, and which target tokens they account for.

    >>> y = torch.tensor([[0, 11, 12, 13, 2]])           # <s> a b c </s>
    >>> t = torch.tensor([[0, 12, 14, 13, 15, 2]])       # <s> b x c y </s>
    >>> kept, matched = align(y, t, pad=1)
    >>> kept.int(), matched.int()                        # delete a; insert x and y
    (tensor([[1, 0, 1, 1, 1]], dtype=torch.int32), tensor([[1, 1, 0, 1, 0, 1]], dtype=torch.int32))
    """
    table = _lcs_table(tokens, target, pad)
    batch = tokens.size(0)
    kept = torch.zeros_like(tokens, dtype=torch.bool)
    # (B, T + 1): column j + 1 is target position j; column 0 collects rows without a match in a step
    matched = torch.zeros(batch, target.size(1) + 1, dtype=torch.bool, device=target.device)
    value = table[-1][:, -1:]  # (B, 1): how many matches are left to place
    for i in range(tokens.size(1), 0, -1):
        # the first column that reaches `value`: everything to its right was inserted
        column = (table[i] < value).sum(1, keepdim=True)
        keep = table[i - 1].gather(1, column) < value
        kept[:, i - 1] = keep[:, 0]
        matched.scatter_(1, column * keep, True)
        value = value - keep.to(value.dtype)
    return Alignment(kept, matched[:, 1:])


def _lcs_table(tokens: Tensor, target: Tensor, pad: int) -> list[Tensor]:
    """Returns N + 1 tables (B, T + 1): ``table[i][b, j]`` is the length of the LCS of i tokens and j target tokens.

    A cell needs its left neighbour, ``L[i][j] = max(L[i-1][j], L[i-1][j-1] + equal, L[i][j-1])``; since a row
    never decreases, the last term is a running maximum, and one vector operation computes the whole row.
    """
    words = target.masked_fill(target.eq(pad), -1)  # padding equals nothing
    row = torch.zeros(target.size(0), target.size(1) + 1, dtype=torch.int32, device=target.device)
    table = [row]
    for i in range(tokens.size(1)):
        diagonal = row[:, :-1] + tokens[:, i : i + 1].eq(words)
        row = torch.cat([row[:, :1], torch.maximum(row[:, 1:], diagonal).cummax(1).values], 1)
        table.append(row)
    return table


def insertion_labels(target: Tensor, missing: Tensor, pad: int) -> InsertionLabels:
    """Returns what to insert into a target from which the ``missing`` tokens were removed; needs no alignment.

    ``missing`` (B, T) never marks the boundaries. Slots in the padding of y_ins get 0.

    >>> t = torch.tensor([[0, 11, 12, 13, 2]])
    >>> m = torch.tensor([[0, 1, 0, 1, 0]]).bool()
    >>> insertion_labels(t, m, pad=1)
    InsertionLabels(tokens=tensor([[ 0, 12,  2,  1,  1]]), counts=tensor([[1, 1, 0, 0]]))
    """
    present = target.ne(pad) & ~missing
    # slot k follows the present token of rank k; a missing token counts in the slot of the last present one before it
    rank = present.cumsum(1) - 1  # (B, T)
    counts = torch.zeros_like(target).scatter_add(1, rank.clamp(min=0), missing.to(target.dtype))
    (tokens,) = apply_deletions(target, missing, pad)
    return InsertionLabels(tokens, counts[:, :-1])


def missing_counts(tokens: Tensor, target: Tensor, pad: int) -> Tensor:
    """Returns the number of placeholders (B, N - 1) that the expert inserts in each slot of ``tokens`` (B, N).

    Words missing after a token of the target are inserted after the same token in ``tokens``. After the expert's
    deletions, a token that is not in the target (10 here) is one that a mark protects: nothing is inserted after it.

    >>> y = torch.tensor([[0, 12, 13, 2, 1], [0, 10, 11, 2, 1]])
    >>> missing_counts(y, torch.tensor([[0, 11, 11, 12, 13, 14, 2], [0, 11, 13, 14, 2, 1, 1]]), pad=1)
    tensor([[2, 0, 1, 0],
            [0, 0, 2, 0]])
    """
    kept, matched = align(tokens, target, pad)
    counts = insertion_labels(target, ~matched & target.ne(pad), pad).counts  # (B, T - 1), by rank of the kept token
    rank = (kept.cumsum(1) - 1).clamp(min=0)  # (B, N)
    return F.pad(counts, (0, 1)).gather(1, rank).masked_fill(~kept, 0)[:, :-1]


def random_deletions(length: int, generator: torch.Generator | None = None) -> Tensor:
    """Returns pi^RND of Eq. (7), a mask (length,) of tokens to delete from a target, which never marks its boundaries.

    The number of inner tokens that remain is uniform in 0 .. length - 2, and so is their choice. Sometimes nothing is
    deleted: this teaches the placeholder policy when a sentence is complete, the state in which every decoding ends.

    >>> random_deletions(6, torch.Generator().manual_seed(1)).int()
    tensor([0, 1, 0, 0, 0, 0], dtype=torch.int32)
    """
    inner = max(length - 2, 0)
    remaining = int((inner + 1) * torch.rand((), generator=generator))
    deleted = torch.zeros(length, dtype=torch.bool)
    deleted[1 + torch.randperm(inner, generator=generator)[remaining:]] = True
    return deleted
