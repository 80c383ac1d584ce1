"""Edits as lines of text, in colours or with equivalent marks."""

from collections.abc import Iterable, Iterator
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


PLAIN = Style(
    {
        EditKind.KEPT: ("", ""),
        EditKind.DELETED: ("[-", "-]"),
        EditKind.INSERTED: ("{+", "+}"),
        EditKind.PLACEHOLDER: ("{ ", "}"),
    }
)
RESET = "\x1b[0m"
COLOUR = Style(
    {
        EditKind.KEPT: ("", ""),
        EditKind.DELETED: ("\x1b[9;31m", RESET),  # struck through, red
        EditKind.INSERTED: ("\x1b[1;4;32m", RESET),  # bold, underlined, green
        EditKind.PLACEHOLDER: ("\x1b[35m{ ", f"}}{RESET}"),
    },
    heading=("\x1b[1m", RESET),
    aside=("\x1b[2m", RESET),
)


def trace_lines(blocks: Iterable[TraceBlock], style: Style) -> Iterator[str]:
    for i, block in enumerate(blocks):
        if i:
            yield ""
        yield block.heading.join(style.heading)
        for row in block.rows:
            yield f"{row.label.rjust(LABEL_WIDTH).join(style.aside)}  {content(row, style)}"


def content(row: TraceRow, style: Style) -> str:
    """A row without its label.

    >>> content(TraceRow("delete", [Run(EditKind.KEPT, "so "), Run(EditKind.DELETED, "it")]), PLAIN)
    'so [-it-]'
    >>> content(TraceRow("start", [], "nothing"), PLAIN)
    '(nothing)'
    """
    if row.note:
        return f"({row.note})".join(style.aside)
    return "".join(run.text.join(style.runs[run.kind]) for run in row.runs)


def diff_line(original: str, edits: Iterable[Edit], style: Style = PLAIN) -> str:
    """A text and its edits in one line.

    >>> diff_line("in teh  house", [Edit(3, 6, "the"), Edit(13, 13, ".")])
    'in [-teh-]{+the+}  house{+.+}'
    """
    runs, end = [], 0
    for edit in edits:
        runs.append(Run(EditKind.KEPT, original[end : edit.start]))
        runs.append(Run(EditKind.DELETED, original[edit.start : edit.end]))
        runs.append(Run(EditKind.INSERTED, edit.replacement))
        end = edit.end
    runs.append(Run(EditKind.KEPT, original[end:]))
    return content(TraceRow("", [Run(run.kind, visible(run.text)) for run in runs if run.text]), style)
