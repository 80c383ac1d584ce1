"""Characters that are not text: controls, which could leave their row on a terminal or a page, and others."""

import re

BYTE_ORDER_MARK = "\ufeff"  # some programs write it at the start of a file; it does not belong to the first word

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Replace control characters by their number, so that text cannot leave its row.

    >>> print(visible("a\\x1b[2J\\u202eb"))
    a\\u001b[2J\\u202eb
    """
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
