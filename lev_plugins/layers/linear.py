"""Matrix products on a CPU by the faster one of torch's libraries (``products``).

oneDNN takes about 0.4 ms to prepare each new shape, so small products are torch's own, as are those on a GPU and in
other precisions. In decoding, a large weight is also kept in the order in which oneDNN reads it fastest, which pays
from two rows on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from lev_plugins.layers.products import TORCH, for_gradients, for_products, onednn, packed, verdict
from lev_plugins.layers.weight_cache import Keeping

LARGE = 4_000_000  # multiplications from which the library is chosen
MANY = 200_000  # weights of a matrix from which another order of them pays
FEW = 2  # ... and rows of the other factor
HUGE = 2_000_000  # weights from which it pays for one row


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(..., I), (O, I), (O,) -> (..., O), as ``torch.nn.functional.linear``.

    >>> linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]), torch.tensor([0.5, 0.0]))
    tensor([[11.5000,  2.0000]])
    """
    if not _large(x, weight):
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in (x, weight, bias)):
        library = verdict().forward or verdict().backward
        return of_rows(_Linear.apply, x, weight, bias) if library else F.linear(x, weight, bias)
    return for_products().product(x, weight, bias)


def gradients_of(gradient: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Those of x (n, I) and of the weight (O, I), from that of their product (n, O)."""
    library = for_gradients() if _large(x, weight) else TORCH
    return library.into_x(gradient, weight), library.into_weight(gradient, x)


def of_rows(product: Callable[..., Tensor], x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Flattens (..., I) to (n, I) for the product: its own result is then no view, and may be changed in place."""
    return product(x.flatten(0, -2), weight, bias).view(*x.shape[:-1], -1)


class SharedLinear(Keeping):
    """A product with a weight that belongs to another module; where nothing is learned, in oneDNN's order."""

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        enough = weight.numel() >= (MANY if x.numel() >= FEW * weight.size(1) else HUGE)
        if self.learns or not enough or not _by_library(x, weight) or not verdict().packed:
            return linear(x, weight, bias)
        return onednn(x, self.kept.of(lambda: packed(weight), weight), bias)


class Linear(SharedLinear, nn.Linear):
    """Its weight may be kept in oneDNN's order alone, which saves its memory; it is put back when it is read.

    Until then, the parameter is NaN throughout, and takes no memory.
    """

    alone: Tensor | None = None  # the weight in oneDNN's order, while it has no other

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        alone, weight = self.alone, self._parameters.get("weight")  # read once, since several threads may decode
        if alone is None and weight is not None and weight.numel() < MANY and x.numel() * self.out_features < LARGE:
            return F.linear(x, weight, self._parameters.get("bias"))  # at once: a small model has many such products
        if alone is not None and not self.learns and _by_library(x, x):
            return onednn(x, alone, self.bias)
        return super().forward(x, self.weight, self.bias)

    @property
    def may_give_up_order(self) -> bool:
        return self.alone is None and self.weight.numel() >= MANY and _by_library(self.weight, self.weight)

    def give_up_order(self) -> None:
        weight, alone = self.weight, packed(self.weight)
        self.forget()
        weight.data = torch.full((), torch.nan).expand(weight.shape)
        self.alone = alone

    def put_back(self) -> None:
        alone, weight = self.alone, self._parameters.get("weight")
        if alone is not None and weight is not None:
            with torch.inference_mode(False):
                weight.data = alone.to_dense()
            self.alone = None

    def __getattr__(self, name: str) -> Any:
        if name == "weight":
            self.put_back()
        return super().__getattr__(name)

    def forget(self) -> None:
        self.put_back()
        super().forget()

    def _save_to_state_dict(self, *given: Any) -> None:
        self.put_back()
        super()._save_to_state_dict(*given)

    def __getstate__(self) -> dict[str, Any]:
        self.put_back()
        return self.__dict__


def save_memory(model: nn.Module) -> None:
    """Before decoding on a CPU whose products are fastest in oneDNN's order: weights in that order alone."""
    large = [module for module in model.modules() if isinstance(module, Linear) and module.may_give_up_order]
    if large and verdict().packed:
        for module in large:
            module.give_up_order()


def head_projection(dim: int, classes: int) -> Linear:
    head = Linear(dim, classes, bias=False)
    nn.init.normal_(head.weight, std=dim**-0.5)
    return head


def _large(x: Tensor, weight: Tensor) -> bool:
    return x.numel() * weight.size(0) >= LARGE and _by_library(x, weight)


def _by_library(x: Tensor, weight: Tensor) -> bool:
    return (
        x.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and bool(torch.backends.mkldnn.enabled)
        and not torch.is_autocast_enabled("cpu")
    )


class _Linear(torch.autograd.Function):
    """(n, I), (O, I), (O,) -> (n, O)"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return for_products().product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        gradient = gradients[0]  # (n, O)
        for_x, for_weight, for_bias = ctx.needs_input_grad
        library = for_gradients()
        return (
            library.into_x(gradient, weight) if for_x else None,
            library.into_weight(gradient, x) if for_weight else None,
            gradient.sum(0) if ctx.has_bias and for_bias else None,
        )
