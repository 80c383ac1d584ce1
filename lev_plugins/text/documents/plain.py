"""Plain text, of which only what looks like sentences is prose."""

import re
from collections.abc import Iterator
from itertools import groupby

from lev_plugins.text.documents.document import Paragraph
from lev_plugins.text.documents.inline import ADDRESSES, TEMPLATES, Area, matches, paragraphs_of
from lev_plugins.text.documents.lines import Line, lines_of
from lev_plugins.text.edited import Span

NOT_PROSE = re.compile(rf"{ADDRESSES}|{TEMPLATES}|`[^`\n]*`|<[^<>\n]*>|\{{[^{{}}\n]*\}}")
ITEM = re.compile(r"(?:[*+•-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ ]+(?=\S)")
CODE = re.compile(
    r"[#$%>|\\/@!;]|.*(?:\S {3,}\S|\t|[{};=|\\]$|\s=+\s|[|+][-=+]{2}|[-=_*~]{4})"
)  # also tables and drawings
WORD = re.compile(r"[\"'(\[\u201c\u2018]*[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[\"')\]\u201d\u2019.,;:!?]*$")
MAX_INDENT = 4  # what has it is code
MIN_WORDS, WORD_SHARE = 3, 0.75  # of a paragraph
MIN_WIDTH, FULL = 40, 0.8  # a line of this share of the width goes on in the next one


def read_plain(text: str) -> Iterator[Paragraph]:
    """Yields the paragraphs, whose lines may be hard-wrapped."""
    return paragraphs_of(text, (Area(*span, matches(NOT_PROSE, text, *span)) for span in sentences(text)))


def sentences(text: str) -> Iterator[Span]:
    """Yields the stretches that have enough ordinary words."""
    for has_text, group in groupby(lines_of(text), lambda line: line.start < line.end):
        if not has_text:
            continue
        whole = list(group)
        lines = [without_sign(text, line) for line in whole]
        width = max(width_of(line) for line in lines)
        start = 0
        for number, line in enumerate(lines, 1):
            following = lines[number] if number < len(lines) and lines[number] == whole[number] else None
            if following and goes_on(text, line, following, width):
                continue
            stretch = Span(lines[start].start, line.end)
            words = NOT_PROSE.sub("", text[stretch.start : stretch.end]).split()
            ordinary = sum(bool(WORD.match(word)) for word in words)
            is_code = whole[start].indent >= MAX_INDENT or any(
                CODE.match(text, *line[:2]) for line in lines[start:number]
            )
            if len(words) >= MIN_WORDS and ordinary >= WORD_SHARE * len(words) and not is_code:
                yield stretch
            start = number


def without_sign(text: str, line: Line) -> Line:
    """Returns the line from behind the sign of an item, which counts as indentation."""
    sign = ITEM.match(text, line.start, line.end)
    return Line(sign.end(), line.end, line.indent + sign.end() - sign.start()) if sign else line


def width_of(line: Line) -> int:
    return line.indent + line.end - line.start


def goes_on(text: str, line: Line, following: Line, width: int) -> bool:
    """Returns whether the sentence of a line goes on in the next one: it has no room for another word."""
    word = text[following.start : following.end].split(maxsplit=1)[0]
    is_full = width >= MIN_WIDTH and width_of(line) + len(word) >= FULL * width
    return is_full and following.indent == line.indent
