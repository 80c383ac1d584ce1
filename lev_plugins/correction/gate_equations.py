"""The equations of gated-Trans (see ``gated``) as functions: gates, and three ways to mix what they let through.

Shapes: B batch, S source length, T target length, N what may be copied, C channels, V vocabulary.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

NEGLIGIBLE = 1e-30  # smallest probability of a copy, so that its logarithm is finite


class Copied(NamedTuple):
    """The symbols that the copy gate may copy at each output position."""

    tokens: Tensor  # (B, T, N) target symbols, or (B, 1, N) for all T
    weights: Tensor  # (B, T, N) their probabilities


def soft_mask(states: Tensor, probability: Tensor, mask_embedding: Tensor) -> Tensor:
    """Eq. (2): (S, B, C), (S, B, 1), (C,) -> (S, B, C).

    >>> soft_mask(torch.tensor([[[2.0, 4.0]]]), torch.tensor([[[0.25]]]), torch.tensor([0.0, 8.0]))
    tensor([[[1.5000, 5.0000]]])
    """
    return probability * mask_embedding + (1 - probability) * states


def gate_weights(logits: Tensor, zeros: int = 0) -> Tensor:
    """Eq. (3) to (6), in 32 bits: (..., gates) -> (..., gates); the sum is 1, including the ``zeros`` of absent gates.

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


def not_generated(weights: dict[str, Tensor], copied: Copied, mask_symbol: int) -> Copied:
    """Returns c onehot(y') + s onehot([MASK]) for the words where it is not 0: (B, T, N).

    >>> copied = Copied(torch.tensor([[[1, 2]]]), torch.tensor([[[0.25, 0.75]]]))
    >>> not_generated({"copy": torch.tensor([[0.4]]), "skip": torch.tensor([[0.6]])}, copied, 3)
    Copied(tokens=tensor([[[1, 2, 3]]]), weights=tensor([[[0.1000, 0.3000, 0.6000]]]))
    """
    at_mask = torch.full_like(copied.tokens[:, :, :1], mask_symbol)
    copies = weights["copy"][:, :, None] * copied.weights if "copy" in weights else 0 * copied.weights
    skipped = [weights["skip"][:, :, None]] if "skip" in weights else []
    return Copied(torch.cat([copied.tokens, *[at_mask] * len(skipped)], -1), torch.cat([copies, *skipped], -1))


def mix_vocabulary(logits: Tensor, weights: dict[str, Tensor], rest: Copied) -> Tensor:
    """Returns the released code's scores, whose softmax is P: (B, T, V), the weights, (B, T, N) -> (B, T, V)."""
    generated = logits.float().log_softmax(-1)
    if "generate" in weights:
        generated = weights["generate"][:, :, None] * generated
    return generated.scatter_add(-1, rest.tokens.expand_as(rest.weights), rest.weights)


def mix_probability(logits: Tensor, weights: dict[str, Tensor], rest: Copied) -> Tensor:
    """Returns the logarithm of the mixture of softmax(z) and the ``rest``: (B, T, V) -> (B, T, V).

    Few passes over (B, T, V), which is most of the work where the dictionary is large.
    """
    generated = logits.float().log_softmax(-1)
    if "generate" in weights:
        generated = weights["generate"].log()[:, :, None] + generated
    words, mass = sum_by_word(rest)
    words = words.expand_as(mass)
    log_generated = generated.gather(-1, words)
    log_sum = torch.stack([log_generated, mass.clamp_min(NEGLIGIBLE).log()]).logsumexp(0)  # ONNX lacks logaddexp
    return generated.scatter_add(-1, words, (log_sum - log_generated).masked_fill(mass.eq(0), 0))


def sum_by_word(copied: Copied) -> Copied:
    """Adds up the weights of a word that occurs several times; the places that this frees have weight 0.

    >>> sum_by_word(Copied(torch.tensor([[[7, 5, 7]]]), torch.tensor([[[0.25, 0.5, 0.25]]])))
    Copied(tokens=tensor([[[5, 7, 0]]]), weights=tensor([[[0.5000, 0.5000, 0.0000]]]))
    """
    words, order = copied.tokens.sort(-1)
    place = F.pad(words[..., 1:].ne(words[..., :-1]).long().cumsum(-1), (1, 0))
    weights = copied.weights.gather(-1, order.expand_as(copied.weights))
    return Copied(
        torch.zeros_like(words).scatter(-1, place, words),
        torch.zeros_like(weights).scatter_add(-1, place.expand_as(weights), weights),
    )
