"""What several commands need to read their flags."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag_name


def requires(args: argparse.Namespace, condition: str, present: bool, **defaults: object) -> None:
    """Unless ``condition`` is ``present``, these flags must have their defaults.

    >>> requires(argparse.Namespace(by_updates=True, last=None), "--last", present=False, by_updates=False)
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --by-updates requires --last
    """
    for name, default in defaults.items():
        require(present or getattr(args, name) == default, f"{flag_name(name)} requires {condition}")


def number_or_name(text: str) -> float | str:
    """
    >>> number_or_name("0.5"), number_or_name("write")
    (0.5, 'write')
    """
    try:
        return float(text)
    except ValueError:
        return text


def add_held_out_arguments(add: Callable[..., object], pairs: str, meaning: str) -> None:
    repeated: dict[str, Any] = {"type": Path, "action": "append", "default": []}
    add(pairs, metavar=("NOISY", "CLEAN"), nargs=2, help=f"{meaning}; may be given several times", **repeated)
    add("--clean", metavar="FILE", help="text that is right, of any kind; may be given several times", **repeated)
