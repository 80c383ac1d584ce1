"""Matrix products on a CPU with oneDNN.

``torch.nn.Linear`` multiplies 32-bit floats with MKL, which does not use the widest vector units of non-Intel
processors: on an AMD EPYC with AVX-512 it reaches 100 GFLOP/s per core, while oneDNN, also part of torch, reaches 230.
oneDNN takes about 0.4 ms to prepare each new shape, so small products use MKL. torch's own product is also used on a
GPU, in other precisions, on processors without AVX-512 (where oneDNN is slower), and in torch builds without the
operator. Setting ``ATEN_CPU_CAPABILITY=avx2`` therefore turns oneDNN off.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["Linear", "head_projection", "linear"]

WIDEST = "AVX512"  # torch's name for the vector units


def _operator(vector_units: str) -> Any:
    """oneDNN's product, or None to use torch's own."""
    available = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return torch.ops.mkldnn._linear_pointwise.default if available and vector_units.startswith(WIDEST) else None


_OPERATOR = _operator(torch.backends.cpu.get_cpu_capability())
WORTH_IT = 4_000_000  # use oneDNN from this many multiplications on


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(..., I), (O, I), (O,) -> (..., O), as ``torch.nn.functional.linear``.

    >>> linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]), torch.tensor([0.5, 0.0]))
    tensor([[11.5000,  2.0000]])
    """
    if not _fits(x, weight):
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad):
        return _Linear.apply(x, weight, bias)
    return _product(x, weight, bias)


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def head_projection(dim: int, classes: int) -> Linear:
    head = Linear(dim, classes, bias=False)
    nn.init.normal_(head.weight, std=dim**-0.5)
    return head


def _fits(x: Tensor, weight: Tensor) -> bool:
    return (
        _OPERATOR is not None
        and x.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and x.numel() * weight.size(0) >= WORTH_IT
        and bool(torch.backends.mkldnn.enabled)
        and not torch.is_autocast_enabled("cpu")
    )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    assert _OPERATOR is not None
    return _OPERATOR(x, weight, bias, "none", [], "")  # "none": no activation fused to it


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        gradient = gradients[0].flatten(0, -2)  # (n, O)
        for_x, for_weight, for_bias = ctx.needs_input_grad
        return (
            _product(gradient, weight.t(), None).view_as(x) if for_x else None,
            # (I, n) x (n, O), transposed: the fastest order for many output classes
            _product(x.flatten(0, -2).t(), gradient.t(), None).t() if for_weight else None,
            gradient.sum(0) if ctx.has_bias and for_bias else None,
        )
