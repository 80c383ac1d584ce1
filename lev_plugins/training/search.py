"""Checks of fairseq's flags of decoding: fairseq accepts any number, but fails or stalls on some while decoding."""

from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.configs import GenerationConfig
from torch import nn

from lev_plugins.training.checkpoints import require_finite_weights
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag_name

# fairseq's refinement flags, which have no effect on left-to-right search
REFINEMENT_OPTIONS = (
    *("iter_decode_max_iter", "iter_decode_eos_penalty", "iter_decode_force_max_iter", "iter_decode_with_beam"),
    *("iter_decode_with_external_reranker", "retain_iter_history", "print_step"),
)


def refuse(
    options: FairseqDataclass | Namespace, names: Iterable[str], config: type, reason: str, advice: str = "leave it out"
) -> None:
    """Requires that the flags ``names`` have the defaults of ``config``.

    ``options`` is a ``config``, or a Namespace of some of its fields.
    """
    defaults = {flag.name: flag.default for flag in fields(config)}
    for name in names:
        value = getattr(options, name, None)
        require(value is None or value == defaults[name], f"{flag_name(name)} {reason}: {advice}")


def check_search(models: Iterable[nn.Module], args: GenerationConfig | Namespace) -> None:
    """Checks the numbers and the weights for decoding with any model.

    ``args`` is fairseq's GenerationConfig, or a Namespace of what --eval-bleu-args sets.
    """
    ranges.check_ranges(args)
    for model in models:
        require_finite_weights(model)


def check_left_to_right(models: Iterable[nn.Module], args: GenerationConfig | Namespace, name: str) -> None:
    """Checks the flags of left-to-right search with a model called ``name``."""
    check_search(models, args)
    refuse(args, REFINEMENT_OPTIONS, GenerationConfig, f"is for refinement, which a {name} does not do")


def option(args: GenerationConfig | Namespace, name: str) -> Any:
    """Returns a flag of ``args``, which are those of ``check_search``, or its default."""
    value = getattr(args, name, None)
    return getattr(GenerationConfig, name) if value is None else value


def registered_name(cfg: Mapping[str, Any] | FairseqDataclass | Namespace, legacy_field: str) -> str | None:
    """Returns the name under which a model or a criterion is registered; old configurations have it in a field.

    >>> from argparse import Namespace
    >>> registered_name(Namespace(_name="levt"), "arch"), registered_name(Namespace(arch="pbd"), "arch")
    ('levt', 'pbd')
    """
    entries = cfg if isinstance(cfg, Mapping) else vars(cfg)
    return entries.get("_name") or entries.get(legacy_field)
