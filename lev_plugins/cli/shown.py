"""The edits of a logged sentence as lines of text, in colours or with equivalent marks.

fairseq prints states, not actions. A deletion step only deletes and the two insertion steps only insert, so one state
is a subsequence of the other, and reading both from the left shows what was deleted or inserted. A log does not show
which of several equal pieces was deleted; the last of them counts as deleted, as in ``edits.align``.

A mark covers exactly the deleted or inserted pieces, which may be the middle of a word. Neighbours share one mark;
spaces at its ends stay outside. The piece that fills a placeholder may begin or continue a word, so a placeholder has a
space on both sides.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from lev_plugins.cli.log import STEPS, LoggedHypothesis, LoggedSentence, to_pieces
from lev_plugins.text.control import visible
from lev_plugins.text.edited import Edit

LABEL_WIDTH = 9  # the longest usual label is "reference"
SPACE_MARK = "\u2581"  # how sentencepiece writes a space
VISIBLE_SPACE = "\u2423"  # shown for an edited piece that is only a space

Spacing = Callable[[str], str]  # a piece with its spaces


class EditKind(Enum):
    KEPT = "kept"
    DELETED = "deleted"
    INSERTED = "inserted"
    PLACEHOLDER = "placeholder"


class Style(NamedTuple):
    """The marks before and after each kind of text."""

    edits: dict[EditKind, tuple[str, str]]
    heading: tuple[str, str] = ("", "")
    aside: tuple[str, str] = ("", "")  # labels and notes


PLAIN = Style({EditKind.DELETED: ("[-", "-]"), EditKind.INSERTED: ("{+", "+}"), EditKind.PLACEHOLDER: ("{ ", "}")})
RESET = "\x1b[0m"
COLOUR = Style(
    {
        EditKind.DELETED: ("\x1b[9;31m", RESET),  # struck through, red
        EditKind.INSERTED: ("\x1b[1;4;32m", RESET),  # bold, underlined, green
        EditKind.PLACEHOLDER: ("\x1b[35m{ ", f"}}{RESET}"),
    },
    heading=("\x1b[1m", RESET),
    aside=("\x1b[2m", RESET),
)


def separate(piece: str) -> str:
    return f"{piece} "


def sentencepiece(piece: str) -> str:
    return piece.replace(SPACE_MARK, " ")


def edits(before: Sequence[str], after: Sequence[str]) -> tuple[Sequence[str], list[EditKind]]:
    """Returns the longer of two states, and which of its pieces are inserted or deleted to turn one into the other.

    >>> [[kind.value for kind in edits(before.split(), "a b".split())[1]] for before in ("a b a", "b")]
    [['kept', 'kept', 'deleted'], ['inserted', 'kept']]
    """
    kind, longer, shorter = EditKind.DELETED, before, after
    if len(before) < len(after):
        kind, longer, shorter = EditKind.INSERTED, after, before
    kinds, matches = [], 0
    for piece in longer:
        match = matches < len(shorter) and shorter[matches] == piece
        matches += match
        kinds.append(EditKind.KEPT if match else kind)
    return longer, kinds


def marked(pieces: Sequence[str], kinds: Sequence[EditKind], spacing: Spacing, style: Style) -> str:
    """Returns pieces as a text in which each run of neighbouring pieces with the same kind of edit has one mark.

    >>> kinds = [EditKind.KEPT, EditKind.DELETED, EditKind.KEPT]
    >>> marked(["\u2581so", "rt", "\u2581it"], kinds, sentencepiece, PLAIN)
    'so[-rt-] it'
    """
    line = ""
    for kind, group in groupby(zip(kinds, pieces, strict=False), key=itemgetter(0)):
        run = [piece for _, piece in group]
        text = visible("".join(map(spacing, run)))
        if kind is EditKind.PLACEHOLDER:
            text = f" {'  '.join(''.join(style.edits[kind]) for _ in run)} "
        elif kind is not EditKind.KEPT:
            inside = text.strip(" ")
            before, _, after = text.partition(inside) if inside else ("", "", "")
            text = before + (inside or VISIBLE_SPACE).join(style.edits[kind]) + after
        line += text
    return re.sub(" +", " ", line).strip(" ")


def diff_line(original: str, edits: Iterable[Edit], style: Style = PLAIN) -> str:
    """Returns a text and its edits in one line.

    >>> diff_line("in teh  house", [Edit(3, 6, "the"), Edit(13, 13, ".")])
    'in [-teh-]{+the+}  house{+.+}'
    """
    line, end = "", 0
    for edit in edits:
        line += visible(original[end : edit.start])
        for kind, text in ((EditKind.DELETED, original[edit.start : edit.end]), (EditKind.INSERTED, edit.replacement)):
            line += visible(text).join(style.edits[kind]) if text else ""
        end = edit.end
    return line + visible(original[end:])


def trace_blocks(sentence: LoggedSentence, spacing: Spacing, style: Style) -> Iterator[str]:
    """Yields the lines of each hypothesis; those of the first also have the source and the reference."""
    texts = {"source": sentence.source, "reference": sentence.reference}
    shared = [(label, joined(to_pieces(text), spacing)) for label, text in texts.items() if text is not None]
    number = len(sentence.hypotheses)
    for i, hypothesis in enumerate(sentence.hypotheses, 1):
        heading = f"sentence {sentence.number}" + (f", candidate {i} of {number}" if number > 1 else "")
        draft = joined(hypothesis.states[0], spacing)
        first = ("draft", "(the source)") if ("source", draft) in shared else ("draft" if draft else "start", draft)
        rows = [*(shared if i == 1 else []), first, *iteration_rows(hypothesis, spacing, style)]
        rows += [("result", joined(to_pieces(hypothesis.text), spacing)), ("score", f"{hypothesis.score:.4f}")]
        lines = (f"{label.rjust(LABEL_WIDTH).join(style.aside)}  {text or '(nothing)'}\n" for label, text in rows)
        yield "".join([f"{heading.join(style.heading)}\n", *lines])


def joined(pieces: Sequence[str], spacing: Spacing) -> str:
    """Returns the text of some pieces; a text without any mark of sentencepiece consists of words already.

    >>> joined(["\u2581so", "rt", "\u2581it"], sentencepiece), joined(["sort", "it"], sentencepiece)
    ('sort it', 'sort it')
    """
    if not any(SPACE_MARK in piece for piece in pieces):
        spacing = separate
    return visible("".join(map(spacing, pieces)).strip(" "))


def iteration_rows(hypothesis: LoggedHypothesis, spacing: Spacing, style: Style) -> Iterator[tuple[str, str]]:
    """Yields the steps that changed something: after deleting, opening placeholders, filling them."""
    states = hypothesis.states
    for number, i in enumerate(range(0, len(states) - STEPS, STEPS), 1):
        start, shortened, opened, filled = states[i : i + STEPS + 1]
        if start == shortened == opened == filled:
            yield f"keep {number}", "(nothing to delete, nothing to insert)"
        if start != shortened:
            yield f"delete {number}", marked(*edits(start, shortened), spacing, style)
        if shortened != opened:
            _, kinds = edits(shortened, opened)
            # every inserted piece is a placeholder, whatever the model calls it: <plh> or <unk>
            placeholders = [EditKind.PLACEHOLDER if kind is EditKind.INSERTED else kind for kind in kinds]
            yield f"open {number}", marked(opened, placeholders, spacing, style)
            yield f"fill {number}", marked(filled, kinds, spacing, style)
        elif opened != filled:  # the deletions are undone, because the editor was looping
            yield f"undo {number}", marked(*edits(opened, filled), spacing, style)
