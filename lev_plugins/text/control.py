"""Characters that are not text: controls, which could leave their row on a terminal or a page, and others."""

from __future__ import annotations

import re

from lev_plugins.errors import require

BYTE_ORDER_MARK = "\ufeff"  # some programs write it at the start of a file; it does not belong to the first word

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Replace control characters by their number, so that text cannot leave its row.

    >>> print(visible("a\\x1b[2J\\u202eb"))
    a\\u001b[2J\\u202eb
    """
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def half_character(text: str) -> str | None:
    """The first half of a surrogate pair without the other, and its place: JSON can spell it, but UTF-8 cannot.

    >>> print(half_character("a\\ud83d"), half_character("a😀"))
    \\ud83d at 1 None
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"\\u{ord(text[error.start]):04x} at {error.start}"
    return None


def require_encodable(text: str) -> None:
    half = half_character(text)
    require(half is None, f"the text {visible(text)[:60]!r} has {half}, half of a character: give both halves")
