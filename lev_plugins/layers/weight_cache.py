"""Values computed from weights, kept until these change."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

Value = TypeVar("Value")


def lasting(make: Callable[..., Value]) -> Callable[..., Value]:
    """For a function whose result is used later as well, when torch may have left the inference mode it runs in."""

    @wraps(make)
    def outside(*given: Any, **named: Any) -> Value:
        with torch.inference_mode(False), torch.no_grad():
            return make(*given, **named)

    return outside


class Made(NamedTuple, Generic[Value]):
    state: list[tuple[Any, ...]]
    value: Value
    weights: list[Tensor]  # while they are held, no other weight can have their addresses


class Kept(Generic[Value]):
    """Made once, and again for another weight, or one that torch saw changing.

    >>> weight, double = torch.tensor([1.0]), Kept()
    >>> double.of(lambda: 2 * weight, weight)
    tensor([2.])
    >>> _ = weight.add_(4)
    >>> double.of(lambda: 2 * weight, weight)
    tensor([10.])

    A change through ``weight.data`` leaves no trace. fairseq's optimisers make such changes, so ``Keeping`` forgets
    when training begins; other code that makes them has to call ``forget``.
    """

    def __init__(self) -> None:
        self.found: Made[Value] | None = None

    def of(self, make: Callable[[], Value], *weights: Tensor) -> Value:
        if any(weight.is_inference() for weight in weights):  # torch does not count their changes
            return make()
        state = [(weight.data_ptr(), weight._version, weight.shape, weight.dtype) for weight in weights]
        found = self.found  # read once, since several threads may decode
        if found is None or found.state != state:
            found = self.found = Made(state, make(), [weight.detach() for weight in weights])
        return found.value

    def forget(self) -> None:
        self.found = None

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """A copy of a model makes its own."""
        return Kept, ()


class Keeping(nn.Module):
    """Inherit from this before another module: what is ``kept`` is discarded when training begins, or weights move."""

    def __init__(self, *args: Any, **named: Any):
        super().__init__(*args, **named)
        self.kept: Kept[Any] = Kept()

    @property
    def learns(self) -> bool:
        return self.training or torch.is_grad_enabled()

    def constant(self, make: Callable[[], Value], *weights: Tensor) -> Value:
        """What ``make`` returns, ``kept`` unless the weights are being learned."""
        return make() if self.learns else self.kept.of(make, *weights)

    def forget(self) -> None:
        self.kept.forget()

    def train(self, mode: bool = True) -> Any:
        if mode:
            self.forget()
        return super().train(mode)

    def _apply(self, *given: Any, **named: Any) -> Any:
        """``half``, ``cuda`` and the like."""
        self.forget()
        return super()._apply(*given, **named)

    def _load_from_state_dict(self, *given: Any) -> None:
        self.forget()
        super()._load_from_state_dict(*given)
