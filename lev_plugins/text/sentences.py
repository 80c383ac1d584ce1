"""Sentences of a text, with their places, and parts of sentences that are too long for a model.

The package ``sentencex`` finds the ends of sentences with the abbreviations of many languages. It reads one line at a
time, with plain blanks in place of all other white space, because some line separators make it fail.
"""

import re
from collections.abc import Callable

import regex
import sentencex

from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.edited import Span

LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")  # by the line boundaries of str.splitlines
# where a long sentence is cut: at best behind a comma and the like, with a blank if the script has blanks; else at one
CUTS = [
    regex.compile(r"(?<=[,;:)\]\u2013\u2014])\s+|(?<=[\u3001\u3002\uff0c\uff1a\uff1b])"),
    regex.compile(r"\s+"),
]
LANGUAGES = {  # by script, its most common language, which decides on abbreviations and signs at the end
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
SCRIPT_LETTER = {name: regex.compile(rf"\p{{{name}}}") for name in LANGUAGES}
LETTER = regex.compile(r"\p{L}")
UKRAINIAN = re.compile("[їєґ]", re.IGNORECASE)  # letters that no other common language has


def guess_language(text: str) -> str:
    """Returns the most common language of the script of most letters; "en" for the Latin script.

    >>> [guess_language(text) for text in ("Ein Haus", "Большой дом, OK", "Є дім", "東京は大きい。")]
    ['en', 'ru', 'uk', 'ja']
    """
    letters = len(LETTER.findall(text))
    counts = {name: len(pattern.findall(text)) for name, pattern in SCRIPT_LETTER.items()}
    if counts["Hiragana"] + counts["Katakana"]:
        counts["Hiragana"] += counts["Han"]  # Japanese is written in all three
    script = max(counts, key=lambda name: counts[name])
    if 2 * counts[script] <= letters:
        return "en"
    return "uk" if script == "Cyrillic" and UKRAINIAN.search(text) else LANGUAGES[script]


def primary(code: str) -> str:
    """Returns the language of a code without its country.

    >>> primary("de-AT"), primary("pt_BR")
    ('de', 'pt')
    """
    return code.replace("_", "-").partition("-")[0].lower()


def sentences(text: str, language: str | None = None) -> list[Span]:
    """Returns the sentences of a text without the white space around them.

    ``language``: a code such as "de" or "de-AT"; None: it is guessed.

    >>> text = " Mr. Smith came.  He left!\\r\\nEnd"
    >>> [text[start:end] for start, end in sentences(text)]
    ['Mr. Smith came.', 'He left!', 'End']
    """
    code = primary(language or guess_language(text))  # sentencex reads others as "en"
    spans: list[Span] = []
    for line in lines(text):
        blank = re.sub(r"[\s\ud800-\udfff]", " ", text[line.start : line.end])  # lone surrogates have no bytes
        for boundary in sentencex.get_sentence_boundaries(code, blank):
            spans += stripped_span(text, line.start + boundary["start_index"], line.start + boundary["end_index"])
    return spans


def lines(text: str) -> list[Span]:
    """Returns the lines of a text that are not empty, without the white space around them.

    >>> lines("a b \\r\\n\\n c")
    [Span(start=0, end=3), Span(start=8, end=9)]
    """
    return [span for line in LINE.finditer(text) for span in stripped_span(text, *line.span())]


def stripped_span(text: str, start: int, end: int) -> list[Span]:
    """Returns a span without the white space around it and without a byte order mark; [] if nothing is left."""
    if start == 0 and text.startswith(BYTE_ORDER_MARK):
        start = 1
    stripped = text[start:end].strip()
    start = end - len(text[start:end].lstrip())
    return [Span(start, start + len(stripped))] if stripped else []


def split_to_fit(text: str, span: Span, fits: Callable[[str], bool]) -> list[Span]:
    """Cuts a span in halves, behind a comma or else at white space, until all parts fit.

    A part that does not fit and has no such place is left out: no word is ever cut.

    >>> split_to_fit("a bc, d e", Span(0, 9), lambda part: len(part) <= 6)
    [Span(start=0, end=5), Span(start=6, end=9)]
    >>> split_to_fit("abcdefg hi", Span(0, 10), lambda part: len(part) <= 4)
    [Span(start=8, end=10)]
    """
    if fits(text[span.start : span.end]):
        return [span]
    return [part for half in halves(text, span) for part in split_to_fit(text, half, fits)]


def halves(text: str, span: Span) -> list[Span]:
    """Cuts a span at the best place that is nearest to its middle; [] if there is none."""
    middle = (span.start + span.end) // 2
    for pattern in CUTS:
        places = [match.span() for match in pattern.finditer(text, span.start + 1, span.end)]
        inner = [(start, end) for start, end in places if end < span.end]
        if inner:
            start, end = min(inner, key=lambda place: abs(place[0] - middle))
            return [*stripped_span(text, span.start, start), *stripped_span(text, end, span.end)]
    return []
