"""From what a model wrote back to the text it was given: which stretches changed, and to what.

    text      the  cat's  mat      units    the | cat | ' | s | mat
    written   ▁the ▁cats ▁mat      origin   0     -           4

What a model kept is printed as it was, with the white space around it. The blank before a new word is the model's, but
where the text had white space in that place, the text's: a replaced word keeps what is around it, a new one gets one
blank, and with a deleted word goes the white space on one side of it. If pieces do not say where blanks are, as in
WordPiece, what replaces a word has a blank before it only where the text has.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from rapidfuzz.distance import OSA

from lev_plugins.text.edited import WORD, Edit, in_word, trimmed
from lev_plugins.text.offsets import Offsets, Unit
from lev_plugins.text.segments import Segment

UNKNOWN = "<unk>"
NEAR = 0.5  # similarity of a word and the one that takes its place


class Rewrite(NamedTuple):
    edit: Edit
    given: range  # of the pieces of the text
    written: range  # of the pieces that the model wrote in their place


class Anchor(NamedTuple):
    """A unit that was kept."""

    unit: int  # its number; -1 and the number of units: the two ends of the text
    start: int  # in what was written
    end: int


def rewrites(segment: Segment, written: Sequence[str], origin: Sequence[int | None]) -> list[Rewrite]:
    """``origin``: of each written piece, which piece of the text it is; None of a new one.

    Where the model wrote <unk>, or changed a word of which it kept an <unk>, the text is left as it is.

    >>> from lev_plugins.text.offsets import offsets_of
    >>> segment = Segment("I  has a very big hat", offsets_of())
    >>> changes = rewrites(segment, "I have a big hat".split(), [0, None, 2, 4, 5])
    >>> [(segment.text[e.start : e.end], e.replacement) for e, given, written in changes]
    [('has', 'have'), ('very ', '')]
    >>> [(given, written) for e, given, written in changes]
    [(range(1, 2), range(1, 2)), (range(3, 4), range(3, 3))]
    """
    text, units, offsets = segment.text, segment.units, segment.offsets
    firsts = list(accumulate((len(unit.pieces) for unit in units), initial=0))
    unknown = [piece == UNKNOWN for piece in written]
    pieces, written = offsets.named(segment.pieces), offsets.named(written)
    anchors = kept_units(firsts, kept(pieces, written, origin))
    changes = []
    for a, b in pairwise(whole_words(segment, anchors, written)):
        given, new = range(firsts[a.unit + 1], firsts[b.unit]), offsets.spell(written[a.end : b.start])
        if neighbours(a, b) or any(unknown[a.end : b.start]):
            continue
        if new == offsets.spell(pieces[given.start : given.stop]):  # in other pieces, but the same text
            continue
        if not offsets.says_blanks and b.unit - a.unit > 1 and not units[a.unit + 1].blank:
            new = new.lstrip(" ")
        edit = trimmed(text, between(text, units, a, b, new))
        if text[edit.start : edit.end] != edit.replacement:
            changes.append(Rewrite(edit, given, range(a.end, b.start)))
    return changes


def by_word(segment: Segment, change: Rewrite, written: Sequence[str], origin: Sequence[int | None]) -> list[Rewrite]:
    """Cut into one for each word, if as many near words take the place of several: some may be right, others not.

    >>> from lev_plugins.text.offsets import offsets_of
    >>> segment, new = Segment("a tydy  wrold", offsets_of()), "a tidy world".split()
    >>> (change,) = rewrites(segment, new, [0, None, None])
    >>> [(e.start, e.end, e.replacement) for e, *_ in by_word(segment, change, new, [0, None, None])]
    [(2, 6, 'tidy'), (8, 13, 'world')]
    """
    text, offsets = segment.text, segment.offsets
    places = [unit for unit in segment.units for _ in unit.pieces]
    written = offsets.named(written)
    old = words_in(offsets, offsets.named(segment.pieces), change.given)
    new = words_in(offsets, written, change.written)
    if not 1 < len(old) == len(new) or any(origin[i] is not None for i in change.written):
        return [change]
    changes = []
    for given, other in zip(old, new, strict=True):
        start, end = places[given.start].start, places[given.stop - 1].end
        spelt = offsets.spell(written[other.start : other.stop]).strip(" ")
        if OSA.normalized_similarity(text[start:end], spelt) < NEAR:
            return [change]
        changes.append(Rewrite(trimmed(text, Edit(start, end, spelt)), given, other))
    return [each for each in changes if text[each.edit.start : each.edit.end] != each.edit.replacement]


def words_in(offsets: Offsets, pieces: Sequence[str], span: range) -> list[range]:
    """The words among these pieces: each but the first begins with a blank."""
    starts = [i for i in span[1:] if offsets.spell(pieces[i : i + 1]).startswith(" ")]
    return [range(*ends) for ends in pairwise([*span[:1], *starts, span.stop])]


def kept(pieces: Sequence[str], written: Sequence[str], origin: Sequence[int | None]) -> list[int | None]:
    """Without those that now begin a word and did not, or the other way round.

    >>> kept([" hou", "ses", " are"], [" hou", "are"], [0, 2])
    [0, None]
    """
    places = zip(origin, written, strict=True)
    return [given if given is not None and pieces[given] == new else None for given, new in places]


def kept_units(firsts: list[int], origin: Sequence[int | None]) -> list[Anchor]:
    """Those all of whose pieces were written one behind the other, between the two ends.

    >>> kept_units([0, 1, 3], [0, None, 1, 2])
    [Anchor(unit=-1, start=0, end=0), Anchor(unit=0, start=0, end=1), Anchor(unit=1, start=2, end=4), \
Anchor(unit=2, start=4, end=4)]
    """
    place = {piece: i for i, piece in enumerate(origin) if piece is not None}
    anchors = [Anchor(-1, 0, 0)]
    for number, (first, last) in enumerate(pairwise(firsts)):
        start = place.get(first)
        if start is not None and list(origin[start : start + last - first]) == list(range(first, last)):
            anchors.append(Anchor(number, start, start + last - first))
    return [*anchors, Anchor(len(firsts) - 1, len(origin), len(origin))]


def neighbours(a: Anchor, b: Anchor) -> bool:
    return b.unit == a.unit + 1 and b.start == a.end


def whole_words(segment: Segment, anchors: list[Anchor], written: Sequence[str]) -> list[Anchor]:
    """Without the units that are, before or after a change, in one word with it."""
    text, units = segment.text, segment.units
    settled, waiting = anchors[:1], anchors[:0:-1]
    while waiting:
        a, b = settled[-1], waiting[-1]
        if neighbours(a, b):
            settled.append(waiting.pop())
            continue
        new = segment.offsets.spell(written[a.end : b.start])
        gap = gap_before(text, units, b.unit)
        after = new or (gap + text[units[b.unit].start] if inner(units, b) else "")
        if b.unit - a.unit > 1 and not units[a.unit + 1].blank:
            after = gap_before(text, units, a.unit + 1) + after
        before = (new or (text[units[a.unit].end - 1] if inner(units, a) else "")) + gap
        if inner(units, a) and goes_on(text, units[a.unit].end, -1, after[:1]):
            settled.pop()
        elif inner(units, b) and goes_on(text, units[b.unit].start, 0, before[-1:]):
            waiting.pop()
        else:
            settled.append(waiting.pop())
    return settled


def inner(units: Sequence[Unit], anchor: Anchor) -> bool:
    return 0 <= anchor.unit < len(units)


def gap_before(text: str, units: Sequence[Unit], number: int) -> str:
    """What is printed before a unit: the blank that its pieces say, or what the tokeniser drops."""
    if not 0 < number < len(units):
        return " " if number == 0 and units and units[0].blank else ""
    return " " if units[number].blank else text[units[number - 1].end : units[number].start]


def goes_on(text: str, place: int, side: int, written: str) -> bool:
    """Is the character beside ``place`` in one word with what is, or what was ``written``, across it?"""
    return in_word(text, place) or bool(written and WORD.match(text[place + side]) and WORD.match(written))


def between(text: str, units: Sequence[Unit], a: Anchor, b: Anchor, new: str) -> Edit:
    """All from one anchor to the next, where the model wrote ``new``.

    What a tokeniser drops, white space without a word and control characters, the model cannot have meant to change.
    """
    gone = units[a.unit + 1 : b.unit]
    start = units[a.unit].end if inner(units, a) else units[0].start if units else 0
    end = gone[-1].end if gone else start
    if gone:
        start = len(text[: gone[0].start].rstrip()) if gone[0].blank and inner(units, a) else gone[0].start
    if inner(units, b) and units[b.unit].blank:
        gap = text[end : units[b.unit].start]
        end += len(gap) - len(gap.lstrip())
        new += " " if b.unit == 0 or gap[:1].isspace() else ""
    new = new if inner(units, a) else new.lstrip()
    new = new if inner(units, b) else new.rstrip()
    return Edit(start, end, with_own_blanks(text[start:end], new))


def with_own_blanks(old: str, new: str) -> str:
    """White space at both ends as it was, where there was and is some.

    >>> with_own_blanks("\\tvery  ", " quite "), with_own_blanks("\\t", " very "), with_own_blanks("\\tvery  ", " ")
    ('\\tquite  ', '\\tvery ', '\\t')
    """
    ahead = old[: len(old) - len(old.lstrip())]
    if ahead and new[:1].isspace():
        rest, new = old[len(ahead) :], new.lstrip()
    else:
        ahead, rest = "", old
    behind = rest[len(rest.rstrip()) :]
    if behind and new[-1:].isspace():
        new = new.rstrip() + behind
    return ahead + new
