"""Edits of a text from the pieces that a model wrote.

    text     the  cat's  mat      units    the | cat | ' | s | mat
    output   ▁the ▁cats ▁mat      origin   0     -           4

What the model kept is printed as it was, with the white space around it. The model decides whether there is a blank
before a new word, but white space of the text stays: a replaced word keeps what is around it, an inserted one gets one
blank, and a deleted word takes the white space on one side with it. If pieces do not say where blanks are, as in
WordPiece, and behind a dash, an opening bracket or an opening quote, a replacement has a blank before it only where the
text has one.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import regex
from rapidfuzz.distance import OSA

from lev_plugins.text.edited import WORD, Edit, in_word, trim
from lev_plugins.text.offsets import Offsets, Unit
from lev_plugins.text.segments import Segment

UNKNOWN = "<unk>"
OPENING = regex.compile(r"""[\p{Ps}\p{Pi}\p{Pd}]$|(?:^|\s)["']$""")  # up to a place behind which no blank is missing
SIMILAR = 0.5  # similarity from which a word is a spelling of the one that it replaces

Origin = Sequence[int | None]  # for each output piece, which piece of the text it is; None: it is new


class Rewrite(NamedTuple):
    """An edit, and the pieces that it replaces."""

    edit: Edit
    removed: range  # of the pieces of the text
    inserted: range  # of the pieces of the output


class Anchor(NamedTuple):
    """A unit that was kept, or one of the two ends of the text."""

    unit: int  # its number; -1 and the number of units: the ends
    start: int  # its pieces in the output
    end: int


def rewrites(segment: Segment, output: Sequence[str], origin: Origin) -> list[Rewrite]:
    """Returns the changes from a segment to the pieces of ``output``.

    Where the model wrote <unk>, or changed a word of which it kept an <unk>, the text is left as it is.

    >>> from lev_plugins.text.offsets import offsets_of
    >>> segment = Segment("I  has a very big hat", offsets_of())
    >>> changes = rewrites(segment, "I have a big hat".split(), [0, None, 2, 4, 5])
    >>> [(segment.text[e.start : e.end], e.replacement) for e, _, _ in changes]
    [('has', 'have'), ('very ', '')]
    >>> [(removed, inserted) for _, removed, inserted in changes]
    [(range(1, 2), range(1, 2)), (range(3, 4), range(3, 3))]
    """
    text, units, offsets = segment.text, segment.units, segment.offsets
    starts = list(accumulate((len(unit.pieces) for unit in units), initial=0))
    unknown = [piece == UNKNOWN for piece in output]
    pieces, output = offsets.with_blanks(segment.pieces), offsets.with_blanks(output)
    anchors = unchanged_units(starts, without_moved_blanks(pieces, output, origin))
    changes = []
    for a, b in pairwise(keep_whole_words(segment, anchors, output)):
        removed, replacement = range(starts[a.unit + 1], starts[b.unit]), offsets.spell(output[a.end : b.start])
        if adjacent(a, b) or any(unknown[a.end : b.start]):
            continue
        if replacement == offsets.spell(pieces[removed.start : removed.stop]):  # the same text in other pieces
            continue
        if b.unit - a.unit > 1 and not units[a.unit + 1].blank:
            start = units[a.unit + 1].start
            if not offsets.says_blanks or OPENING.search(text, max(0, start - 2), start):
                replacement = replacement.lstrip(" ")
        edit = trim(text, edit_between(text, units, a, b, replacement))
        if text[edit.start : edit.end] != edit.replacement:
            changes.append(Rewrite(edit, removed, range(a.end, b.start)))
    return changes


def split_by_word(segment: Segment, change: Rewrite, output: Sequence[str], origin: Origin) -> list[Rewrite]:
    """Splits a change of several words into as many similar ones: some may be right, and others not.

    >>> from lev_plugins.text.offsets import offsets_of
    >>> segment, output = Segment("a tydy  wrold", offsets_of()), "a tidy world".split()
    >>> (change,) = rewrites(segment, output, [0, None, None])
    >>> [(e.start, e.end, e.replacement) for e, *_ in split_by_word(segment, change, output, [0, None, None])]
    [(2, 6, 'tidy'), (8, 13, 'world')]
    """
    text, offsets = segment.text, segment.offsets
    unit_of = [unit for unit in segment.units for _ in unit.pieces]
    output = offsets.with_blanks(output)
    words = split_words(offsets, offsets.with_blanks(segment.pieces), change.removed)
    replacements = split_words(offsets, output, change.inserted)
    if not 1 < len(words) == len(replacements) or any(origin[i] is not None for i in change.inserted):
        return [change]
    changes = []
    for removed, inserted in zip(words, replacements, strict=True):
        start, end = unit_of[removed.start].start, unit_of[removed.stop - 1].end
        replacement = offsets.spell(output[inserted.start : inserted.stop]).strip(" ")
        if OSA.normalized_similarity(text[start:end], replacement) < SIMILAR:
            return [change]
        changes.append(Rewrite(trim(text, Edit(start, end, replacement)), removed, inserted))
    return [part for part in changes if text[part.edit.start : part.edit.end] != part.edit.replacement]


def split_words(offsets: Offsets, pieces: Sequence[str], span: range) -> list[range]:
    """Splits a span of pieces into words, each of which but the first begins with a blank."""
    starts = [i for i in span[1:] if offsets.spell(pieces[i : i + 1]).startswith(" ")]
    return [range(*ends) for ends in pairwise([*span[:1], *starts, span.stop])]


def without_moved_blanks(pieces: Sequence[str], output: Sequence[str], origin: Origin) -> list[int | None]:
    """Counts pieces as new that now begin a word and did not, or the other way round.

    >>> without_moved_blanks([" hou", "ses", " are"], [" hou", "are"], [0, 2])
    [0, None]
    """
    places = zip(origin, output, strict=True)
    return [place if place is not None and pieces[place] == piece else None for place, piece in places]


def unchanged_units(starts: list[int], origin: Origin) -> list[Anchor]:
    """Returns the units whose pieces were all kept in a row, and the two ends; ``starts`` are their first pieces.

    >>> unchanged_units([0, 1, 3], [0, None, 1, 2])
    [Anchor(unit=-1, start=0, end=0), Anchor(unit=0, start=0, end=1), Anchor(unit=1, start=2, end=4), \
Anchor(unit=2, start=4, end=4)]
    """
    place_of = {piece: i for i, piece in enumerate(origin) if piece is not None}
    anchors = [Anchor(-1, 0, 0)]
    for number, (begin, end) in enumerate(pairwise(starts)):
        start = place_of.get(begin)
        if start is not None and list(origin[start : start + end - begin]) == list(range(begin, end)):
            anchors.append(Anchor(number, start, start + end - begin))
    return [*anchors, Anchor(len(starts) - 1, len(origin), len(origin))]


def adjacent(a: Anchor, b: Anchor) -> bool:
    """Returns whether nothing was removed or inserted between two anchors."""
    return b.unit == a.unit + 1 and b.start == a.end


def keep_whole_words(segment: Segment, anchors: list[Anchor], output: Sequence[str]) -> list[Anchor]:
    """Drops the units that are in one word with a change before or after them, so that edits cover whole words."""
    text, units = segment.text, segment.units
    settled, ahead = anchors[:1], anchors[:0:-1]
    while ahead:
        a, b = settled[-1], ahead[-1]
        if adjacent(a, b):
            settled.append(ahead.pop())
            continue
        inserted = segment.offsets.spell(output[a.end : b.start])
        gap = gap_before(text, units, b.unit)
        behind_a = inserted or (gap + text[units[b.unit].start] if is_unit(units, b) else "")
        if b.unit - a.unit > 1 and not units[a.unit + 1].blank:
            behind_a = gap_before(text, units, a.unit + 1) + behind_a
        before_b = (inserted or (text[units[a.unit].end - 1] if is_unit(units, a) else "")) + gap
        if is_unit(units, a) and joins_word(text, units[a.unit].end, -1, behind_a[:1]):
            settled.pop()
        elif is_unit(units, b) and joins_word(text, units[b.unit].start, 0, before_b[-1:]):
            ahead.pop()
        else:
            settled.append(ahead.pop())
    return settled


def is_unit(units: Sequence[Unit], anchor: Anchor) -> bool:
    """Returns whether an anchor is a unit rather than an end of the text."""
    return 0 <= anchor.unit < len(units)


def gap_before(text: str, units: Sequence[Unit], number: int) -> str:
    """Returns what is printed before a unit: the blank that its pieces say, or what the tokeniser drops."""
    if not 0 < number < len(units):
        return " " if number == 0 and units and units[0].blank else ""
    return " " if units[number].blank else text[units[number - 1].end : units[number].start]


def joins_word(text: str, place: int, side: int, neighbour: str) -> bool:
    """Returns whether the character at ``place + side`` is in a word with its old or new (``neighbour``) neighbour."""
    return in_word(text, place) or bool(neighbour and WORD.match(text[place + side]) and WORD.match(neighbour))


def edit_between(text: str, units: Sequence[Unit], a: Anchor, b: Anchor, replacement: str) -> Edit:
    """Replaces all from one anchor to the next.

    What a tokeniser drops, white space without a word and control characters, the model cannot have meant to change.
    """
    removed = units[a.unit + 1 : b.unit]
    start = units[a.unit].end if is_unit(units, a) else units[0].start if units else 0
    end = removed[-1].end if removed else start
    if removed:
        takes_blank = removed[0].blank and is_unit(units, a)
        start = len(text[: removed[0].start].rstrip()) if takes_blank else removed[0].start
    if is_unit(units, b) and units[b.unit].blank:
        gap = text[end : units[b.unit].start]
        end += len(gap) - len(gap.lstrip())
        replacement += " " if b.unit == 0 or gap[:1].isspace() else ""
    replacement = replacement if is_unit(units, a) else replacement.lstrip()
    replacement = replacement if is_unit(units, b) else replacement.rstrip()
    return Edit(start, end, with_white_space_of(text[start:end], replacement))


def with_white_space_of(text: str, replacement: str) -> str:
    """Gives a replacement the text's white space at each end where both have some.

    >>> [with_white_space_of(*pair) for pair in (("\\tvery  ", " quite "), ("\\t", " very "), ("\\tvery  ", " "))]
    ['\\tquite  ', '\\tvery ', '\\t']
    """
    ahead = text[: len(text) - len(text.lstrip())]
    if ahead and replacement[:1].isspace():
        rest, replacement = text[len(ahead) :], replacement.lstrip()
    else:
        ahead, rest = "", text
    behind = rest[len(rest.rstrip()) :]
    if behind and replacement[-1:].isspace():
        replacement = replacement.rstrip() + behind
    return ahead + replacement
