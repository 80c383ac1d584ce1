"""A text and its edits in one line, marked as in a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from lev_plugins.text.control import visible
from lev_plugins.traces.rows import Row, Run
from lev_plugins.traces.script import Kind
from lev_plugins.traces.terminal import PLAIN, Style, content


class Edit(Protocol):
    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def replacement(self) -> str: ...


def line(original: str, edits: Iterable[Edit], style: Style = PLAIN) -> str:
    """
    >>> from lev_plugins.text.edited import Edit
    >>> line("in teh  house", [Edit(3, 6, "the"), Edit(13, 13, ".")])
    'in [-teh-]{+the+}  house{+.+}'
    """
    return content(Row("", list(runs(original, edits))), style)


def runs(original: str, edits: Iterable[Edit]) -> Iterator[Run]:
    place = 0
    for edit in edits:
        yield Run(Kind.KEPT, visible(original[place : edit.start]))
        for kind, text in ((Kind.DELETED, original[edit.start : edit.end]), (Kind.INSERTED, edit.replacement)):
            if text:
                yield Run(kind, visible(text))
        place = edit.end
    yield Run(Kind.KEPT, visible(original[place:]))
