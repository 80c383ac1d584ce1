"""Matrix products on a CPU, the large ones by oneDNN.

torch's own product is MKL's, which leaves half of a processor with AVX-512 unused if it is not Intel's. oneDNN comes
with torch as well, but in 32 bits torch offers it only to its compiler: ``onednn`` calls the operator that the compiler
uses. On an AMD EPYC with AVX-512, large products and their gradients then take 0.5 of the time. With AVX2 alone, a
product takes as long as torch's own, but the gradient of a weight 1.5 times as long: there, gradients stay torch's own.
So does a small product, which takes oneDNN longer, and all of them on a GPU, in other precisions, and with
``torch.backends.mkldnn.enabled = False``.

Before decoding, ``pack_weights`` puts large weights into the order in which oneDNN reads them fastest. This pays where
few rows are multiplied: from two rows on, a product takes 0.4 to 0.9 of the time.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from lev_plugins.nn.weight_cache import EvalCache

MIN_PRODUCT = 4_000_000  # multiplications from which oneDNN is faster: it takes 0.4 ms to prepare a new shape
MIN_PACKED = 200_000  # weights of a matrix from which packing makes products faster
AVAILABLE = torch.backends.mkldnn.is_available() and all(
    hasattr(torch.ops.mkldnn, name) for name in ("_linear_pointwise", "_reorder_linear_weight")
)
AVX2 = torch.backends.cpu.get_cpu_capability() == "AVX2"  # without AVX-512


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Returns what ``torch.nn.functional.linear`` does: (..., I), (O, I), (O,) -> (..., O).

    >>> linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]), torch.tensor([0.5, 0.0]))
    tensor([[11.5000,  2.0000]])
    """
    if not is_large(x, weight):
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled() and any(factor is not None and factor.requires_grad for factor in (x, weight, bias)):
        # flattened before, since the result may then be changed in place, as ``FeedForward`` does
        return _Linear.apply(x.flatten(0, -2), weight, bias).view(*x.shape[:-1], -1)
    return onednn(x, weight, bias)


def gradients_of(gradient: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the gradients of x (n, I) and of the weight (O, I), given that of their product (n, O)."""
    if AVX2 or not is_large(x, weight):
        return gradient @ weight, gradient.t() @ x
    # the second is (I, n) x (n, O), transposed: the fastest order for many output classes
    return onednn(gradient, weight.t()), onednn(x.t(), gradient.t()).t()


def onednn(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    operator: Any = torch.ops.mkldnn._linear_pointwise.default
    return operator(x, weight, bias, "none", [], "")  # "none": no activation fused to it


def uses_onednn(*factors: Tensor) -> bool:
    """Returns whether oneDNN may multiply these tensors: on a CPU, in 32 bits."""
    return (
        AVAILABLE
        and all(factor.device.type == "cpu" and factor.dtype == torch.float32 for factor in factors)
        and bool(torch.backends.mkldnn.enabled)
        and not torch.is_autocast_enabled("cpu")
    )


def is_large(x: Tensor, weight: Tensor) -> bool:
    return x.numel() * weight.size(0) >= MIN_PRODUCT and uses_onednn(x, weight)


class _Linear(torch.autograd.Function):
    """(n, I), (O, I), (O,) -> (n, O)"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return onednn(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        for_x, for_weight = gradients_of(gradients[0], *ctx.saved_tensors)
        return for_x, for_weight, gradients[0].sum(0) if ctx.needs_input_grad[2] else None


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


class TiedLinear(nn.Module):
    """An output layer whose weight is the first rows of a table of embeddings."""

    bias = None

    def __init__(self, table: Callable[[], Tensor], classes: int) -> None:
        """
        Args:
            table: returns the table; a method of the module that has it, so that a copy of the model finds its own
            classes: the number of rows
        """
        super().__init__()
        self.table, self.classes = table, classes

    @property
    def weight(self) -> Tensor:
        """(classes, C)"""
        return self.table()[: self.classes]

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight)


class PackedLinear(nn.Module):
    """Replaces another layer for decoding: it has only a copy of the weight in oneDNN's order, to save memory."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        reorder: Any = torch.ops.mkldnn._reorder_linear_weight.default
        self.packed: Tensor = reorder(weight.detach().contiguous())
        self.bias = bias

    @property
    def weight(self) -> Tensor:
        """A copy of the weight (O, I), for code that reads it."""
        return self.packed.to_dense()

    def forward(self, x: Tensor) -> Tensor:
        """(..., I) -> (..., O)"""
        return onednn(x, self.packed, self.bias)

    def __reduce__(self) -> tuple[type["PackedLinear"], tuple[Tensor, Tensor | None]]:
        """Copies and pickles by unpacking: torch can neither copy nor save a packed tensor."""
        return PackedLinear, (self.weight, self.bias)


class SharedLinear(EvalCache):
    """A product with a table that is computed elsewhere, which is packed in evaluation mode."""

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        if self.learns or weight.numel() < MIN_PACKED or not uses_onednn(x, weight):
            return linear(x, weight)
        return self.get(lambda: PackedLinear(weight), weight)(x)


def pack_weights(model: nn.Module) -> None:
    """Replaces large layers by ``PackedLinear``, in place and before decoding, if oneDNN is to multiply."""
    if not uses_onednn(next(model.parameters())):
        return
    packed: dict[nn.Module, PackedLinear] = {}  # a layer may be in several places
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, Linear | TiedLinear) and child.weight.numel() >= MIN_PACKED:
                if child not in packed:
                    packed[child] = PackedLinear(child.weight, child.bias)
                setattr(parent, name, packed[child])


def head_projection(dim: int, classes: int) -> Linear:
    head = Linear(dim, classes, bias=False)
    nn.init.normal_(head.weight, std=dim**-0.5)
    return head
