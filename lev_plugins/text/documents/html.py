"""HTML, also with the templates of web frameworks.

A tokeniser is enough: which element a text is in decides, and real pages have errors that a grammar stumbles over.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from lev_plugins.text.documents.document import Paragraph
from lev_plugins.text.documents.inline import ADDRESSES, RAW_ELEMENTS, TEMPLATES, Area, paragraphs_of, within
from lev_plugins.text.edited import Span

TAG = r"""<(?P<close>/?)(?P<name>[A-Za-z][^\s<>/"']*)(?P<rest>(?:[^<>"']+|"[^"]*(?:"|\Z)|'[^']*(?:'|\Z))*)>?"""
ENTITY = r"&lt;[^\s&](?:(?!&lt;)[^<>])*?&gt;|&\#?\w+;"  # also a tag that is shown
NO_ELEMENT = r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<![^<>]*>?"
CODE = rf"{TEMPLATES}|\$?\{{[^{{}}\n]*\}}|{ENTITY}|{ADDRESSES}"
TOKEN = re.compile(rf"(?P<layout>{NO_ELEMENT})|{TAG}|{CODE}", re.DOTALL)
INLINE = re.compile(
    "a|abbr|acronym|b|bd[io]|big|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|mark|nobr|q|s|samp|small|span|"
    "strike|strong|su[bp]|time|tt|u|var|wbr"
)
VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
CLOSES_ITSELF = ("p", "li", "dt", "dd", "tr", "td", "th", "option")  # where the next one begins
LANGUAGE = re.compile(r"""\blang\s*=\s*["']?([\w-]+)""", re.IGNORECASE)
NOT_PROSE = re.compile(r"""\btranslate\s*=\s*["']?no\b|\bnotranslate\b""", re.IGNORECASE)


class Element(NamedTuple):
    """An element that is open."""

    name: str
    start: int
    language: str | None
    prose: bool


def read_html(text: str) -> Iterator[Paragraph]:
    """Yields the texts of elements."""
    return paragraphs_of(text, html_areas(text, 0, len(text), [], []))


def html_areas(text: str, begin: int, end: int, code: list[Span], layout: list[Span]) -> Iterator[Area]:
    """Yields the stretches of text between the tags of blocks.

    code: sorted spans that are not prose for another reason
    layout: sorted spans between lines, such as the signs of a quotation
    """
    document = Element("", begin, None, True)
    opened, names = [document], Counter[str]()
    place, holes, signs = begin, list[Span](), list[Span]()

    def area(start: int, stop: int) -> Iterator[Area]:
        if opened[-1].prose and start < stop:
            outer = within(code, start, stop), within(layout, start, stop)
            yield Area(start, stop, [*holes, *outer[0]], [*signs, *outer[1]], opened[-1].language)
        holes.clear()
        signs.clear()

    while match := TOKEN.search(text, place, end):
        start, place = match.span()
        name = (match["name"] or "").lower()
        if not name:
            (signs if match["layout"] else holes).append(Span(start, place))
            continue
        raw = name in RAW_ELEMENTS and not match["close"] and not match["rest"].endswith("/")
        if raw:
            last = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, place, end)
            place = last.end() if last else end
        if not INLINE.fullmatch(name):
            yield from area(begin, start)
            begin = place
        elif raw:
            holes.append(Span(start, place))
        else:
            signs.append(Span(start, place))
        if raw or VOID.fullmatch(name) or match["rest"].endswith("/"):
            continue
        if names[name] and (match["close"] or (name in CLOSES_ITSELF and opened[-1].name == name)):
            while (element := opened.pop()).name != name:
                names[element.name] -= 1
            names[name] -= 1
            if element[2:] != opened[-1][2:] and element.start >= begin:  # a foreign word in a sentence
                holes.append(Span(element.start, place))
        if not match["close"]:
            language = LANGUAGE.search(match["rest"])
            prose = opened[-1].prose and not NOT_PROSE.search(match["rest"])
            opened.append(Element(name, start, language[1] if language else opened[-1].language, prose))
            names[name] += 1
    yield from area(begin, end)
