"""XLIFF, of whose texts the translations are prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lev_plugins.text.documents.document import Paragraph
from lev_plugins.text.documents.html import NOT_PROSE, TOKEN
from lev_plugins.text.documents.inline import Area, matches, paragraphs_of
from lev_plugins.text.edited import Span

LANGUAGE = re.compile(r"""\b(?:target-language|trgLang|lang)\s*=\s*["']([\w-]+)""")
PLACEHOLDER = re.compile(r"%(?:\(\w+\)|\d+\$)?[\d.]*[A-Za-z@%]")
NATIVE_CODE = ("bpt", "ept", "ph", "it", "ut")
UNITS = ("trans-unit", "unit", "group", "file")


def read_xliff(text: str) -> Iterator[Paragraph]:
    """Yields the texts of the elements target."""
    return paragraphs_of(text, areas(text))


def areas(text: str) -> Iterator[Area]:
    """Yields the stretches of text that are a translation."""
    language, begin, native, proposal, prose = None, -1, -1, False, True
    code, signs = list[Span](), list[Span]()
    target_language: str | None = None
    for match in TOKEN.finditer(text):
        name, opens = (match["name"] or "").rpartition(":")[2], not match["close"]
        empty = bool(name) and match["rest"].endswith("/")
        if begin < 0:
            found = LANGUAGE.search(match["rest"]) if name in ("xliff", "file", "target") and opens else None
            if name == "target" and opens and not empty and prose and not proposal:
                begin, native, code, signs = match.end(), -1, [], []
                target_language = found[1] if found else language
            elif name in ("xliff", "file") and found:
                language = found[1]
            elif name == "alt-trans":
                proposal = opens
            if name in UNITS and opens:
                prose = not NOT_PROSE.search(match["rest"])
        elif name == "target":
            yield Area(
                begin, match.start(), [*code, *matches(PLACEHOLDER, text, begin, match.start())], signs, target_language
            )
            begin = -1
        elif name in NATIVE_CODE and not empty:
            if opens and native < 0:
                native = match.start()
            elif native >= 0 and not opens:
                code.append(Span(native, match.end()))
                native = -1
        else:
            (signs if name or match["layout"] else code).append(Span(*match.span()))
