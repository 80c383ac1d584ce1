"""What follows from weights, for as long as nothing changes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from torch import Tensor, nn

__all__ = ["Keeping", "Kept"]

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Made once, and again if a weight has changed since.

    >>> import torch
    >>> weight, double = torch.tensor([1.0]), Kept()
    >>> double.of(lambda: 2 * weight, weight)
    tensor([2.])
    >>> _ = weight.add_(4)
    >>> double.of(lambda: 2 * weight, weight)
    tensor([10.])

    fairseq's optimisers change weights through ``.data``, which leaves no trace: see ``Keeping``.
    """

    def __init__(self) -> None:
        self.found: tuple[list[tuple[int, int]], Value] | None = None

    def of(self, make: Callable[[], Value], *weights: Tensor) -> Value:
        state = [(weight.data_ptr(), 0 if weight.is_inference() else weight._version) for weight in weights]
        found = self.found  # one tuple, since several threads may decode
        if found is None or found[0] != state:
            found = self.found = state, make()
        return found[1]

    def forget(self) -> None:
        self.found = None

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """A copy of a model makes its own."""
        return Kept, ()


class Keeping(nn.Module):
    """Inherit from this before another module: what it has ``kept`` ends when training begins."""

    def __init__(self, *args: Any, **named: Any):
        super().__init__(*args, **named)
        self.kept: Kept[Any] = Kept()

    def train(self, mode: bool = True) -> Any:
        if mode:
            self.kept.forget()
        return super().train(mode)
