"""The cross-entropy of an output layer, a few rows at a time, so that memory does not grow with n times V.

The gradient of the sum is known up to the factor that ``backward`` supplies, so it is computed at once, while the
probabilities of the rows are there: the logits of all rows are never kept. That takes less time, too.

Shapes: n decisions, C channels, V classes.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lev_plugins.nn.linear import gradients_of, linear

LOGITS_PER_CHUNK = 1 << 22  # logits that are computed at a time


class SummedLoss(NamedTuple):
    loss: Tensor  # (), label smoothing included
    nll: Tensor  # (), without a gradient
    correct: Tensor  # () decisions whose likeliest class is the label
    best: Tensor  # (n,) the likeliest classes


def summed_loss(x: Tensor, weight: Tensor, labels: Tensor, smoothing: float) -> SummedLoss:
    """Returns the cross-entropy of the logits of x (n, C) and a weight (V, C), summed over all labels (n,).

    >>> x, weight = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> output = summed_loss(x, weight, torch.tensor([0, 0]), smoothing=0.0)
    >>> round(float(output.nll), 3), output.correct, output.best
    (2.254, tensor(1), tensor([0, 1]))
    """
    learns = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    return SummedLoss(*_SummedLoss.apply(x, weight, labels, smoothing, learns))


def gradient_is_ready(x: Tensor) -> bool:
    """Returns whether the gradient can be computed along with the loss of states ``x``.

    It cannot with --fp16 or --amp on a GPU, where the scale of the loss is not known yet.
    """
    return x.dtype != torch.half and not (x.is_cuda and torch.is_autocast_enabled("cuda"))


class _SummedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, labels: Tensor, smoothing: float, learns: bool
    ) -> tuple[Tensor, ...]:
        for_x, for_weight = torch.empty_like(x), torch.zeros(weight.shape if learns else (), device=x.device)
        loss, nll = x.new_zeros((), dtype=torch.float), x.new_zeros((), dtype=torch.float)
        best = torch.empty_like(labels)
        rows = max(1, LOGITS_PER_CHUNK // len(weight))
        for chunk in (slice(start, start + rows) for start in range(0, len(x), rows)):
            log_probs = linear(x[chunk], weight).float().log_softmax(-1)
            chunk_nll = -log_probs.gather(1, labels[chunk, None]).sum()
            nll += chunk_nll
            loss += (1 - smoothing) * chunk_nll - smoothing * log_probs.mean(-1).sum()
            best[chunk] = log_probs.argmax(-1)
            if learns:
                gradient = log_probs.exp_().sub_(smoothing / len(weight))  # of the logits
                gradient.scatter_add_(1, labels[chunk, None], gradient.new_full((len(gradient), 1), smoothing - 1))
                for_x[chunk], chunk_gradient = gradients_of(gradient.to(x.dtype), x[chunk], weight)
                for_weight += chunk_gradient
        ctx.save_for_backward(for_x, for_weight.to(weight.dtype))
        correct = best.eq(labels).sum()
        ctx.mark_non_differentiable(nll, correct, best)
        return loss, nll, correct, best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        for_x, for_weight = ctx.saved_tensors
        return for_x * gradients[0], for_weight * gradients[0], None, None, None
