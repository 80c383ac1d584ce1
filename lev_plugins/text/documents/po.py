r"""The messages of gettext (.po, .pot): translations, or the strings of the program.

>>> text = 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "Hi %s"\nmsgid_plural "Hi"\nmsgstr[0] "Hallo "\n"du, %s"\n'
>>> [(entry.language, [text[part.start : part.end] for part in entry.parts]) for entry in read_translations(text)]
[('de', ['Hallo ', 'du, ', '%s'])]
>>> [[text[part.start : part.end] for part in entry.parts if part.prose] for entry in read_sources(text)]
[['Hi '], ['Hi']]
"""

import re
from collections.abc import Collection, Iterator
from functools import partial

import regex

from lev_plugins.text.documents.document import Embedded, Paragraph
from lev_plugins.text.documents.inline import ADDRESSES, area_of, matches, paragraphs_of
from lev_plugins.text.edited import Span

STRING = regex.compile(r'(?m)^[ \t]*+(?:(msg[a-z_]++)(?:\[\d+\])?[ \t]*+)?"((?:[^"\\\r\n]++|\\.)*+)"[ \t]*+\r?$')
PIECE = re.compile(r'\\(?:[nrt"]|[^nrt"])|[^\\]+', re.DOTALL)
ESCAPES = {r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\"": '"'}
ASIDE = re.compile(
    r"(?<![^\s\"])[^\s\\\"]*\\[^\s\"]*"  # a word with an escape
    rf"|[A-Z]<[^<>]*>|(?P<sign><[^<>]*>)|&#?\w+;|(?<!`)`+[^`]+`+|{ADDRESSES}"
    r"|%(?:\([^()\s]*\))?(?:[-+#0'\d.*$I]| (?=\d|[a-z](?![^\W\d_])))*(?:<\w+>|(?:hh?|ll?|[LqjztZ])?[A-Za-z%]?)"
    r"|\$\w+|[$%#@]?\{[^{}]*\}"
    r"|[&~_]"  # of an accelerator
)
FILLED_LINES = re.compile(r"(?:[^\n]+\n?)+")
LANGUAGE = re.compile(r"(?:\A|\\n)Language:[ \t]*([A-Za-z_@-]+)")


def read_fields(text: str, names: Collection[str]) -> Iterator[Paragraph]:
    """Yields the paragraphs of the fields of entries with these names."""
    fields: list[tuple[str, list[Span]]] = []
    for match in STRING.finditer(text):
        if match[1]:
            fields.append((match[1], []))
        if fields:
            fields[-1][1].append(Span(*match.span(2)))
    language, header = None, False
    for i, (field, spans) in enumerate(fields):
        content = "".join(text[slice(*span)] for span in spans)
        if field == "msgid":
            header = not content and (not i or fields[i - 1][0] != "msgctxt")
        if field == "msgstr" and header:
            match = LANGUAGE.search(content)
            language = match[1] if match else None
        elif field in names:
            embedded, spoken = unescaped(text, spans), language if field == "msgstr" else None
            blocks = matches(FILLED_LINES, embedded.text)
            areas = (area_of(embedded.text, block, ASIDE, spoken) for block in blocks)
            yield from map(embedded.in_file, paragraphs_of(embedded.text, areas))


read_translations = partial(read_fields, names=["msgstr"])
read_sources = partial(read_fields, names=["msgid", "msgid_plural"])  # the strings of the program


def unescaped(text: str, strings: list[Span]) -> Embedded:
    """Returns strings of a file as one text."""
    pieces = [match for span in strings for match in PIECE.finditer(text, *span)]
    return Embedded.of(text, [(Span(*match.span()), ESCAPES.get(match[0], match[0])) for match in pieces])
