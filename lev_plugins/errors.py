"""Errors a user can act on."""

from __future__ import annotations


class UserError(ValueError):
    """The user asked for something that cannot work; the message says what and what to do instead."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise UserError(message)
