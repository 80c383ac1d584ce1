"""A text, its edits, and what they make of it.

Places count code points of the original. Whatever lies outside the edits is the original, character for character.
An edit covers whole words: "teh" becomes "the", rather than "eh" becoming "he". In scripts that put no blanks between
words it covers whole characters, as a reader sees them.

From what a model wrote back to the text it was given: which stretches changed, and to what.

    text      the  cat's  mat      units    the | cat | ' | s | mat
    written   ▁the ▁cats ▁mat      origin   0     -           4

What a model kept is printed as it was, with the white space around it. The blank before a new word is the model's, but
where the text had white space in that place, the text's: a replaced word keeps what is around it, a new one gets one
blank, and with a deleted word goes the white space on one side of it. If pieces do not say where blanks are, as in
WordPiece, what replaces a word has a blank before it only where the text has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol

import regex
from rapidfuzz.distance import OSA

from lev_plugins.errors import UserError, require
from lev_plugins.text.control import visible
from lev_plugins.text.offsets import Offsets, Unit

UNKNOWN = "<unk>"
NEAR = 0.5  # similarity of a word and the one that takes its place

# without blanks between words
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
PART = regex.compile(rf"(?V1)\s+|[[\w\p{{M}}]--[{UNSPACED}]]+|\X")
WORD = regex.compile(rf"(?V1)[[\w\p{{M}}]--[{UNSPACED}]]")


class Span(NamedTuple):
    start: int
    end: int


@dataclass(frozen=True, order=True)
class Edit:
    start: int
    end: int
    replacement: str
    confidence: float = 1.0  # from 0 to 1: what the model gives this edit against leaving the text alone
    iteration: int = 1  # of the refinement that made it; a model that writes from left to right has only one
    evidence: tuple[float, ...] = field(default=(), compare=False, repr=False)  # for ``text.calibration``
    dial: float | None = field(default=None, compare=False, repr=False)  # the greatest that keeps it, if it is a name
    others: tuple[Edit, ...] = field(default=(), compare=False, repr=False)  # that change the same to something else

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        told = {name: getattr(self, name) for name in ("start", "end", "replacement", "confidence", "iteration")}
        others = [
            {"replacement": other.replacement, "confidence": round(other.confidence, DIGITS)} for other in self.others
        ]
        dial = {} if self.dial is None else {"dial": round(self.dial, DIGITS)}
        return {**told, "confidence": round(self.confidence, DIGITS), **dial, "others": others}

    def sure(self, least: float) -> bool:
        return (self.confidence if self.dial is None else self.dial) >= least


@dataclass(frozen=True)
class Edited:
    """
    >>> edited = Edited("I has a  hat", (Edit(2, 5, "have", confidence=0.9), Edit(12, 12, ".", confidence=0.4)))
    >>> edited.text, edited.sure(0.5).text
    ('I have a  hat.', 'I have a  hat')
    """

    original: str
    edits: tuple[Edit, ...] = ()
    sentences: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    protected: tuple[Span, ...] = field(default=(), compare=False, repr=False)  # what no edit may touch
    text: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", apply(self.original, self.edits))

    def sure(self, least: float) -> Edited:
        """Only the edits whose confidence is at least this, and of the names those whose dial is.

        >>> [Edited("a", (Edit(0, 1, "b", 0.7, dial=dial),)).sure(0.5).text for dial in (None, 0.3)]
        ['b', 'a']
        """
        return replace(self, edits=tuple(edit for edit in self.edits if edit.sure(least)))

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {"text": self.text, "edits": [edit.as_dict() for edit in self.edits]}


DIGITS = 4  # of a confidence in JSON


def apply(original: str, edits: Sequence[Edit]) -> str:
    """
    >>> apply("a b c", [Edit(0, 1, "A"), Edit(1, 3, "")])
    'A c'
    """
    parts, at = [], 0
    for edit in edits:
        require(
            at <= edit.start <= edit.end <= len(original),
            f"edits must be sorted, apart from each other and inside the text of {len(original)} characters, but one "
            f"is from {edit.start} to {edit.end}, after another that ends at {at}",
        )
        parts += [original[at : edit.start], edit.replacement]
        at = edit.end
    return "".join([*parts, original[at:]])


def parts_of(text: str) -> list[str]:
    """Words, white space, and each other character with what combines with it.

    >>> parts_of("it's  a test.")
    ['it', "'", 's', '  ', 'a', ' ', 'test', '.']
    """
    return PART.findall(text)


def in_word(text: str, place: int) -> bool:
    """Is there a word that goes on from the left of ``place`` to the right of it?

    >>> in_word("a test", 3), in_word("a test", 2), in_word("a test", 6)
    (True, False, False)
    """
    return 0 < place < len(text) and bool(WORD.match(text[place - 1]) and WORD.match(text[place]))


def trimmed(original: str, edit: Edit) -> Edit:
    """Without the words, blanks and signs at both ends that stay as they are.

    >>> text = "in teh house ."
    >>> trimmed(text, Edit(0, 14, "in the house."))
    Edit(start=3, end=13, replacement='the house', confidence=1.0, iteration=1)
    >>> trimmed(text, Edit(2, 6, " the"))
    Edit(start=3, end=6, replacement='the', confidence=1.0, iteration=1)
    """
    old, new = parts_of(original[edit.start : edit.end]), parts_of(edit.replacement)
    first = common(old, new)
    last = common(old[first:][::-1], new[first:][::-1])
    ahead, behind = (sum(map(len, parts)) for parts in (old[:first], old[len(old) - last :]))
    return replace(
        edit, start=edit.start + ahead, end=edit.end - behind, replacement="".join(new[first : len(new) - last])
    )


def common(one: Sequence[object], other: Sequence[object]) -> int:
    """Length of the common beginning.

    >>> common(["a", "b", "c"], ["a", "b", "d"])
    2
    """
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def listed(name: str, values: Iterable[Any]) -> list[Any]:
    """Returns the items as a list. A string has items, too, but nobody means its letters.

    >>> listed("texts", "He go home.")
    Traceback (most recent call last):
    lev_plugins.errors.UserError: texts must be a list, but is 'He go home.': put a single text in brackets, [text]
    """
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        value = f"{visible(repr(values)):.60}"
        raise UserError(f"{name} must be a list, but is {value}: put a single text in brackets, [text]")
    return list(values)


def require_text(text: object) -> None:
    """JSON can spell half of a surrogate pair without the other, but UTF-8 cannot.

    >>> require_text("a\\ud83d")
    Traceback (most recent call last):
    lev_plugins.errors.UserError: the text 'a\\ud83d' has \\ud83d at 1, half of a character: give both halves
    """
    if not isinstance(text, str):
        raise UserError(f"a text must be a string, but is {visible(repr(text)):.60}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x} at {error.start}"
        says = f"the text {visible(text)[:60]!r} has {half}, half of a character: give both halves"
        raise UserError(says) from None


# ---- from what a model wrote back to the text ------------------------------------------------------------------------


@dataclass
class Segment:
    """What a model edits at a time, such as a sentence, and what it reads beside it."""

    text: str  # without white space around it
    offsets: Offsets
    source: list[str] | None = None  # pieces of the source of a draft; None: the text is its own
    requests: list[int] | None = None  # what marks ask for, with an entry for <s> in front
    units: list[Unit] = field(init=False)
    pieces: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.units = self.offsets.units(self.text)
        self.pieces = [piece for unit in self.units for piece in unit.pieces]


Offer = tuple[int, float]  # a word and its log-probability


@dataclass
class WordEdits:
    """Of one result; its tokens are counted without <s>, those of its draft with it."""

    origin: list[int]  # of each token, its place in the draft; -1: it was inserted
    born: list[int]  # the iteration that inserted it, from 1; 0: it is of the draft
    inserted: list[float]  # log-odds of that
    chosen: list[float]  # log-probability of the word that filled the hole; 0: it is of the draft
    died: list[int]  # of each token of the draft, the last iteration that deleted it, from 1
    deleted: list[float]  # log-odds of that
    # of each token, the best words for the hole that it filled; [] of the draft, and where nobody asks for them
    offers: list[list[Offer]] = field(default_factory=list)


class SegmentModel(Protocol):
    """All that an editor asks of a model."""

    task: str  # --task of its training, which says what settings have an effect
    drafts: bool  # may a segment have a source of its own, and requests?
    longest: int  # pieces of a segment, or of its source
    symbols: Collection[str]  # the pieces of its dictionaries

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        """Of each segment, the edits of its text, each with its confidence and iteration."""


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
