"""Named architectures that differ from a model in some defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairseq.models import register_model_architecture


def register_presets(model: str, presets: Mapping[str, Mapping[str, Any]]) -> None:
    """``presets``: for each ``--arch``, what it changes of ``model``; what the user gives wins."""
    for name, changes in presets.items():
        register_model_architecture(model, name)(_preset(changes))


def _preset(changes: Mapping[str, Any]) -> Callable[[Any], None]:
    def fill_in(args: Any) -> None:
        for key, value in changes.items():
            setattr(args, key, getattr(args, key, value))

    return fill_in
