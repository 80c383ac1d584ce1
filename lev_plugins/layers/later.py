"""Modules that gained weights after models were first saved."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class HasLaterWeights(nn.Module):
    """Models of earlier versions lack some weights, which are then 0.

    >>> class Sum(HasLaterWeights):
    ...     later_weights = ("new",)
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.old, self.new = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    >>> module = Sum()
    >>> module.load_state_dict({"old": torch.tensor([5.0])}), module.new.item()
    (<All keys matched successfully>, 0.0)
    """

    later_weights: tuple[str, ...] = ()

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        for name in self.later_weights:
            state_dict.setdefault(prefix + name, torch.zeros_like(self.get_parameter(name)))
        super()._load_from_state_dict(state_dict, prefix, *others)
