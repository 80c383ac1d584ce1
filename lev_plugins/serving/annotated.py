"""Texts with markup, as in LanguageTool's protocol, and their places counted in UTF-16, as its clients count.

[{"text": "A "}, {"markup": "<b>"}, {"text": "tset"}, {"markup": "</b>"}]
plain: "A tset"      original: "A <b>tset</b>"
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


class Part(NamedTuple):
    """A piece of text, or of markup with the text that it stands for."""

    plain: str
    original: str
    text: bool = True  # False: markup


class Place(NamedTuple):
    """The position of a part."""

    start: int  # in the plain text
    end: int
    original: int  # where it starts in the original
    text: bool


class Annotated:
    """A text with markup: the plain text, the original, and where the parts of one are in the other.

    >>> text = Annotated([Part("A ", "A "), Part("", "<b>", False), Part("tset", "tset"), Part("", "</b>", False)])
    >>> text.plain, text.original, text.original_place(3), text.original_place(6)
    ('A tset', 'A <b>tset</b>', 6, 9)
    >>> text.around(2, 6), text.around(1, 3)
    (Place(start=2, end=6, original=5, text=True), None)
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.plain = "".join(part.plain for part in parts)
        self.original = "".join(part.original for part in parts)
        self.places: list[Place] = []
        start = original = 0
        for part in parts:
            self.places.append(Place(start, start + len(part.plain), original, part.text))
            start, original = start + len(part.plain), original + len(part.original)
        self.texts = [place for place in self.places if place.text]

    def around(self, start: int, end: int) -> Place | None:
        """Return the part of text that contains ``start`` to ``end``, if one does."""
        return containing(self.texts, start, end)

    def original_place(self, at: int) -> int:
        """Convert a place in the plain text to one in the original; inside markup, return where the markup begins."""
        place = self.around(at, at)
        if place is not None:
            return place.original + at - place.start
        markup = containing(self.places, at, at)
        return markup.original if markup is not None else 0


def containing(places: Sequence[Place], start: int, end: int) -> Place | None:
    """Return the first of ``places``, which are in order and do not overlap, that contains ``start`` to ``end``."""
    i = bisect_left(places, end, key=lambda place: place.end)
    return places[i] if i < len(places) and places[i].start <= start else None


class Utf16:
    """The UTF-16 units of a text.

    >>> units = Utf16("a😀b")
    >>> [units.before(place) for place in range(4)]
    [0, 1, 3, 4]
    """

    def __init__(self, text: str) -> None:
        self.pairs = [place for place, character in enumerate(text) if character > "\uffff"]  # characters of two units

    def before(self, place: int) -> int:
        """Return the number of units before a place."""
        return place + bisect_left(self.pairs, place)
