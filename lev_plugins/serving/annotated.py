"""A text with markup, as LanguageTool's protocol has it, and places in it counted as its clients count: in UTF-16.

[{"text": "A "}, {"markup": "<b>"}, {"text": "tset"}, {"markup": "</b>"}]
plain: "A tset"      original: "A <b>tset</b>"
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


class Part(NamedTuple):
    plain: str
    original: str
    text: bool = True  # markup otherwise


class Place(NamedTuple):
    start: int  # in the plain text
    end: int
    original: int  # where it starts in the original
    text: bool


class Annotated:
    """
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
        """The text between markups that holds all of it, if one does."""
        return first(self.texts, start, end)

    def original_place(self, at: int) -> int:
        """Of a place in the plain text; inside markup, where that begins."""
        place = self.around(at, at)
        if place is not None:
            return place.original + at - place.start
        markup = first(self.places, at, at)
        return markup.original if markup is not None else 0


def first(places: Sequence[Place], start: int, end: int) -> Place | None:
    """The first of ``places``, which do not overlap, that holds ``start`` to ``end``."""
    i = bisect_left(places, end, key=lambda place: place.end)
    return places[i] if i < len(places) and places[i].start <= start else None


class Utf16:
    """Numbers of UTF-16 units before a place.

    >>> units = Utf16("a😀b")
    >>> [units.before(place) for place in range(4)]
    [0, 1, 3, 4]
    """

    def __init__(self, text: str) -> None:
        self.wide = [place for place, character in enumerate(text) if character > "\uffff"]

    def before(self, place: int) -> int:
        return place + bisect_left(self.wide, place)
