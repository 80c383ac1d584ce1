"""A table that is looked up many times in one pass."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


class Table:
    """Rows of a matrix (R, C), whose look-ups add their gradients to one matrix.

    Each ``torch.nn.functional.embedding`` makes a gradient of the size of the table, most of it zeros: with a large
    dictionary, that takes longer than the rest of a small model. For one pass: forward, then at most one backward.

    >>> weight = torch.zeros(3, 2, requires_grad=True)
    >>> table = Table(weight)
    >>> (table.rows(torch.tensor([2, 2])).sum() + 5 * table.rows(torch.tensor([0])).sum()).backward()
    >>> weight.grad.tolist()
    [[5.0, 5.0], [0.0, 0.0], [2.0, 2.0]]
    >>> Table(torch.tensor([[7.0], [8.0]]), place=torch.tensor([-1, 1, 0])).rows(torch.tensor([2, 1])).tolist()
    [[7.0], [8.0]]
    >>> Table(torch.tensor([[7.0], [8.0]]), more=torch.tensor([[9.0]])).rows(torch.tensor([2, 1])).tolist()
    [[9.0], [8.0]]
    """

    def __init__(self, weight: Tensor, place: Tensor | None = None, more: Tensor | None = None):
        """``place`` (n,): the row of each id, if that is not the id; -1: it has none.

        ``more`` are rows after those of the ``weight``. They are joined only to learn, since that copies both.
        """
        self.collected: list[Tensor] = []
        self.learns = torch.is_grad_enabled() and weight.requires_grad
        if place is not None and more is not None:
            place = torch.cat([place, len(weight) + torch.arange(len(more), device=place.device)])
        if self.learns and more is not None:
            weight, more = torch.cat([weight, more]), None
        self.place, self.more = place, more
        self.weight: Tensor = _Collect.apply(weight, self.collected) if self.learns else weight

    def rows(self, ids: Tensor) -> Tensor:
        """(...) -> (..., C)"""
        if self.place is not None:
            ids = self.place[ids]
        if self.more is not None:
            return torch.where(
                ids[..., None] < len(self.weight),
                F.embedding(ids.clamp(max=len(self.weight) - 1), self.weight),
                F.embedding((ids - len(self.weight)).clamp(min=0), self.more),
            )
        if not self.learns:
            return F.embedding(ids, self.weight)
        return _Rows.apply(self.weight, ids, self.collected)


class _Collect(torch.autograd.Function):
    """Its backward runs after that of all look-ups, since each has an edge to it."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, collected: list[Tensor]) -> Tensor:
        ctx.collected, ctx.dtype = collected, weight.dtype
        ctx.set_materialize_grads(False)
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, None]:
        theirs = gradients[0]
        mine = ctx.collected.pop().to(ctx.dtype) if ctx.collected else None
        return (mine if theirs is None else theirs if mine is None else mine.add_(theirs)), None


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, ids: Tensor, collected: list[Tensor]) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.collected, ctx.size = collected, weight.shape
        return F.embedding(ids, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None]:
        (ids,) = ctx.saved_tensors
        gradient = gradients[0].flatten(0, -2)
        if not ctx.collected:
            ctx.collected.append(gradient.new_zeros(ctx.size, dtype=torch.float32))
        ctx.collected[0].index_add_(0, ids.flatten(), gradient.float())
        return None, None, None
