"""The equations of gated-Trans (see ``gated``) as functions: gates, and three ways to mix what they let through.

Shapes: B batch, S source length, T target length, N words that may be copied, C channels, V vocabulary.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

NEGLIGIBLE = 1e-30  # smallest probability of a copy, so that its logarithm is finite


class SparseWeights(NamedTuple):
    """Weights of a few words at each output position; all other words of the vocabulary have weight 0."""

    tokens: Tensor  # (B, T, N) ids of the target's dictionary, which may repeat; (B, 1, N) if the same for all T
    weights: Tensor  # (B, T, N)


def soft_mask(states: Tensor, probability: Tensor, mask_embedding: Tensor) -> Tensor:
    """Eq. (2): (S, B, C), (S, B, 1), (C,) -> (S, B, C).

    >>> soft_mask(torch.tensor([[[2.0, 4.0]]]), torch.tensor([[[0.25]]]), torch.tensor([0.0, 8.0]))
    tensor([[[1.5000, 5.0000]]])
    """
    return probability * mask_embedding + (1 - probability) * states


def gate_weights(logits: Tensor, zeros: int = 0) -> Tensor:
    """Eq. (3) to (6), in 32 bits: logits (..., gates) -> weights (..., gates).

    They sum to 1, or to less if the softmax of Eq. (6) also has ``zeros``, one for each absent gate.

    >>> gate_weights(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    >>> gate_weights(torch.tensor([0.0, 0.0]), zeros=1)
    tensor([0.3837, 0.3837])
    """
    return F.pad(logits.float().sigmoid(), (0, zeros)).softmax(-1)[..., : logits.size(-1)]


def mix_hidden(states: Tensor, weights: dict[str, Tensor], copied: Tensor, mask_embedding: Tensor) -> Tensor:
    """Eq. (7): states (B, T, C), a weight (B, T) per gate, copied (B, T, C), (C,) -> (B, T, C)."""
    w = {name: weight.to(states.dtype)[:, :, None] for name, weight in weights.items()}
    mixed = w["generate"] * states.sigmoid() if "generate" in w else states
    if "copy" in w:
        mixed = mixed + w["copy"] * copied
    if "skip" in w:
        mixed = mixed + w["skip"] * mask_embedding
    return mixed


def copy_and_skip(weights: dict[str, Tensor], copied: SparseWeights, mask_symbol: int) -> SparseWeights:
    """Returns c onehot(y') + s onehot([MASK]), the terms of copy and skip; N grows by 1 with skip.

    >>> copied = SparseWeights(torch.tensor([[[1, 2]]]), torch.tensor([[[0.25, 0.75]]]))
    >>> copy_and_skip({"copy": torch.tensor([[0.4]]), "skip": torch.tensor([[0.6]])}, copied, 3)
    SparseWeights(tokens=tensor([[[1, 2, 3]]]), weights=tensor([[[0.1000, 0.3000, 0.6000]]]))
    """
    at_mask = torch.full_like(copied.tokens[:, :, :1], mask_symbol)
    copies = weights["copy"][:, :, None] * copied.weights if "copy" in weights else 0 * copied.weights
    skipped = [weights["skip"][:, :, None]] if "skip" in weights else []
    return SparseWeights(torch.cat([copied.tokens, *[at_mask] * len(skipped)], -1), torch.cat([copies, *skipped], -1))


def mix_vocabulary(logits: Tensor, weights: dict[str, Tensor], additions: SparseWeights) -> Tensor:
    """Returns g log softmax(logits) + ``additions``, (B, T, V), whose softmax is P in the released code."""
    generated = logits.float().log_softmax(-1)
    if "generate" in weights:
        generated = weights["generate"][:, :, None] * generated
    return generated.scatter_add(-1, additions.tokens.expand_as(additions.weights), additions.weights)


def mix_probability(logits: Tensor, weights: dict[str, Tensor], additions: SparseWeights) -> Tensor:
    """Returns log (g softmax(logits) + ``additions``), (B, T, V); without a generate gate, g = 1.

    It makes few passes over (B, T, V): with a large dictionary, these take most of the time.
    """
    generated = logits.float().log_softmax(-1)
    if "generate" in weights:
        generated = weights["generate"].log()[:, :, None] + generated
    words, mass = sum_by_word(additions)
    words = words.expand_as(mass)
    log_generated = generated.gather(-1, words)
    log_sum = torch.stack([log_generated, mass.clamp_min(NEGLIGIBLE).log()]).logsumexp(0)  # ONNX lacks logaddexp
    return generated.scatter_add(-1, words, (log_sum - log_generated).masked_fill(mass.eq(0), 0))


def sum_by_word(repeated: SparseWeights) -> SparseWeights:
    """Adds up the weights of repeated words: each word once, in order of id, then unused entries (token 0, weight 0).

    Weight 0 changes nothing in ``mix_probability``, so the unused entries do not count for token 0.

    >>> sum_by_word(SparseWeights(torch.tensor([[[7, 5, 7]]]), torch.tensor([[[0.25, 0.5, 0.25]]])))
    SparseWeights(tokens=tensor([[[5, 7, 0]]]), weights=tensor([[[0.5000, 0.5000, 0.0000]]]))
    """
    words, order = repeated.tokens.sort(-1)
    entry = F.pad(words[..., 1:].ne(words[..., :-1]).long().cumsum(-1), (1, 0))
    weights = repeated.weights.gather(-1, order.expand_as(repeated.weights))
    return SparseWeights(
        torch.zeros_like(words).scatter(-1, entry, words),
        torch.zeros_like(weights).scatter_add(-1, entry.expand_as(weights), weights),
    )
