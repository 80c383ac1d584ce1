"""Edits as lines of text, in colours or with equivalent marks; those of a page have tags as marks."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from lev_plugins.text.control import visible
from lev_plugins.text.edited import Edit
from lev_plugins.traces.rows import Run, TraceBlock, TraceRow
from lev_plugins.traces.script import EditKind

LABEL_WIDTH = 9  # the longest usual label is "reference"


class Style(NamedTuple):
    """The marks before and after each kind of text."""

    runs: dict[EditKind, tuple[str, str]]
    heading: tuple[str, str] = ("", "")
    aside: tuple[str, str] = ("", "")  # labels and notes
    row: tuple[str, str] = ("", "")
    escape: Callable[[str], str] = str  # what might be read as a mark


PLAIN = Style(
    {
        EditKind.KEPT: ("", ""),
        EditKind.DELETED: ("[-", "-]"),
        EditKind.INSERTED: ("{+", "+}"),
        EditKind.PLACEHOLDER: ("{ ", "}"),
    }
)
END = "\x1b[0m"
COLOUR = Style(
    {
        EditKind.KEPT: ("", ""),
        EditKind.DELETED: ("\x1b[9;31m", END),  # struck through, red
        EditKind.INSERTED: ("\x1b[1;4;32m", END),  # bold, underlined, green
        EditKind.PLACEHOLDER: ("\x1b[35m{ ", f"}}{END}"),
    },
    heading=("\x1b[1m", END),
    aside=("\x1b[2m", END),
)


def trace_lines(blocks: Iterable[TraceBlock], style: Style) -> Iterator[str]:
    for i, block in enumerate(blocks):
        if i:
            yield ""
        yield block.heading.join(style.heading)
        for row in block.rows:
            yield f"{row.label.rjust(LABEL_WIDTH).join(style.aside)}  {content(row, style)}"


def content(row: TraceRow, style: Style) -> str:
    """
    >>> content(TraceRow("delete", [Run(EditKind.KEPT, "so "), Run(EditKind.DELETED, "it")]), PLAIN)
    'so [-it-]'
    >>> content(TraceRow("start", [], "nothing"), PLAIN)
    '(nothing)'
    """
    if row.note:
        return f"({row.note})".join(style.aside)
    return "".join(style.escape(run.text).join(style.runs[run.kind]) for run in row.runs).join(style.row)


def diff_line(original: str, edits: Iterable[Edit], style: Style = PLAIN) -> str:
    """A text and its edits in one line.

    >>> diff_line("in teh  house", [Edit(3, 6, "the"), Edit(13, 13, ".")])
    'in [-teh-]{+the+}  house{+.+}'
    """
    runs, place = [], 0
    for edit in edits:
        runs.append(Run(EditKind.KEPT, original[place : edit.start]))
        runs.append(Run(EditKind.DELETED, original[edit.start : edit.end]))
        runs.append(Run(EditKind.INSERTED, edit.replacement))
        place = edit.end
    runs.append(Run(EditKind.KEPT, original[place:]))
    return content(TraceRow("", [Run(run.kind, visible(run.text)) for run in runs if run.text]), style)
