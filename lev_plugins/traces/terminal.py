"""A trace as lines of text, in colours or with equivalent marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lev_plugins.traces.rows import Block, Row
from lev_plugins.traces.script import Kind

LABEL_WIDTH = 9  # the longest usual label is "reference"


class Style(NamedTuple):
    """The marks before and after each kind of text."""

    runs: dict[Kind, tuple[str, str]]
    heading: tuple[str, str] = ("", "")
    aside: tuple[str, str] = ("", "")  # labels and notes


PLAIN = Style({Kind.KEPT: ("", ""), Kind.DELETED: ("[-", "-]"), Kind.INSERTED: ("{+", "+}"), Kind.HOLE: ("{ ", "}")})
END = "\x1b[0m"
COLOUR = Style(
    {
        Kind.KEPT: ("", ""),
        Kind.DELETED: ("\x1b[9;31m", END),  # struck through, red
        Kind.INSERTED: ("\x1b[1;4;32m", END),  # bold, underlined, green
        Kind.HOLE: ("\x1b[35m{ ", f"}}{END}"),
    },
    heading=("\x1b[1m", END),
    aside=("\x1b[2m", END),
)


def lines(blocks: Iterable[Block], style: Style) -> Iterator[str]:
    for i, block in enumerate(blocks):
        if i:
            yield ""
        yield wrapped(block.heading, style.heading)
        for row in block.rows:
            yield f"{wrapped(row.label.rjust(LABEL_WIDTH), style.aside)}  {content(row, style)}"


def content(row: Row, style: Style) -> str:
    """
    >>> from lev_plugins.traces.rows import Run
    >>> content(Row("open", [Run(Kind.KEPT, "so "), Run(Kind.HOLE, ""), Run(Kind.DELETED, "it")]), PLAIN)
    'so { }[-it-]'
    >>> content(Row("start", [], "nothing"), PLAIN)
    '(nothing)'
    """
    if row.note:
        return wrapped(f"({row.note})", style.aside)
    return "".join(wrapped(run.text, style.runs[run.kind]) for run in row.runs)


def wrapped(text: str, ends: tuple[str, str]) -> str:
    return f"{ends[0]}{text}{ends[1]}"
