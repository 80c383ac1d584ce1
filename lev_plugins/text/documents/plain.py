"""Plain text, of which only what looks like sentences is prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lev_plugins.text.documents.document import Paragraph
from lev_plugins.text.documents.inline import ADDRESSES, TEMPLATES, Area, matches, paragraphs_of
from lev_plugins.text.edited import Span

NOT_PROSE = re.compile(rf"{ADDRESSES}|{TEMPLATES}|`[^`\n]*`|<[^<>\n]*>|\{{[^{{}}\n]*\}}")
ITEM = re.compile(r"(?:[*+•-]|\(?\w{1,3}[.)])[ ]+(?=\S)")
CODE = re.compile(r"[#$%>|\\/@!;]|.*(?:\S {3,}\S|\t|[{};=|\\]$|[|+][-=+]{2}|[-=_*~]{4})")  # also tables and drawings
WORD = re.compile(r"[\"'(\[\u201c\u2018]*[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[\"')\]\u201d\u2019.,;:!?]*$")
MAX_INDENT = 4  # what has it is code
MIN_WORDS, WORD_SHARE = 3, 0.75  # of a paragraph
MIN_WIDTH, FULL = 40, 0.8  # a line of this share of the width goes on in the next one


class Line(NamedTuple):
    """A line without its indentation and the sign of an item."""

    start: int
    end: int
    column: int
    is_item: bool


def read_plain(text: str) -> Iterator[Paragraph]:
    """Yields the paragraphs, whose lines may be hard-wrapped."""
    return paragraphs_of(text, (Area(*span, matches(NOT_PROSE, text, *span)) for span in sentences(text)))


def sentences(text: str) -> Iterator[Span]:
    """Yields the stretches that have enough ordinary words."""
    for block in re.finditer(r"(?:[^\r\n]*\S[^\r\n]*(?:\r\n?|\n|$))+", text):
        lines = lines_of(text, *block.span())
        width = max(line.column + line.end - line.start for line in lines)
        start = 0
        for number, line in enumerate(lines, 1):
            if number < len(lines) and goes_on(text, line, lines[number], width):
                continue
            first = lines[start]
            stretch = Span(first.start, line.end)
            words = text[stretch.start : stretch.end].split()
            ordinary = sum(bool(WORD.match(word)) for word in words)
            is_code = (first.column >= MAX_INDENT and not first.is_item) or any(
                CODE.match(text, line.start, line.end) for line in lines[start:number]
            )
            if len(words) >= MIN_WORDS and ordinary >= WORD_SHARE * len(words) and not is_code:
                yield stretch
            start = number


def lines_of(text: str, start: int, end: int) -> list[Line]:
    result = []
    for match in re.finditer(r"([ \t\ufeff]*)([^\r\n]*[^\s])", text[start:end]):
        item = ITEM.match(match[2])
        sign = item.end() if item else 0
        indent = len(match[1].expandtabs(8))
        result.append(Line(start + match.start(2) + sign, start + match.end(), indent + sign, bool(item)))
    return result


def goes_on(text: str, line: Line, following: Line, width: int) -> bool:
    """Returns whether the sentence of a line goes on in the next one: that is not an item, and this one is full."""
    word = text[following.start : following.end].split(maxsplit=1)[0]
    length = line.column + line.end - line.start
    is_full = width >= MIN_WIDTH and length + len(word) >= FULL * width
    return is_full and not following.is_item and following.column == line.column
