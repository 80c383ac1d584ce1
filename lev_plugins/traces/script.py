"""The edit script between two states of a canvas, from the pieces alone.

fairseq prints states, not actions. A deletion step only deletes and the two insertion steps only insert, so one state
is a subsequence of the other, and reading both from the left shows what was deleted or inserted. A log does not show
which of several equal pieces was deleted; the last of them counts as deleted, as in ``edits.align``.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple


class EditKind(Enum):
    KEPT = "kept"
    DELETED = "deleted"
    INSERTED = "inserted"
    PLACEHOLDER = "placeholder"


class PieceEdit(NamedTuple):
    kind: EditKind
    piece: str


Script = list[PieceEdit]


class Iteration(NamedTuple):
    """The three steps of an iteration; ``None`` = nothing changed."""

    deletion: Script | None
    opening: Script | None
    filling: Script | None  # without an opening: the deletions are undone, because the editor was looping


def iterations(states: Sequence[Sequence[str]]) -> Iterator[Iteration]:
    """The steps of each iteration, from the start and three states per iteration: after deleting, opening, filling.

    >>> sort = ["sort", "it"]
    >>> for one in iterations([["srot", "it"], ["it"], ["<plh>", "it"], sort, sort, sort, sort]):
    ...     print([edit.kind.value for script in one if script for edit in script])
    ['deleted', 'kept', 'placeholder', 'kept', 'inserted', 'kept']
    []
    """
    for i in range(0, len(states) - 3, 3):
        start, left, opened, filled = states[i : i + 4]
        deletion, opening, filling = (
            edits(before, after) if before != after else None
            for before, after in ((start, left), (left, opened), (opened, filled))
        )
        if opening is not None:  # every new piece is a placeholder, whatever the model calls it: <plh> or <unk>
            inserted, placeholder = EditKind.INSERTED, EditKind.PLACEHOLDER
            opening = [PieceEdit(placeholder if kind is inserted else kind, piece) for kind, piece in opening]
            kept = [piece if kind is not placeholder else None for kind, piece in opening]
            if len(kept) == len(filled) and all(old in (None, new) for old, new in zip(kept, filled, strict=True)):
                # each placeholder became the piece now in its place
                filling = [
                    PieceEdit(inserted if kind is placeholder else kind, piece)
                    for (kind, _), piece in zip(opening, filled, strict=True)
                ]
        yield Iteration(deletion, opening, filling)


def edits(before: Sequence[str], after: Sequence[str]) -> Script:
    """The insertions and deletions that turn ``before`` into ``after``.

    >>> [f"{edit.kind.value} {edit.piece}" for edit in edits("a b a".split(), "a b".split())]
    ['kept a', 'kept b', 'deleted a']
    >>> [f"{edit.kind.value} {edit.piece}" for edit in edits("a b".split(), "a c b".split())]
    ['kept a', 'inserted c', 'kept b']

    If neither is a subsequence of the other, which no step of an editor causes, everything counts as replaced.
    """
    deleted, inserted = EditKind.DELETED, EditKind.INSERTED
    for kind, longer, shorter in ((deleted, before, after), (inserted, after, before)):
        script, matched = [], 0
        for piece in longer:
            kept = matched < len(shorter) and shorter[matched] == piece
            matched += kept
            script.append(PieceEdit(EditKind.KEPT if kept else kind, piece))
        if matched == len(shorter):
            return script
    return [PieceEdit(deleted, piece) for piece in before] + [PieceEdit(inserted, piece) for piece in after]
