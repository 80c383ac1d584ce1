"""The drafts of a ``fairseq-generate`` run, kept for the score of doing nothing.

fairseq-generate makes task and scorer apart from each other and never shows a scorer a draft. What both can reach is
this module: the task tells it the drafts of a batch just before fairseq tells the scorer the texts of the same batch,
in the same order, in the same process.
"""

from __future__ import annotations

from collections.abc import Iterable

_drafts: list[str] = []


def remember(drafts: Iterable[str]) -> None:
    _drafts.extend(drafts)


def forget() -> None:
    _drafts.clear()


def remembered(count: int) -> list[str] | None:
    """The drafts of ``count`` texts; None for a run without drafts.

    >>> forget(); remembered(2)
    >>> remember(["a draft", "another"]); remembered(2)
    ['a draft', 'another']
    >>> forget()
    """
    return list(_drafts) if count and len(_drafts) == count else None
