"""Flags that have no effect without another one, and flags of earlier versions."""

import argparse
from collections.abc import Sequence

from lev_plugins.errors import UserError, require
from lev_plugins.ranges import flag_name


def requires(args: argparse.Namespace, condition: str, present: bool, **defaults: object) -> None:
    """Unless ``condition`` is ``present``, these flags must have their defaults.

    >>> requires(argparse.Namespace(by_updates=True, last=None), "--last", present=False, by_updates=False)
    Traceback (most recent call last):
    lev_plugins.errors.UserError: --by-updates requires --last
    """
    for name, default in defaults.items():
        require(present or getattr(args, name) == default, f"{flag_name(name)} requires {condition}")


class RemovedFlag(argparse.Action):
    """A flag of an earlier version, which is refused; ``const`` says what to use instead."""

    def __init__(self, option_strings: Sequence[str], dest: str, const: str) -> None:
        hidden = argparse.SUPPRESS
        super().__init__(option_strings, dest, nargs="?", const=const, default=hidden, help=hidden)

    def __call__(self, parser: object, namespace: object, values: object, option_string: str | None = None) -> None:
        raise UserError(f"{option_string} was removed: {self.const}")
