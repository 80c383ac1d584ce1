"""Named architectures: a model with other defaults."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import partial
from typing import Any

from fairseq.models import MODEL_DATACLASS_REGISTRY, register_model_architecture


def register_presets(model: str, presets: Mapping[str, Mapping[str, Any]]) -> None:
    """``presets``: the defaults of ``model`` that each ``--arch`` changes; the user's flags take precedence.

    The other defaults are for checkpoints of older versions, which knew fewer flags.
    """
    others = {each.name: each.default for each in fields(MODEL_DATACLASS_REGISTRY[model]) if each.name != "_name"}
    plain = {name: value for name, value in others.items() if value is not MISSING and not str(value).startswith("${")}
    for name, changes in presets.items():
        register_model_architecture(model, name)(partial(fill_in, defaults={**plain, **changes}))


def fill_in(args: Any, defaults: Mapping[str, Any]) -> None:
    """Set what the user's flags have not set.

    >>> from argparse import Namespace
    >>> args = Namespace(layers=4)
    >>> fill_in(args, {"layers": 2, "embed_dim": 64})
    >>> args
    Namespace(layers=4, embed_dim=64)
    """
    for key, value in defaults.items():
        if key not in args:
            setattr(args, key, value)
