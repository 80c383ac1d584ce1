"""The cross-entropy of an output layer, a few rows at a time, so that memory does not grow with n times V.

The gradient of a sum over decisions does not depend on what is done with the sum, so it is computed at once, while the
probabilities of the rows are there: the logits of all rows are never kept. That takes less time, too.

Shapes: n decisions, C channels, V classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from lev_plugins.layers.linear import gradients_of, linear

__all__ = ["SummedLoss", "computed_at_once", "summed_loss"]

AT_ONCE = 1 << 22  # logits


class SummedLoss(NamedTuple):
    loss: Tensor  # (), label smoothing included
    nll: Tensor  # ()
    correct: Tensor  # () decisions whose likeliest class is the label
    best: Tensor  # (n,) the likeliest classes


def summed_loss(x: Tensor, weight: Tensor, labels: Tensor, smoothing: float) -> SummedLoss:
    """Of logits (n, C) times (V, C); every label (n,) counts.

    >>> x, weight = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> found = summed_loss(x, weight, torch.tensor([0, 0]), smoothing=0.0)
    >>> round(float(found.nll), 3), found.correct, found.best
    (2.254, tensor(1), tensor([0, 1]))
    """
    return SummedLoss(*_SummedLoss.apply(x, weight, labels, smoothing))


def computed_at_once(x: Tensor) -> bool:
    """Not under --fp16 and --amp on a GPU: their gradients are scaled, lest they vanish, and how is known later."""
    return x.dtype != torch.half and not (x.is_cuda and torch.is_autocast_enabled("cuda"))


class _SummedLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, ...]:
        learns = any(ctx.needs_input_grad)
        for_x, for_weight = (torch.zeros_like(each) for each in (x, weight)) if learns else (None, None)
        sums = torch.zeros(2, device=x.device)
        best = torch.empty_like(labels)
        rows = max(1, AT_ONCE // len(weight))
        for some in (slice(first, first + rows) for first in range(0, len(x), rows)):
            log_probs = linear(x[some], weight).float().log_softmax(-1)
            nll = -log_probs.gather(1, labels[some, None]).sum()
            sums += torch.stack([(1 - smoothing) * nll - smoothing * log_probs.mean(-1).sum(), nll])
            best[some] = log_probs.argmax(-1)
            if for_x is not None and for_weight is not None:
                wrong = log_probs.exp_().sub_(smoothing / len(weight))  # the gradient of the logits
                wrong.scatter_add_(1, labels[some, None], wrong.new_full((len(wrong), 1), smoothing - 1))
                into_x, into_weight = gradients_of(wrong.to(x.dtype), x[some], weight)
                for_x[some] = into_x
                for_weight += into_weight
        ctx.save_for_backward(for_x, for_weight)
        correct = best.eq(labels).sum()
        ctx.mark_non_differentiable(correct, best)
        return sums[0], sums[1], correct, best

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        for_x, for_weight = ctx.saved_tensors
        return for_x * gradients[0], for_weight * gradients[0], None, None
