"""Values computed from weights, kept in evaluation mode."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Value = TypeVar("Value")


class Keeping(nn.Module):
    """A part of a model, without weights: it keeps one value that is made of the model's weights until they change.

    They may change when training begins, when they move, and when others are loaded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: tuple[tuple[Any, ...], Any] | None = None

    @property
    def learns(self) -> bool:
        return self.training or torch.is_grad_enabled()

    def constant(self, make: Callable[[], Value], *weights: Tensor) -> Value:
        """What ``make`` makes of these ``weights``; kept unless they are being learned."""
        if self.learns:
            return make()
        kept = self.kept  # read once, since several threads may decode
        if kept is None or any(now is not before for now, before in zip(weights, kept[0], strict=True)):
            kept = self.kept = weights, make()
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        """A copy makes its own."""
        return {**self.__dict__, "kept": None}

    def train(self, mode: bool = True) -> Any:
        if mode:
            self.kept = None
        return super().train(mode)

    def _apply(self, *given: Any, **named: Any) -> Any:
        """``half``, ``cuda`` and the like."""
        self.kept = None
        return super()._apply(*given, **named)

    def _load_from_state_dict(self, *given: Any) -> None:
        self.kept = None
        super()._load_from_state_dict(*given)
