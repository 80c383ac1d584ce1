"""A text and its edits.

Places count code points of the original. Whatever lies outside the edits is the original, character for character.
An edit covers whole words: "teh" becomes "the", rather than "eh" becoming "he". In scripts that put no blanks between
words it covers whole characters, as a reader sees them.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import NamedTuple, TypeVar

import regex
from rapidfuzz.distance import Postfix, Prefix

from lev_plugins.text.control import visible
from lev_plugins.utils.errors import UserError, require

Item = TypeVar("Item")
JSON_DIGITS = 4  # of a confidence
# the scripts that put no blanks between words
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
FLAG = r"\p{GCB=RI}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+"  # a case of \X, which looks back at all flags
PART = regex.compile(rf"(?V1)\s+|[[\w\p{{M}}]--[{UNSPACED}]]+|{FLAG}|\X")
WORD = regex.compile(rf"(?V1)[[\w\p{{M}}]--[{UNSPACED}]]")


class Span(NamedTuple):
    """A part of a text, in code points."""

    start: int
    end: int


class Term(NamedTuple):
    """A term of a glossary in a source."""

    source: str
    target: str
    span: Span = Span(0, 0)


@dataclass(frozen=True, order=True)
class Edit:
    """The replacement of a span of a text."""

    start: int
    end: int
    replacement: str
    confidence: float = 1.0  # from 0 to 1: what the model gives this edit against leaving the text alone
    iteration: int = 1  # of the refinement that made it; a model that writes from left to right has only one
    evidence: tuple[float, ...] = field(default=(), compare=False, repr=False)  # for ``editor.calibration``
    # other changes of the same place, most likely first
    alternatives: "tuple[Edit, ...]" = field(default=(), compare=False, repr=False)

    def as_dict(self) -> dict[str, object]:
        """Returns the edit as ``lev-plugins edit --json`` prints it."""
        return {
            "start": self.start,
            "end": self.end,
            "replacement": self.replacement,
            "confidence": round(self.confidence, JSON_DIGITS),
            "iteration": self.iteration,
            "alternatives": [
                {"replacement": edit.replacement, "confidence": round(edit.confidence, JSON_DIGITS)}
                for edit in self.alternatives
            ],
        }


@dataclass(frozen=True)
class Edited:
    """A text, and the edits that change it.

    >>> edited = Edited("I has a  hat", (Edit(2, 5, "have", confidence=0.9), Edit(12, 12, ".", confidence=0.4)))
    >>> edited.text, edited.without_unsure(0.5).text
    ('I have a  hat.', 'I have a  hat')
    """

    original: str
    edits: tuple[Edit, ...] = ()
    sentences: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    protected: tuple[Span, ...] = field(default=(), compare=False, repr=False)  # what no edit may touch
    terms: tuple[Term, ...] = field(default=(), compare=False, repr=False)  # of the source, in a glossary
    text: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", apply(self.original, self.edits))

    def without_unsure(self, minimum: float) -> "Edited":
        """Leaves out the edits with a lower confidence than ``minimum``."""
        return replace(self, edits=tuple(edit for edit in self.edits if edit.confidence >= minimum))

    def as_dict(self) -> dict[str, object]:
        """Returns the text and its edits as ``lev-plugins edit --json`` prints them."""
        return {"text": self.text, "edits": [edit.as_dict() for edit in self.edits]}


def apply(original: str, edits: Sequence[Edit]) -> str:
    """Returns the text that the edits make of ``original``.

    >>> apply("a b c", [Edit(0, 1, "A"), Edit(1, 3, "")])
    'A c'
    """
    parts, end = [], 0
    for edit in edits:
        require(
            end <= edit.start <= edit.end <= len(original),
            f"edits must be sorted, apart from each other and inside the text of {len(original)} characters, but one "
            f"is from {edit.start} to {edit.end}, after another that ends at {end}",
        )
        parts += [original[end : edit.start], edit.replacement]
        end = edit.end
    return "".join([*parts, original[end:]])


def spans_after(spans: Iterable[Span], edits: Sequence[Edit]) -> list[Span]:
    """Returns where the spans of a text are after edits of it; a part of what an edit replaces becomes all of it.

    >>> spans_after([Span(0, 1), Span(4, 5), Span(6, 7)], [Edit(2, 5, "longer")])
    [Span(start=0, end=1), Span(start=2, end=8), Span(start=9, end=10)]
    """
    ends = [edit.end for edit in edits]
    growth = [0, *accumulate(len(edit.replacement) + edit.start - edit.end for edit in edits)]

    def place(at: int, is_end: bool) -> int:
        number = bisect_right(ends, at)
        if number < len(edits) and edits[number].start < at:
            return edits[number].start + growth[number] + is_end * len(edits[number].replacement)
        return at + growth[number]

    return [Span(place(start, False), place(end, True)) for start, end in spans]


def follow(original: str, prior_edits: Sequence[Edit], edited: Edited) -> Edited:
    """Returns the edits of a text that do what ``prior_edits`` do, and then what was ``edited`` in its result.

    Edits that overlap become one, which is certain.

    >>> follow("a b c", [Edit(2, 2, "x ")], Edited("a x b c", (Edit(0, 1, "A", 0.5), Edit(3, 5, "", 0.5)))).edits
    (Edit(start=0, end=1, replacement='A', confidence=0.5, iteration=1), \
Edit(start=2, end=3, replacement='x', confidence=1.0, iteration=1))
    """
    images, growth = list[Edit](), [0]  # the prior edits, where they are in the text that was edited
    for edit in prior_edits:
        start = edit.start + growth[-1]
        images.append(replace(edit, start=start, end=start + len(edit.replacement)))
        growth.append(images[-1].end - edit.end)

    def before(span: Span) -> Span:
        """Returns the place in the original."""
        return Span(*(place - growth[sum(image.end <= place for image in images)] for place in span))

    groups: list[list[tuple[Edit, bool]]] = []  # of edits that overlap, each with whether it is of the second ones
    both = [*((edit, False) for edit in images), *((edit, True) for edit in edited.edits)]
    for edit, is_second in sorted(both, key=lambda row: (row[0].start, row[0].end)):
        if not groups or edit.start >= max(member.end for member, _ in groups[-1]):
            groups.append([])
        groups[-1].append((edit, is_second))
    edits = []
    for group in groups:
        span = Span(group[0][0].start, max(edit.end for edit, _ in group))
        moved = [replace(e, start=e.start - span.start, end=e.end - span.start) for e, is_second in group if is_second]
        joined = Edit(*span, apply(edited.original[slice(*span)], moved))
        edit, (start, end) = group[0][0] if len(group) == 1 else joined, before(span)
        alternatives = tuple(replace(alternative, start=start, end=end) for alternative in edit.alternatives)
        edits.append(replace(edit, start=start, end=end, alternatives=alternatives))
    sentences, protected = (tuple(map(before, spans)) for spans in (edited.sentences, edited.protected))
    changes = (edit for edit in edits if original[edit.start : edit.end] != edit.replacement)
    return Edited(original, tuple(changes), sentences, protected, edited.terms)


def parts_of(text: str) -> list[str]:
    """Splits a text into words, white space, and each other character with what combines with it.

    >>> parts_of("it's  a test.")
    ['it', "'", 's', '  ', 'a', ' ', 'test', '.']
    """
    return PART.findall(text)


def in_word(text: str, place: int) -> bool:
    """Returns whether one word has both the character before ``place`` and the one behind it.

    >>> in_word("a test", 3), in_word("a test", 2), in_word("a test", 6)
    (True, False, False)
    """
    return 0 < place < len(text) and bool(WORD.match(text[place - 1]) and WORD.match(text[place]))


def trim(original: str, edit: Edit) -> Edit:
    """Cuts off the words, blanks and signs at both ends that the edit leaves as they are.

    >>> text = "in teh house ."
    >>> trim(text, Edit(0, 14, "in the house."))
    Edit(start=3, end=13, replacement='the house', confidence=1.0, iteration=1)
    >>> trim(text, Edit(2, 6, " the"))
    Edit(start=3, end=6, replacement='the', confidence=1.0, iteration=1)
    """
    removed, inserted = parts_of(original[edit.start : edit.end]), parts_of(edit.replacement)
    prefix = Prefix.similarity(removed, inserted)
    suffix = Postfix.similarity(removed[prefix:], inserted[prefix:])
    start = edit.start + sum(map(len, removed[:prefix]))
    end = edit.end - sum(map(len, removed[len(removed) - suffix :]))
    return replace(edit, start=start, end=end, replacement="".join(inserted[prefix : len(inserted) - suffix]))


def as_list(name: str, values: Iterable[Item]) -> list[Item]:
    """Returns the items as a list, and refuses a string, whose items would be its letters.

    >>> as_list("texts", "He go.")
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: texts must be a list, but is 'He go.': put a single text in brackets, [text]
    """
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        value = f"{visible(repr(values)):.60}"
        raise UserError(f"{name} must be a list, but is {value}: put a single text in brackets, [text]")
    return list(values)


def require_text(text: object, what: str = "text") -> None:
    """Refuses what is not a string, and a string with half of a surrogate pair, which UTF-8 cannot encode.

    ``what``: the noun for it in messages

    >>> require_text("a\\ud83d")
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: the text 'a\\ud83d' has \\ud83d at 1, half of a character: give both halves
    """
    if not isinstance(text, str):
        raise UserError(f"a {what} must be a string, but is {visible(repr(text)):.60}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x} at {error.start}"
        says = f"the {what} {visible(text)[:60]!r} has {half}, half of a character: give both halves"
        raise UserError(says) from None
