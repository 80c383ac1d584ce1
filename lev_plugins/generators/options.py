"""Settings of iterative refinement, and how they limit the number of placeholders in a slot.

With an oracle, decoding takes some actions from the reference (Figure 5 of the LevT paper). ``delete``: the expert
makes all deletions. ``delete+placeholder``: the expert also chooses the number of placeholders in every slot, so the
model only chooses words. The result shows how much such hints from a person would help.

Shapes: B sentences of N tokens, with N - 1 slots between them, K + 1 classes of the placeholder policy.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.edits.expert import align, insertion_labels

ORACLES = ["none", "delete", "delete+placeholder"]


@dataclass(frozen=True)
class RefinementOptions:
    max_iter: int = 10  # maximum number of iterations after the first
    gamma: float = 0.0  # subtracted from the log-probability of inserting nothing, section 3.3; negative: shorter texts
    max_ratio: float = 2.0  # with this many times the source's tokens, a sentence gets no more placeholders, nor a slot
    max_ratio_floor: int = 10  # ... but every sentence may have this number of tokens
    min_length: int = 0  # minimum number of words in a sentence
    adaptive: bool = True  # False: run all iterations
    candidates: int = 1  # the greedy result and candidates - 1 sampled ones
    temperature: float = 1.0  # of the sampled candidates
    soft_protection: float = 3.0  # log-odds by which a change to a softly protected span must win
    keep_bias: float = 0.0  # log-odds by which any change to the draft must win
    oracle: str = "none"  # actions taken from the reference, one of ORACLES
    retain_history: bool = False
    cuda_graphs: bool = False  # a single sentence on a GPU: capture an iteration as a CUDA graph, and replay it
    trained_later: bool = True  # False: this process only decodes, so torch may keep less record of what it computes


def at_least(least: int, counts: Tensor, scores: Tensor, lengths: Tensor, tokens: Tensor, pad: int) -> Tensor:
    """(B, N - 1): more of them, up to ``least`` words, in the slot with the lowest score for no insertion.

    ``scores`` are (B, N - 1, K + 1), ``lengths`` (B,) those of ``tokens`` (B, N).
    """
    if not least:
        return counts
    slots = tokens[:, 1:].ne(pad)
    counts = counts.masked_fill(~slots, 0)
    lack = (least + 2 - lengths - counts.sum(1)).clamp(min=0)  # (B,); 2: <s> and </s>
    slot = scores[:, :, 0].masked_fill(~slots, math.inf).argmin(1, keepdim=True)
    return counts.scatter_add(1, slot, lack[:, None])


def within_room(positions: int, counts: Tensor, lengths: Tensor, tokens: Tensor, pad: int) -> Tensor:
    """(B, N - 1): no more than the decoder has positions for, filling slots from left to right.

    >>> y, p = torch.tensor([[0, 11, 12, 2]]), torch.tensor([[1, 2, 3]])
    >>> within_room(6, p, torch.tensor([4]), y, pad=1)
    tensor([[1, 1, 0]])
    """
    counts = counts.masked_fill(tokens[:, 1:].eq(pad), 0)
    room = (positions - lengths).clamp(min=0)[:, None]
    before = counts.cumsum(1) - counts
    return torch.minimum(counts, (room - before).clamp(min=0))


def missing_counts(tokens: Tensor, target: Tensor, pad: int) -> Tensor:
    """(B, N) -> (B, N - 1): the number of placeholders that the expert inserts in each slot.

    Words missing after a token of the target are inserted after the same token in ``tokens``. Tokens that are not in
    the target (10 here) are skipped: they are protected.

    >>> y = torch.tensor([[0, 12, 13, 2, 1], [0, 10, 11, 2, 1]])
    >>> missing_counts(y, torch.tensor([[0, 11, 11, 12, 13, 14, 2], [0, 11, 13, 14, 2, 1, 1]]), pad=1)
    tensor([[2, 0, 1, 0],
            [0, 0, 2, 0]])
    """
    kept, matched = align(tokens, target, pad)
    counts = insertion_labels(target, ~matched & target.ne(pad), pad).counts  # (B, T - 1), by rank of the kept token
    rank = (kept.cumsum(1) - 1).clamp(min=0)  # (B, N)
    return F.pad(counts, (0, 1)).gather(1, rank).masked_fill(~kept, 0)[:, :-1]


def behind_spans(counts: Tensor, shut: Tensor) -> Tensor:
    """Move the placeholders of ``shut`` (B, N - 1) slots to the next open slot; the last slot is always open.

    >>> behind_spans(torch.tensor([[0, 2, 0, 1]]), torch.tensor([[0, 1, 0, 0]]).bool())
    tensor([[0, 0, 2, 1]])
    """
    slots = torch.arange(counts.size(1), device=counts.device).expand_as(counts)
    home = slots.masked_fill(shut, counts.size(1)).flip(1).cummin(1).values.flip(1)
    return torch.zeros_like(counts).scatter_add(1, home, counts)
