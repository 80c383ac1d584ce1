"""The cross-entropy of an output layer, a few rows at a time, so that memory does not grow with n times V.

The gradient of the sum is known up to the factor that ``backward`` supplies, so it is computed at once, while the
probabilities of the rows are there: the logits of all rows are never kept. That takes less time, too.

Shapes: n decisions, C channels, V classes.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lev_plugins.layers.linear import gradients_of, linear

AT_ONCE = 1 << 22  # logits


class SummedLoss(NamedTuple):
    loss: Tensor  # (), label smoothing included
    nll: Tensor  # (), without a gradient
    correct: Tensor  # () decisions whose likeliest class is the label
    best: Tensor  # (n,) the likeliest classes


def summed_loss(x: Tensor, weight: Tensor, labels: Tensor, smoothing: float) -> SummedLoss:
    """Of logits (n, C) times (V, C); every label (n,) counts.

    >>> x, weight = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> found = summed_loss(x, weight, torch.tensor([0, 0]), smoothing=0.0)
    >>> round(float(found.nll), 3), found.correct, found.best
    (2.254, tensor(1), tensor([0, 1]))
    """
    learns = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    return SummedLoss(*_SummedLoss.apply(x, weight, labels, smoothing, learns))


def computed_at_once(x: Tensor) -> bool:
    """Not with --fp16 or --amp on a GPU, where gradients need a loss scale that is not yet known."""
    return x.dtype != torch.half and not (x.is_cuda and torch.is_autocast_enabled("cuda"))


class _SummedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, labels: Tensor, smoothing: float, learns: bool
    ) -> tuple[Tensor, ...]:
        for_x, for_weight = torch.empty_like(x), torch.zeros(weight.shape if learns else (), device=x.device)
        loss, nll = x.new_zeros((), dtype=torch.float), x.new_zeros((), dtype=torch.float)
        best = torch.empty_like(labels)
        rows = max(1, AT_ONCE // len(weight))
        for some in (slice(first, first + rows) for first in range(0, len(x), rows)):
            log_probs = linear(x[some], weight).float().log_softmax(-1)
            nll_of_some = -log_probs.gather(1, labels[some, None]).sum()
            nll += nll_of_some
            loss += (1 - smoothing) * nll_of_some - smoothing * log_probs.mean(-1).sum()
            best[some] = log_probs.argmax(-1)
            if learns:
                wrong = log_probs.exp_().sub_(smoothing / len(weight))  # the gradient of the logits
                wrong.scatter_add_(1, labels[some, None], wrong.new_full((len(wrong), 1), smoothing - 1))
                into_x, into_weight = gradients_of(wrong.to(x.dtype), x[some], weight)
                for_x[some] = into_x
                for_weight += into_weight
        ctx.save_for_backward(for_x, for_weight.to(weight.dtype))
        correct = best.eq(labels).sum()
        ctx.mark_non_differentiable(nll, correct, best)
        return loss, nll, correct, best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        for_x, for_weight = ctx.saved_tensors
        return for_x * gradients[0], for_weight * gradients[0], None, None, None
