"""The drafts of a ``fairseq-generate`` run, kept to score them as they are.

fairseq-generate builds task and scorer separately and never passes drafts to a scorer. Both use this module: the task
stores the drafts of a batch just before fairseq passes the texts of the same batch to the scorer, in the same order and
process.
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
