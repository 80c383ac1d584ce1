"""Characters that are not text, such as control characters."""

import re

BYTE_ORDER_MARK = "\ufeff"  # some programs begin a file with it; it is not part of the first word

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Replaces control characters by their numbers, so that text cannot leave its row on a terminal or a page.

    >>> print(visible("a\\x1b[2J\\u202eb"))
    a\\u001b[2J\\u202eb
    """
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
