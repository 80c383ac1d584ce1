"""The lines of a text and their indentation."""

import re
from collections.abc import Iterator
from typing import NamedTuple

LINE = re.compile(r"(?!\Z)([ \t\f\v\ufeff]*)([^\r\n]*)(?:\r\n?|\n|\Z)")


class Line(NamedTuple):
    """A line without its indentation and the blanks at its end."""

    start: int
    end: int
    indent: int  # in columns; a tab goes on to the next multiple of 8


def lines_of(text: str) -> Iterator[Line]:
    r"""Yields all lines; a blank one begins where it ends.

    >>> list(lines_of("  a \r\n\n\tb"))[:3]
    [Line(start=2, end=3, indent=2), Line(start=6, end=6, indent=0), Line(start=8, end=9, indent=8)]
    """
    for match in LINE.finditer(text):
        content = match[2].rstrip()
        yield Line(match.start(2), match.start(2) + len(content), len(match[1].removeprefix("\ufeff").expandtabs(8)))
