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
    """The three steps of an iteration; ``None``: nothing changed."""

    deletion: Script | None
    opening: Script | None
    filling: Script | None  # without an opening: the deletions are undone, because the editor was looping


def iterations(states: Sequence[Sequence[str]]) -> Iterator[Iteration]:
    """The steps of each iteration, from the start and three states per iteration: after deleting, opening, filling.

    >>> sort = ["sort", "it"]
    >>> for steps in iterations([["srot", "it"], ["it"], ["<plh>", "it"], sort, sort, sort, sort]):
    ...     print([edit.kind.value for script in steps if script for edit in script])
    ['deleted', 'kept', 'placeholder', 'kept', 'inserted', 'kept']
    []
    """
    for i in range(0, len(states) - 3, 3):
        start, shortened, opened, filled = states[i : i + 4]
        deletion = edits(start, shortened) if start != shortened else None
        filling = edits(opened, filled) if opened != filled else None
        opening = None
        if shortened != opened:  # every inserted piece is a placeholder, whatever the model calls it: <plh> or <unk>
            opening = [
                PieceEdit(EditKind.PLACEHOLDER, piece) if kind is EditKind.INSERTED else PieceEdit(kind, piece)
                for kind, piece in edits(shortened, opened)
            ]
            filling = fill(opening, filled) or filling
        yield Iteration(deletion, opening, filling)


def fill(opening: Script, filled: Sequence[str]) -> Script | None:
    """The script that replaces each placeholder by the piece in its place; None if other pieces differ, too."""
    if len(opening) != len(filled):
        return None
    script = []
    for (kind, piece), result in zip(opening, filled, strict=True):
        if kind is EditKind.PLACEHOLDER:
            script.append(PieceEdit(EditKind.INSERTED, result))
        elif piece == result:
            script.append(PieceEdit(kind, piece))
        else:
            return None
    return script


def edits(before: Sequence[str], after: Sequence[str]) -> Script:
    """The insertions and deletions that turn ``before`` into ``after``.

    >>> [f"{edit.kind.value} {edit.piece}" for edit in edits("a b a".split(), "a b".split())]
    ['kept a', 'kept b', 'deleted a']
    >>> [f"{edit.kind.value} {edit.piece}" for edit in edits("a b".split(), "a c b".split())]
    ['kept a', 'inserted c', 'kept b']

    If neither is a subsequence of the other, which no step of an editor causes, everything counts as replaced.
    """
    for kind, longer, shorter in ((EditKind.DELETED, before, after), (EditKind.INSERTED, after, before)):
        script, matches = [], 0
        for piece in longer:
            if matches < len(shorter) and shorter[matches] == piece:
                matches += 1
                script.append(PieceEdit(EditKind.KEPT, piece))
            else:
                script.append(PieceEdit(kind, piece))
        if matches == len(shorter):
            return script
    deletions = [PieceEdit(EditKind.DELETED, piece) for piece in before]
    return deletions + [PieceEdit(EditKind.INSERTED, piece) for piece in after]
