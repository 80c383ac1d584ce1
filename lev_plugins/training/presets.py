"""Named architectures: a model with other defaults."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import partial

from fairseq.models import MODEL_DATACLASS_REGISTRY, register_model_architecture


def register_presets(model: str, presets: Mapping[str, Mapping[str, object]]) -> None:
    """Registers architectures of a ``model``; ``presets`` has the defaults that each ``--arch`` changes.

    The user's flags take precedence. A preset may also change flags of the task whose default is None.
    """
    # fairseq leaves out the flags of a model that are not given
    defaults = {field.name: field.default for field in fields(MODEL_DATACLASS_REGISTRY[model]) if field.name != "_name"}
    plain = {
        flag: value for flag, value in defaults.items() if value is not MISSING and not str(value).startswith("${")
    }
    for name, changes in presets.items():
        register_model_architecture(model, name)(partial(fill_in, defaults={**plain, **changes}))


def fill_in(args: Namespace, defaults: Mapping[str, object]) -> None:
    """Sets the flags that the user has not set.

    >>> args = Namespace(layers=4)
    >>> fill_in(args, {"layers": 2, "embed_dim": 64})
    >>> args
    Namespace(layers=4, embed_dim=64)
    """
    for key, value in defaults.items():
        if getattr(args, key, None) is None:
            setattr(args, key, value)
