"""Range checks for the numbers that a user gives, with one wording for all messages.

``given`` is a configuration or the arguments of a command; a field that is ``None`` was not set and passes. Infinite
numbers and NaN are always refused.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from lev_plugins.errors import require

# Far beyond any model: a larger number is a typing mistake, which would otherwise cost hours or all memory
MOST_LAYERS = 1_000
MOST_LOG_ODDS = 1_000  # for a bias: beyond it, the other decision is never made
SPECIAL = 4  # words of fairseq's dictionaries that stand for no word
MOST = 1_000_000  # for a width or a number of heads, positions or classes

WIDTHS = ("embed_dim", "ffn_embed_dim", "attention_heads")
DROPOUTS = ("dropout", "attention_dropout", "activation_dropout")
POSITIONS = ("max_source_positions", "max_target_positions")


def flag_name(field: str) -> str:
    """
    >>> flag_name("encoder_layers")
    '--encoder-layers'
    """
    return f"--{field.replace('_', '-')}"


def bounded(
    name: str,
    value: Any,
    least: float = -math.inf,
    most: float = math.inf,
    *,
    above: float | None = None,
    below: float | None = None,
    advice: str = "",
) -> None:
    """
    >>> bounded("--beam", 0, least=1)
    Traceback (most recent call last):
    lev_plugins.errors.UserError: --beam must be at least 1, but is 0
    >>> bounded("--word-rate", 2, 0, 1)
    Traceback (most recent call last):
    lev_plugins.errors.UserError: --word-rate must be between 0 and 1, but is 2
    >>> bounded("--dropout", 1.0, 0, below=1)
    Traceback (most recent call last):
    lev_plugins.errors.UserError: --dropout must be at least 0 and below 1, but is 1.0
    >>> bounded("--keep-bias", math.inf)
    Traceback (most recent call last):
    lev_plugins.errors.UserError: --keep-bias must be a finite number, but is inf
    """
    require(isinstance(value, Real), f"{name} must be a number, but is {value!r}")
    low, high = least if above is None else above, most if below is None else below
    inside = (low < value if above is not None else low <= value) and (
        value < high if below is not None else value <= high
    )
    rule = wording(least, most, above, below, value)
    require(inside and abs(value) < math.inf, f"{name} must be {rule}, but is {value}{advice}")


def wording(least: float, most: float, above: float | None, below: float | None, value: float) -> str:
    lower = f"above {above}" if above is not None else f"at least {least}" if least > -math.inf else ""
    upper = f"below {below}" if below is not None else f"at most {most}" if most < math.inf else ""
    if lower and upper:
        return f"between {least} and {most}" if above is None and below is None else f"{lower} and {upper}"
    return (lower or upper) if abs(value) < math.inf and (lower or upper) else "a finite number"


def _each(given: Any, fields: tuple[str, ...]) -> list[tuple[str, Any]]:
    return [(flag_name(field), value) for field in fields if (value := getattr(given, field)) is not None]


def finite(given: Any, *fields: str) -> None:
    for name, value in _each(given, fields):
        bounded(name, value)


def at_least(given: Any, least: float, *fields: str) -> None:
    for name, value in _each(given, fields):
        bounded(name, value, least)


def at_most(given: Any, most: float, *fields: str) -> None:
    for name, value in _each(given, fields):
        bounded(name, value, most=most)


def sizes(given: Any, *fields: str, most: int = MOST) -> None:
    at_least(given, 1, *fields)
    at_most(given, most, *fields)


def layers(given: Any, *fields: str) -> None:
    sizes(given, *fields, most=MOST_LAYERS)


def rates(given: Any, *fields: str) -> None:
    """Shares and probabilities, from 0 to 1."""
    for name, value in _each(given, fields):
        bounded(name, value, 0, 1)


def dropouts(given: Any, *fields: str) -> None:
    """Shares that are removed, so 1 is too much."""
    for name, value in _each(given, fields):
        bounded(name, value, 0, below=1)


def transformer(given: Any, *sides: str) -> None:
    """The sizes and dropout rates that a Transformer has; its flags begin with each of ``sides``.

    >>> from argparse import Namespace
    >>> transformer(Namespace(layers=2, embed_dim=16, attention_heads=3), "")
    Traceback (most recent call last):
    lev_plugins.errors.UserError: --embed-dim must be a multiple of --attention-heads, but 16 is not divisible by 3
    """

    def has(*fields: str) -> list[str]:
        return [field for field in fields if getattr(given, field, None) is not None]

    for side in sides:
        layers(given, *has(f"{side}layers"))
        sizes(given, *has(*(side + width for width in WIDTHS)))
        width, heads = f"{side}embed_dim", f"{side}attention_heads"
        if len(has(width, heads)) == 2:
            dim, number = getattr(given, width), getattr(given, heads)
            require(
                dim % number == 0,
                f"{flag_name(width)} must be a multiple of {flag_name(heads)}, but {dim} is not divisible by {number}",
            )
    dropouts(given, *has(*DROPOUTS))
    sizes(given, *has(*POSITIONS))


def dictionary_size(given: Any, threshold: str, nwords: str, but: str = "") -> None:
    """How often a word of a learned dictionary must occur, and how many there may be.

    ``but``: what is there instead of a learned dictionary, so that neither number applies.

    >>> from argparse import Namespace
    >>> dictionary_size(Namespace(threshold=0, nwords=2), "threshold", "nwords")
    Traceback (most recent call last):
    lev_plugins.errors.UserError: --nwords must be -1 (no limit) or more than 4, which <s>, <pad>, </s> and <unk> \
take, but is 2
    >>> dictionary_size(Namespace(threshold=1, nwords=-1), "threshold", "nwords", but="dict.txt is given")
    Traceback (most recent call last):
    lev_plugins.errors.UserError: --threshold applies to a learned dictionary, but dict.txt is given: leave it out
    """
    at_least(given, 0, threshold)
    number = getattr(given, nwords)
    require(
        number == -1 or number > SPECIAL,
        f"{flag_name(nwords)} must be -1 (no limit) or more than {SPECIAL}, which <s>, <pad>, </s> and <unk> take, "
        f"but is {number}",
    )
    for field, everything in ((threshold, 0), (nwords, -1)):
        require(
            not but or getattr(given, field) == everything,
            f"{flag_name(field)} applies to a learned dictionary, but {but}: leave it out",
        )
