"""What several commands need to read their flags."""

import argparse

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
