"""Named architectures: a model with other defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairseq.models import register_model_architecture

__all__ = ["register_presets"]


def register_presets(model: str, presets: Mapping[str, Mapping[str, Any]]) -> None:
    """``presets``: the defaults of ``model`` that each ``--arch`` changes; the user's flags take precedence."""
    for name, changes in presets.items():
        register_model_architecture(model, name)(_preset(changes))


def _preset(changes: Mapping[str, Any]) -> Callable[[Any], None]:
    def fill_in(args: Any) -> None:
        for key, value in changes.items():
            setattr(args, key, getattr(args, key, value))

    return fill_in
