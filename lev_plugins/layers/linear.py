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
from fairseq.modules import MultiheadAttention
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from lev_plugins.layers.weight_cache import Keeping

LARGE = 4_000_000  # multiplications from which oneDNN pays: it takes 0.4 ms to prepare a new shape
MANY = 200_000  # weights of a matrix from which another order of them pays
AVAILABLE = torch.backends.mkldnn.is_available() and all(
    hasattr(torch.ops.mkldnn, name) for name in ("_linear_pointwise", "_reorder_linear_weight")
)
AVX2 = torch.backends.cpu.get_cpu_capability() == "AVX2"  # and nothing above it


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(..., I), (O, I), (O,) -> (..., O), as ``torch.nn.functional.linear``.

    >>> linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]), torch.tensor([0.5, 0.0]))
    tensor([[11.5000,  2.0000]])
    """
    if not is_large(x, weight):
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled() and any(factor is not None and factor.requires_grad for factor in (x, weight, bias)):
        # flat, since the result is then no view, and may be changed in place
        return _Linear.apply(x.flatten(0, -2), weight, bias).view(*x.shape[:-1], -1)
    return onednn(x, weight, bias)


def gradients_of(gradient: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Those of x (n, I) and of the weight (O, I), from that of their product (n, O)."""
    if AVX2 or not is_large(x, weight):
        return gradient @ weight, gradient.t() @ x
    # the second is (I, n) x (n, O), transposed: the fastest order for many output classes
    return onednn(gradient, weight.t()), onednn(x.t(), gradient.t()).t()


def onednn(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    operator: Any = torch.ops.mkldnn._linear_pointwise.default
    return operator(x, weight, bias, "none", [], "")  # "none": no activation fused to it


def by_onednn(*factors: Tensor) -> bool:
    return (
        AVAILABLE
        and all(factor.device.type == "cpu" and factor.dtype == torch.float32 for factor in factors)
        and bool(torch.backends.mkldnn.enabled)
        and not torch.is_autocast_enabled("cpu")
    )


def is_large(x: Tensor, weight: Tensor) -> bool:
    return x.numel() * weight.size(0) >= LARGE and by_onednn(x, weight)


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


class PackedLinear(nn.Module):
    """In place of a ``Linear``, for decoding: its weight in oneDNN's order, and in no other, which saves memory."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None):
        super().__init__()
        self.out_features, self.in_features = weight.shape
        reorder: Any = torch.ops.mkldnn._reorder_linear_weight.default
        self.packed: Tensor = reorder(weight.detach().contiguous())
        self.bias = bias

    @property
    def weight(self) -> Tensor:
        """(O, I) a copy, for code that reads it"""
        return self.packed.to_dense()

    def forward(self, x: Tensor) -> Tensor:
        """(..., I) -> (..., O)"""
        return onednn(x, self.packed, self.bias)

    def __reduce__(self) -> tuple[Any, ...]:
        """torch can neither copy nor save a packed tensor."""
        return PackedLinear, (self.weight, self.bias)


class SharedLinear(Keeping):
    """A product with a table that is computed elsewhere; where nothing is learned, the table is packed."""

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        if self.learns or weight.numel() < MANY or not by_onednn(x, weight):
            return linear(x, weight)
        return self.constant(lambda: PackedLinear(weight), weight)(x)


def replace_linears(
    model: nn.Module, make: Callable[[nn.Linear], nn.Module], smallest: int, kind: type[nn.Linear] = nn.Linear
) -> None:
    """Replace, in place, each layer of a ``kind`` with at least ``smallest`` weights by what ``make`` makes of it.

    An output that shares the table of words first gets a layer of its own (``untie_output``).
    """
    for module in list(model.modules()):
        untie: Any = getattr(module, "untie_output", None)
        if untie is not None:
            untie()
    made: dict[nn.Module, nn.Module] = {}  # a layer may be in several places
    for parent in list(model.modules()):
        if isinstance(parent, MultiheadAttention):  # fairseq multiplies with the weights of its parts
            continue
        for name, child in list(parent.named_children()):
            if isinstance(child, kind) and child.weight.numel() >= smallest:
                if child not in made:
                    made[child] = make(child)
                setattr(parent, name, made[child])


def pack_weights(model: nn.Module) -> None:
    """Before decoding: replace, in place, each large ``Linear`` by a ``PackedLinear``, if oneDNN is to multiply."""
    if by_onednn(next(model.parameters())):
        replace_linears(model, lambda layer: PackedLinear(layer.weight, layer.bias), MANY, Linear)


def output_of(table: Tensor) -> Linear:
    """A layer that multiplies with the (V, C) words' table, without copying it."""
    layer = Linear(table.size(1), table.size(0), bias=False, device="meta")
    layer.weight = nn.Parameter(table)
    return layer


def head_projection(dim: int, classes: int) -> Linear:
    head = Linear(dim, classes, bias=False)
    nn.init.normal_(head.weight, std=dim**-0.5)
    return head
