"""What is not prose inside the sentences of markup, and the paragraphs without it."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lev_plugins.text.documents.document import Paragraph, paragraph, parts_around
from lev_plugins.text.edited import Span
from lev_plugins.text.protected import merge_spans

# Each ends with the text, if nothing else ends it: so a pattern never scans the same text twice.
TEMPLATES = r"\{\{.*?(?:\}\}|\Z)|\{%.*?(?:%\}|\Z)|\{\#.*?(?:\#\}|\Z)|<%.*?(?:%>|\Z)|<\?.*?(?:\?>|\Z)"
URL = r"[^\s<>\"`]*[^\s<>\"`.,;:!?'\u2019)\]}*_]"  # to its end, without the punctuation of the sentence
ADDRESSES = rf"\b(?:(?:https?|ftp|file)://|www\.|mailto:){URL}|(?<![\w.+%-])[\w.+%-]{{1,64}}@[\w-]+(?:\.[\w-]+)+"
RAW_ELEMENTS = ("script", "style", "pre", "code", "textarea", "kbd", "samp", "var", "tt", "svg", "math", "template")
RAW_BLOCKS = ("highlight", "raw", "code", "codeblock", "math", "comment", "mermaid", "prism")  # of Liquid and Hugo
SIGN = re.compile(
    r"(?P<comment><!--)|</?(?P<element>[A-Za-z][\w.:-]*)|</?>|\{%-?\s*(?P<block>\w+)|\{\{[<%]\s*(?P<shortcode>\w+)|[{}>]"
)


class Area(NamedTuple):
    """A stretch of text with prose: a paragraph that has not been taken apart."""

    start: int
    end: int
    code: Iterable[Span] = ()
    signs: Iterable[Span] = ()
    language: str | None = None


def paragraphs_of(text: str, areas: Iterable[Area]) -> Iterator[Paragraph]:
    """Yields those paragraphs that have letters in their prose."""
    for start, end, code, signs, language in areas:
        result = paragraph(text, parts_around(text, start, end, code, signs), language)
        if any(part.prose and any(map(str.isalpha, text[part.start : part.end])) for part in result.parts):
            yield result


def area_of(text: str, span: Span, pattern: re.Pattern[str], language: str | None = None) -> Area:
    """Returns a stretch of text without what a pattern matches: its group ``sign`` becomes layout, all else is code."""
    code, signs = list[Span](), list[Span]()
    for match in pattern.finditer(text, *span):
        (signs if match.lastgroup == "sign" else code).append(Span(*match.span()))
    return Area(*span, code, signs, language)


def matches(pattern: re.Pattern[str], text: str, start: int = 0, end: int | None = None) -> list[Span]:
    return [Span(*match.span()) for match in pattern.finditer(text, start, len(text) if end is None else end)]


def within(spans: list[Span], start: int, end: int) -> list[Span]:
    """Returns those of sorted spans that overlap with a stretch."""
    first = bisect_left(spans, Span(start, start))
    first -= first > 0 and spans[first - 1].end > start
    return spans[first : bisect_left(spans, Span(end, end))]


def without(text: str, spans: Iterable[Span]) -> str:
    """Returns a text as long, with these spans blank."""
    pieces, at = list[str](), 0
    for start, end in merge_spans(spans):
        pieces += [text[at:start], re.sub(r"[^\r\n]", " ", text[start:end])]
        at = end
    return "".join([*pieces, text[at:]])


def expressions(text: str, areas: Iterable[Span], file: str) -> tuple[list[Span], list[Span]]:
    """Returns {expressions}, templates and elements of code in sorted areas, and beside them comments and other tags.

    file: the text with what was left out of it, where elements may end
    >>> text = "A {b {c} d} <e f={1 > 0}> <pre>g</pre> {% raw %} {} {% endraw %}!"
    >>> [[text[start:end] for start, end in spans] for spans in expressions(text, [Span(0, len(text))], text)]
    [['{b {c} d}', '<pre>g</pre>', '{% raw %} {} {% endraw %}'], ['<e f={1 > 0}>']]
    """
    code, tags = list[Span](), list[Span]()
    opened = list[str]()  # the signs that would close what is open, innermost last
    braces = 0  # how many of these are "}"
    begin = 0  # where the outermost of these began
    resume = 0  # signs before this offset are inside code that has been read as a whole
    missing = set[str]()  # closing patterns that do not occur in the rest of the file
    for start, end in areas:
        for match in SIGN.finditer(text, min(max(start, resume), end), end):
            sign = match[0]
            if match.start() < resume:
                continue
            if not opened and (last := last_sign(match)) and last not in missing:
                if content := re.compile(last, re.IGNORECASE).search(file, match.end()):
                    resume = content.end()
                    (tags if match["comment"] else code).append(Span(match.start(), resume))
                    continue
                missing.add(last)
            if sign[0] in "<{":
                begin = begin if opened else match.start()
                opened += [">"] if sign[0] == "<" else ["}"] * sign.count("{")
                braces += sign.count("{")
            if opened and ((sign == "}" and braces) or sign[-1] == opened[-1] == ">"):
                while opened.pop() != sign[-1]:
                    pass
                braces -= sign == "}"
                if not opened:
                    (tags if sign[-1] == ">" else code).append(Span(begin, match.end()))
        if opened:
            code.append(Span(begin, end))
            opened, braces = [], 0
    return code, tags


def last_sign(match: re.Match[str]) -> str | None:
    """Returns the pattern of what ends the content of a sign, if that is code."""
    if match["comment"]:
        return "-->"
    if (element := match["element"] or "").lower() in RAW_ELEMENTS and match[0][1] != "/":
        return rf"</{element}\s*>"
    if (block := match["block"]) in RAW_BLOCKS:
        return rf"\{{%-?\s*end{block}\b[^}}]*\}}"
    if (shortcode := match["shortcode"]) in RAW_BLOCKS:
        return rf"\{{\{{[<%]\s*/\s*{shortcode}\b[^}}]*\}}\}}"
    return None
