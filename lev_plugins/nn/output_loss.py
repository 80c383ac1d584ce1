"""The cross-entropy of a policy's decisions: ``HeadOutput`` from logits, ``summed_loss`` for many classes.

``summed_loss`` computes the logits in chunks of rows and never holds all n times V of them. The gradient of a sum is
known up to one factor, which ``backward`` receives, so ``forward`` computes the gradient of each chunk while its
probabilities are in memory. This also takes less time.

Label smoothing mixes the negative log-likelihood of the label with its mean over all classes ("uniform").

Shapes: n decisions, C channels, V classes.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from lev_plugins.nn.linear import gradients_of, linear

LOGITS_PER_CHUNK = 1 << 22  # logits that are computed at a time
IGNORE = -100  # a label that every loss ignores


@dataclass
class HeadLoss:
    """The loss of one policy in a batch."""

    loss: Tensor  # sum over decisions, label smoothing included
    nll: Tensor  # sum over decisions
    count: Tensor  # decisions
    correct: Tensor  # decisions whose argmax is the label


class HeadOutput(NamedTuple):
    """One policy's n decisions, for the criterion; their positions in the batch do not matter.

    A tuple, so that module hooks (fairseq's search for the first NaN) can find its tensors.
    """

    logits: Tensor  # (n, classes)
    labels: Tensor  # (n,), IGNORE where no decision is needed
    tokens: Tensor | None = None  # (n,) the tokens that the deletion policy judges, to report <s> and </s> apart

    def loss(self, smoothing: float) -> HeadLoss:
        """Returns the summed cross-entropy; without decisions, it is 0 and has gradients."""
        log_probs, decided = F.log_softmax(self.logits.float(), -1), self.labels.ne(IGNORE)
        loss = nll = F.nll_loss(log_probs, self.labels, ignore_index=IGNORE, reduction="sum")
        if smoothing > 0:
            uniform = -log_probs.mean(-1).masked_fill(~decided, 0.0).sum()
            loss = (1 - smoothing) * nll + smoothing * uniform
        return HeadLoss(loss, nll, decided.sum(), log_probs.argmax(-1).eq(self.labels).sum())


class SummedLoss(NamedTuple):
    """The sums of the cross-entropy of n decisions among many classes, in place of their logits."""

    nll: Tensor  # ()
    uniform: Tensor  # () the sum of the means over all classes
    correct: Tensor  # () decisions whose likeliest class is the label
    best: Tensor  # (n,) the likeliest classes

    def loss(self, smoothing: float) -> HeadLoss:
        loss = (1 - smoothing) * self.nll + smoothing * self.uniform if smoothing > 0 else self.nll
        return HeadLoss(loss, self.nll, torch.full_like(self.correct, len(self.best)), self.correct)


PolicyOutput = HeadOutput | SummedLoss


def summed_loss(x: Tensor, weight: Tensor, labels: Tensor) -> SummedLoss:
    """Returns the cross-entropy of the logits of x (n, C) and a weight (V, C), summed over labels (n,), none IGNORE.

    >>> x, weight = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> output = summed_loss(x, weight, torch.tensor([0, 0]))
    >>> round(float(output.nll), 3), output.correct, output.best
    (2.254, tensor(1), tensor([0, 1]))
    """
    learns = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad)
    return SummedLoss(*_SummedLoss.apply(x, weight, labels, learns))


def can_compute_gradient_early(x: Tensor) -> bool:
    """Returns whether ``summed_loss`` may compute the gradient for states ``x`` in its forward pass.

    It may not with --fp16 or --amp on a GPU: there, the loss is multiplied by its scale only later, and gradients that
    are rounded to 16 bits before that underflow.
    """
    return x.dtype != torch.half and not (x.is_cuda and torch.is_autocast_enabled("cuda"))


class _SummedLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, labels: Tensor, learns: bool) -> tuple[Tensor, ...]:
        for_x, for_weight = torch.empty_like(x), torch.zeros(weight.shape if learns else (), device=x.device)
        nll, uniform = x.new_zeros((), dtype=torch.float), x.new_zeros((), dtype=torch.float)
        best = torch.empty_like(labels)
        rows = max(1, LOGITS_PER_CHUNK // len(weight))
        for chunk in (slice(start, start + rows) for start in range(0, len(x), rows)):
            log_probs = linear(x[chunk], weight).float().log_softmax(-1)
            nll -= log_probs.gather(1, labels[chunk, None]).sum()
            uniform -= log_probs.mean(-1).sum()
            best[chunk] = log_probs.argmax(-1)
            if learns:
                gradient = log_probs.exp_()  # in place; by logits, the gradient of ``nll`` is p - onehot(label)
                gradient.scatter_add_(1, labels[chunk, None], gradient.new_full((len(gradient), 1), -1.0))
                for_x[chunk], chunk_gradient = gradients_of(gradient.to(x.dtype), x[chunk], weight)
                for_weight += chunk_gradient
        ctx.save_for_backward(for_x, for_weight, x, weight, labels)
        correct = best.eq(labels).sum()
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(correct, best)
        return nll, uniform, correct, best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        """Scales the gradient of ``nll`` from ``forward``; that of ``uniform`` is the same plus a correction.

        By logits, they are p - onehot(label) and p - 1 / V. The correction is therefore onehot(label) - 1 / V, times
        ``weight`` for x, and times x for ``weight``.
        """
        for_x, for_weight, x, weight, labels = ctx.saved_tensors
        for_nll, for_uniform = gradients[:2]
        factor = sum(gradient for gradient in (for_nll, for_uniform) if gradient is not None)
        for_x, for_weight = for_x * factor, for_weight * factor
        if for_uniform is not None:
            for_x += for_uniform * (F.embedding(labels, weight) - weight.mean(0))
            for_weight.index_add_(0, labels, for_uniform * x.float())
            for_weight -= for_uniform * x.float().sum(0) / len(weight)
        return for_x, for_weight.to(weight.dtype), None, None
