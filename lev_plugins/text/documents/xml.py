"""XLIFF, of whose texts the translations are prose."""

import re
from collections.abc import Iterator

from lev_plugins.text.documents.document import Paragraph
from lev_plugins.text.documents.html import CODE, NO_ELEMENT, NOT_PROSE, TAG
from lev_plugins.text.documents.inline import Area, area_of, paragraphs_of
from lev_plugins.text.edited import Span

ELEMENT = re.compile(
    r"<!--.*?(?:-->|\Z)|<alt-trans\b.*?(?:</alt-trans\s*>|\Z)"
    r"|<(?P<close>/?)(?:xliff|file|group|unit|trans-unit)\b(?P<attributes>[^<>]*)"
    r"|<target\b(?P<language>[^<>]*)(?<!/)>(?P<text>.*?)(?:</target\s*>|(?P<open>\Z))",
    re.DOTALL,
)
LANGUAGE = re.compile(r"""\b(?:target-language|trgLang|xml:lang)\s*=\s*["']([\w-]+)""")
INLINE = re.compile(  # placeholders, what the format of the original says, and what may be in HTML
    r"%(?:\(\w+\)|\d+\$)?[\d.]*[A-Za-z@%]|<(bpt|ept|ph|it|ut)\b[^<>]*(?<!/)>.*?(?:</\1\s*>|\Z)"
    rf"|(?P<sign>{NO_ELEMENT}|{TAG})|{CODE}",
    re.DOTALL,
)


def read_xliff(text: str) -> Iterator[Paragraph]:
    """Yields the texts of the elements target."""
    return paragraphs_of(text, areas(text))


def areas(text: str) -> Iterator[Area]:
    """Yields the stretches of text that are a translation."""
    scopes: list[tuple[str | None, bool]] = [(None, True)]  # of open elements: language, whether it is translated
    for match in ELEMENT.finditer(text):
        language, prose = scopes[-1]
        attributes = match["attributes"] or match["language"] or ""
        own_language = match_of_language[1] if (match_of_language := LANGUAGE.search(attributes)) else language
        if match["close"]:
            scopes = scopes[:-1] or scopes
        elif match["attributes"] is not None:
            if not attributes.endswith("/"):
                prose = not NOT_PROSE.search(attributes) if "translate" in attributes else prose
                scopes.append((own_language, prose))
        elif match["text"] and prose and match["open"] is None:
            yield area_of(text, Span(*match.span("text")), INLINE, own_language)
