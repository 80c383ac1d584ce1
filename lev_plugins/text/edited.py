"""A text and its edits.

Places count code points of the original. Whatever lies outside the edits is the original, character for character.
An edit covers whole words: "teh" becomes "the", rather than "eh" becoming "he". In scripts that put no blanks between
words it covers whole characters, as a reader sees them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import regex

from lev_plugins.errors import UserError, require
from lev_plugins.text.control import visible

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
