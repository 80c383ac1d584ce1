"""Values that are computed from weights and cached in evaluation mode."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Value = TypeVar("Value")


class EvalCache(nn.Module):
    """A part of a model, without weights of its own, that caches one value computed from the model's weights.

    The cache is emptied when the weights may change: when training begins, and when they are moved or loaded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.entry: tuple[tuple[Tensor, ...], Any] | None = None  # the weights, and the value

    @property
    def learns(self) -> bool:
        """True if gradients may be needed: then nothing is cached."""
        return self.training or torch.is_grad_enabled()

    def get(self, compute: Callable[[], Value], *weights: Tensor) -> Value:
        """Returns what ``compute`` returns, which is cached for as long as the ``weights`` are the same tensors."""
        if self.learns:
            return compute()
        entry = self.entry  # read once, since several threads may decode
        if entry is None or any(weight is not key for weight, key in zip(weights, entry[0], strict=True)):
            entry = self.entry = weights, compute()
        return entry[1]

    def rows(self, compute: Callable[[], Tensor], ids: Tensor, *weights: Tensor) -> Tensor:
        """Returns rows (n, ...) of what ``get`` returns, a table."""
        return F.embedding(ids, self.get(compute, *weights))

    def __getstate__(self) -> dict[str, object]:
        """A copy starts with an empty cache."""
        return {**self.__dict__, "entry": None}

    def train(self, mode: bool = True) -> "EvalCache":
        if mode:
            self.entry = None
        return super().train(mode)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "EvalCache":
        """Applies ``half``, ``cuda`` and the like."""
        self.entry = None
        return super()._apply(fn, recurse)

    def _load_from_state_dict(self, *args: Any) -> None:
        self.entry = None
        super()._load_from_state_dict(*args)
