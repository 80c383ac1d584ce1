"""A text cut into what a model reads at a time: sentences, each with its place in the text.

Where sentences end is known to ``sentencex``, which has the abbreviations of many languages. It is given one line at a
time, with plain blanks for all other white space: it stops with an error of its own at some line separators.
"""

import re
from collections.abc import Callable, Iterator

import regex
import sentencex

from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.edited import Span

LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")  # as str.splitlines has them
# safest first: behind a comma and the like with a blank, or where a script needs none; behind a blank
SAFE_PLACES = [
    regex.compile(r"(?<=[,;:)\]\u2013\u2014])\s+|(?<=[\u3001\u3002\uff0c\uff1a\uff1b])"),
    regex.compile(r"\s+"),
]
SCRIPTS = {  # the commonest language of a script; what it decides are abbreviations and signs at the end
    "Cyrillic": "ru",
    "Greek": "el",
    "Arabic": "ar",
    "Hebrew": "he",
    "Devanagari": "hi",
    "Bengali": "bn",
    "Armenian": "hy",
    "Thai": "th",
    "Hangul": "ko",
    "Hiragana": "ja",
    "Katakana": "ja",
    "Han": "zh",
}
SCRIPT = {name: regex.compile(rf"\p{{{name}}}") for name in SCRIPTS}
LETTER = regex.compile(r"\p{L}")


def guess_language(text: str) -> str:
    """By the script of most letters; "en" for the Latin one.

    >>> guess_language("Ein Haus"), guess_language("Большой дом, OK"), guess_language("東京は大きい。")
    ('en', 'ru', 'ja')
    """
    letters = len(LETTER.findall(text))
    counts = {name: len(pattern.findall(text)) for name, pattern in SCRIPT.items()}
    if counts["Hiragana"] + counts["Katakana"]:
        counts["Hiragana"] += counts["Han"]  # Japanese is written in all three
    most = max(counts, key=lambda name: counts[name])
    return SCRIPTS[most] if 2 * counts[most] > letters else "en"


def primary(code: str) -> str:
    """The language of a code, without its country.

    >>> primary("de-AT"), primary("pt_BR")
    ('de', 'pt')
    """
    return code.replace("_", "-").partition("-")[0].lower()


def sentences(text: str, language: str | None = None) -> list[Span]:
    """Without the white space around them; ``language`` is a code such as "de" or "de-AT", and is guessed without one.

    >>> text = " Mr. Smith came.  He left!\\r\\nEnd"
    >>> [text[start:end] for start, end in sentences(text)]
    ['Mr. Smith came.', 'He left!', 'End']
    """
    code = primary(language or guess_language(text))  # sentencex reads others as "en"
    spans: list[Span] = []
    for line in lines(text):
        blank = re.sub(r"[\s\ud800-\udfff]", " ", text[line.start : line.end])  # lone surrogates have no bytes
        for said in sentencex.get_sentence_boundaries(code, blank):
            spans += bare(text, line.start + said["start_index"], line.start + said["end_index"])
    return spans


def lines(text: str) -> list[Span]:
    """Without the white space around them, and without those that hold nothing else.

    >>> lines("a b \\r\\n\\n c")
    [Span(start=0, end=3), Span(start=8, end=9)]
    """
    return [span for line in LINE.finditer(text) for span in bare(text, *line.span())]


def bare(text: str, start: int, end: int) -> Iterator[Span]:
    """Without the white space around it, and without a byte order mark."""
    start += start == 0 and text.startswith(BYTE_ORDER_MARK)
    inside = text[start:end].strip()
    if inside:
        first = end - len(text[start:end].lstrip())
        yield Span(first, first + len(inside))


def fitting(text: str, span: Span, fits: Callable[[str], bool]) -> list[Span]:
    """The span in parts that all fit, cut in halves behind a comma, or else at white space.

    A part that does not fit and has no such place is left out: no word is ever cut.

    >>> fitting("a bc, d e", Span(0, 9), lambda part: len(part) <= 6)
    [Span(start=0, end=5), Span(start=6, end=9)]
    >>> fitting("abcdefg hi", Span(0, 10), lambda part: len(part) <= 4)
    [Span(start=8, end=10)]
    """
    parts = []
    waiting = [span]
    while waiting:
        part = waiting.pop()
        if fits(text[part.start : part.end]):
            parts.append(part)
        else:
            waiting += halves(text, part)[::-1]
    return parts


def halves(text: str, span: Span) -> list[Span]:
    """Cut at the safest place that is nearest to the middle; nothing where there is none."""
    middle = (span.start + span.end) // 2
    for pattern in SAFE_PLACES:
        places = [found.span() for found in pattern.finditer(text, span.start + 1, span.end)]
        inner = [(start, end) for start, end in places if end < span.end]
        if inner:
            start, end = min(inner, key=lambda place: abs(place[0] - middle))
            return [*bare(text, span.start, start), *bare(text, end, span.end)]
    return []
