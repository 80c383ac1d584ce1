"""Places in annotated text, compared with a search from the front."""

import random
import time

from lev_plugins.serving.annotated import Annotated, Part, Place

EMPTY = Part("", "<br>", False)


def slow_around(text: Annotated, start: int, end: int) -> Place | None:
    return next((each for each in text.places if each.text and each.start <= start and end <= each.end), None)


def slow_place(text: Annotated, at: int) -> int:
    inside = [each for each in text.places if each.start <= at <= each.end]
    texts = [each for each in inside if each.text]
    return texts[0].original + at - texts[0].start if texts else inside[0].original if inside else 0


def test_the_same_as_from_the_front() -> None:
    draw = random.Random(1)
    kinds = [Part("ab ", "ab "), Part("", "", True), EMPTY, Part("xy", "<p>", False)]
    for _ in range(300):
        text = Annotated(draw.choices(kinds, k=draw.randint(0, 8)))
        for at in range(len(text.plain) + 2):
            assert text.original_place(at) == slow_place(text, at)
            for end in range(at, len(text.plain) + 2):
                assert text.around(at, end) == slow_around(text, at, end)


def test_much_markup_takes_no_time() -> None:
    text = Annotated([EMPTY] * 40_000 + [Part("Ab! " * 4_900, "Ab! " * 4_900)])
    start = time.process_time()
    for at in range(0, len(text.plain), 2):
        assert text.original_place(at) >= 160_000
    assert time.process_time() - start < 2  # 10 s or more from the front
