"""The edit script between two states of a canvas, from the pieces alone.

fairseq prints states, not actions. A deletion step only deletes and the two insertion steps only insert, so one state
is a subsequence of the other, and reading both from the left shows what was deleted or inserted. A log does not show
which of several equal pieces was deleted; the last of them counts as deleted, as in ``edits.align``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from lev_plugins.text.edited import common


class Kind(Enum):
    KEPT = "kept"
    DELETED = "deleted"
    INSERTED = "inserted"
    HOLE = "hole"


class Edit(NamedTuple):
    kind: Kind
    piece: str


Script = list[Edit]


class Iteration(NamedTuple):
    """The three steps of an iteration; ``None`` = nothing changed."""

    deletion: Script | None
    opening: Script | None
    filling: Script | None  # without an opening: the deletions are undone, because the editor was looping

    @property
    def idle(self) -> bool:
        return self == (None, None, None)

    @property
    def put_back(self) -> bool:
        return self.opening is None and self.filling is not None


def iterations(states: Sequence[Sequence[str]]) -> Iterator[Iteration]:
    """The steps of each iteration, from the start and three states per iteration: after deleting, opening, filling.

    >>> sort = ["sort", "it"]
    >>> for one in iterations([["srot", "it"], ["it"], ["<plh>", "it"], sort, sort, sort, sort]):
    ...     print(one.idle, [edit.kind.value for script in one if script for edit in script])
    False ['deleted', 'kept', 'hole', 'kept', 'inserted', 'kept']
    True []
    """
    for i in range(0, len(states) - 3, 3):
        given, left, opened, filled = states[i : i + 4]
        holes = opening(left, opened)
        yield Iteration(changes(given, left), holes, filling(holes, opened, filled))


def opening(left: Sequence[str], opened: Sequence[str]) -> Script | None:
    """Every new piece is a hole, whatever the model calls it: ``<plh>`` or ``<unk>``."""
    script = changes(left, opened)
    return script and [Edit(Kind.HOLE, piece) if kind is Kind.INSERTED else Edit(kind, piece) for kind, piece in script]


def filling(holes: Script | None, opened: Sequence[str], filled: Sequence[str]) -> Script | None:
    """Each hole became the piece now in its place.

    >>> filling([Edit(Kind.HOLE, "<plh>"), Edit(Kind.KEPT, "it")], ["<plh>", "it"], ["sort", "it"])
    [Edit(kind=<Kind.INSERTED: 'inserted'>, piece='sort'), Edit(kind=<Kind.KEPT: 'kept'>, piece='it')]
    """
    if holes is None or not fits(holes, filled):
        return changes(opened, filled)
    return [
        Edit(Kind.INSERTED if kind is Kind.HOLE else kind, piece)
        for (kind, _), piece in zip(holes, filled, strict=True)
    ]


def fits(holes: Script, filled: Sequence[str]) -> bool:
    """Whether ``filled`` differs from the canvas only at its holes."""
    return len(holes) == len(filled) and all(
        kind is Kind.HOLE or (kind is Kind.KEPT and old == new) for (kind, old), new in zip(holes, filled, strict=True)
    )


def changes(before: Sequence[str], after: Sequence[str]) -> Script | None:
    return edits(before, after) if before != after else None


def edits(before: Sequence[str], after: Sequence[str]) -> Script:
    """The insertions and deletions that turn ``before`` into ``after``.

    >>> [f"{edit.kind.value} {edit.piece}" for edit in edits("a b a".split(), "a b".split())]
    ['kept a', 'kept b', 'deleted a']
    >>> [f"{edit.kind.value} {edit.piece}" for edit in edits("a b".split(), "a c b".split())]
    ['kept a', 'inserted c', 'kept b']

    If neither is a subsequence of the other, which no step of an editor causes, everything between the common ends
    counts as replaced:

    >>> [f"{edit.kind.value} {edit.piece}" for edit in edits("a b c".split(), "a d c".split())]
    ['kept a', 'deleted b', 'inserted d', 'kept c']
    """
    for kind, longer, shorter in ((Kind.DELETED, before, after), (Kind.INSERTED, after, before)):
        kept_pieces = subsequence(longer, shorter)
        if kept_pieces is not None:
            return [Edit(Kind.KEPT if kept else kind, piece) for piece, kept in zip(longer, kept_pieces, strict=True)]
    return replacement(before, after)


def subsequence(longer: Sequence[str], shorter: Sequence[str]) -> list[bool] | None:
    """Which pieces of ``longer`` form ``shorter``; ``None`` if it is not a subsequence.

    >>> subsequence(["a", "b", "a", "c"], ["a", "c"])
    [True, False, False, True]
    """
    kept, matched = [], 0
    for piece in longer:
        kept.append(matched < len(shorter) and shorter[matched] == piece)
        matched += kept[-1]
    return kept if matched == len(shorter) else None


def replacement(before: Sequence[str], after: Sequence[str]) -> Script:
    head = common(before, after)
    tail = common(before[head:][::-1], after[head:][::-1])
    gone, come = before[head : len(before) - tail], after[head : len(after) - tail]
    parts = [(Kind.KEPT, before[:head]), (Kind.DELETED, gone), (Kind.INSERTED, come)]
    parts.append((Kind.KEPT, before[len(before) - tail :]))
    return [Edit(kind, piece) for kind, pieces in parts for piece in pieces]
