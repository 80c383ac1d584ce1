"""Range checks for the numbers of flags and files, with one wording for all messages.

A number that is ``None`` was not set and passes. Infinite numbers and NaN are always refused.
"""

import dataclasses
import math
import re
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from lev_plugins.utils.errors import require

# far beyond any model: a larger number is a typing mistake, which would otherwise cost hours or all memory
MAX_LAYERS = 1_000
MAX_BEAM = MAX_ITERATIONS = 1_000  # more only costs time
MAX_BIAS = 1_000  # for a bias: beyond it, the other decision is never made
SPECIAL = 4  # symbols of each fairseq dictionary that are not words
MAX_BATCH = 1_000_000  # texts
MAX_SIZE = 1_000_000  # of a width or a number of heads, positions or classes

SIZE: list[dict[str, float]] = [{"minimum": 1}, {"maximum": MAX_SIZE}]  # two messages, each with one limit
SHARDS = ": fairseq ignores it; decode in shards with --distributed-world-size N --distributed-rank SHARD \
--distributed-no-spawn"
FROZEN = "; to freeze all pre-trained weights of a gated model, use --freeze-backbone"
SHARE: list[dict[str, float]] = [{"minimum": 0, "maximum": 1}]
BOUNDS: dict[str, list[dict[str, Any]]] = {  # names of numbers in configurations of models, tasks and decoding
    r"(encoder_|decoder_)?layers": [{"minimum": 1}, {"maximum": MAX_LAYERS}],
    r"\w*embed_dim|\w*attention_heads|head_dim|\w*positions|farthest_distance": SIZE,
    "max_insertions|spelling_buckets|pack_length": SIZE,
    "distance_buckets": [{"minimum": 4}, {"maximum": MAX_SIZE}],
    "(attention_|activation_|future_)?dropout": [{"minimum": 0, "below": 1}],  # 1 would drop everything
    "rollin_alpha|rollin_beta|noise_share|word_dropout|min_edit_confidence": SHARE,
    "max_ratio|max_ratio_floor|min_words": [{"minimum": 0}],
    "soft_protection": [{"minimum": 0, "maximum": MAX_BIAS}],
    "keep_bias|iter_decode_eos_penalty": [{"minimum": -MAX_BIAS, "maximum": MAX_BIAS}],
    "iter_decode_max_iter": [{"minimum": 0, "maximum": MAX_ITERATIONS, "whole": True}],
    "backbone_lr_factor": [{"above": 0, "advice": FROZEN}],
    "num_shards": [{"maximum": 1, "advice": SHARDS}],
    "shard_id": [{"maximum": 0, "advice": SHARDS}],
    "beam": [{"minimum": 1, "maximum": MAX_BEAM, "whole": True}],
    "nbest|iter_decode_with_beam": [{"minimum": 1}],
    "max_len_a|max_len_b|min_len|prefix_size": [{"minimum": 0}],
    "temperature": [{"minimum": 0.0001, "maximum": 10_000}],  # beyond these, scores become indistinguishable
    "lenpen|unkpen": [{}],
}


def check_ranges(cfg: Any) -> None:
    """Checks all numbers of a configuration that have bounds; a width must suit its number of heads.

    >>> from argparse import Namespace
    >>> check_ranges(Namespace(keep_bias=math.inf))
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --keep-bias must be between -1000 and 1000, but is inf
    >>> check_ranges(Namespace(layers=2, embed_dim=8, attention_heads=3))
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --embed-dim must be a multiple of --attention-heads, but 8 is not divisible by 3
    """
    for name in cfg.keys() if isinstance(cfg, Mapping) else vars(cfg):
        for pattern, bounds in BOUNDS.items():
            if re.fullmatch(pattern, name) and (value := getattr(cfg, name)) is not None:
                # layers of a convolution, or a flag of another group, where fairseq has not filled it in
                is_text = isinstance(value, str) and (name.endswith("layers") or value.startswith("${"))
                for limits in [] if is_text else bounds:
                    bounded(flag_name(name), value, **limits)
    for side in ("", "encoder_", "decoder_"):
        width, heads = f"{side}embed_dim", f"{side}attention_heads"
        dim, number, head_dim = (getattr(cfg, name, None) for name in (width, heads, "head_dim"))
        if dim is not None and number is not None and head_dim is None:
            require(
                dim % number == 0,
                f"{flag_name(width)} must be a multiple of {flag_name(heads)}, but {dim} is not divisible by {number}",
            )


def flag(default: Any, help: str, **more: Any) -> Any:
    """Returns a field of a fairseq dataclass, which is a flag of its commands; ``more`` is metadata for our own use."""
    return dataclasses.field(default=default, metadata={"help": help, **more})


def flag_name(field: str) -> str:
    """Returns the flag that sets a field of a configuration.

    >>> flag_name("encoder_layers")
    '--encoder-layers'
    """
    return f"--{field.replace('_', '-')}"


def bounded(
    name: str,
    value: Any,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    whole: bool = False,
    advice: str = "",
) -> None:
    """Raises an error that says which rule the value breaks; ``advice`` ends its message.

    >>> bounded("--beam", 0, minimum=1)
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --beam must be at least 1, but is 0
    >>> bounded("--word-rate", 2, 0, 1)
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --word-rate must be between 0 and 1, but is 2
    >>> bounded("--dropout", 1.0, 0, below=1)
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --dropout must be at least 0 and below 1, but is 1.0
    >>> bounded("--keep-bias", math.inf)
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --keep-bias must be a finite number, but is inf
    """
    kind, noun = (Integral, "whole number") if whole else (Real, "number")
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    require(is_number, f"{name} must be a {noun}, but is {value!r}")
    limits = {"at least": minimum, "above": above, "at most": maximum, "below": below}
    rules = [f"{word} {limit}" for word, limit in limits.items() if abs(limit) < math.inf]
    if -math.inf < minimum and maximum < math.inf:
        rules = [f"between {minimum} and {maximum}"]
    elif not abs(value) < math.inf and len(rules) < 2:
        rules = ["a finite number"]
    valid = minimum <= value <= maximum and above < value < below
    require(valid, f"{name} must be {' and '.join(rules)}, but is {value}{advice}")


def at_least(args: Any, minimum: float, *fields: str) -> None:
    """Raises an error if one of these flags is less than the minimum."""
    for field in fields:
        if (value := getattr(args, field)) is not None:
            bounded(flag_name(field), value, minimum)


def dictionary_size(args: Any, threshold: str, nwords: str) -> None:
    """Checks the flags that limit a dictionary: how often a word must occur, and how many there may be.

    >>> from argparse import Namespace
    >>> dictionary_size(Namespace(threshold=0, nwords=2), "threshold", "nwords")
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --nwords must be -1 (no limit) or more than 4, which \
<s>, <pad>, </s> and <unk> take, but is 2
    """
    at_least(args, 0, threshold)
    number = getattr(args, nwords)
    require(
        number == -1 or number > SPECIAL,
        f"{flag_name(nwords)} must be -1 (no limit) or more than {SPECIAL}, which <s>, <pad>, </s> and <unk> take, "
        f"but is {number}",
    )
