"""reStructuredText, by lines: its blocks are a matter of indentation.

The grammar of tree-sitter does not read what is inside directives, and takes quadratic time.
"""

import re
from collections.abc import Collection, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from lev_plugins.text.documents.document import Paragraph
from lev_plugins.text.documents.inline import ADDRESSES, TEMPLATES, Area, paragraphs_of
from lev_plugins.text.documents.lines import Line, lines_of
from lev_plugins.text.edited import Span

# Directives whose argument and content are prose, and those whose content only. All others are code.
PROSE = re.compile(
    "attention|caution|danger|error|hint|important|note|tip|warning|admonition|seealso|todo|topic|sidebar|rubric|centered|"
    "version(?:added|changed|removed)|deprecated(?:-removed)?|epigraph|highlights|pull-quote|compound|dropdown|card|"
    "tab-item|tab|grid-item-card|impl-detail|list-table"
)
PROSE_CONTENT = re.compile(
    "figure|container|class|rst-class|only|ifconfig|glossary|tabs|tab-set|grid|hlist|details|function|(?:class|static)?"
    "method|decorator(?:method)?|attribute|property|data|module|exception|type|macro|member|struct|enum|enumerator|union|"
    "var|option|cmdoption|envvar|program|describe|object|confval|setting|event|opcode|pdbcommand|directive|role|fixture"
)
VERSIONS = re.compile(r"(?:(?:v?\d[\w.+-]*|next|unreleased)[,:]?(?:\s+|$))*", re.IGNORECASE)
EXPLICIT = re.compile(r"\.\.(?:\s+|$)")
DIRECTIVE = re.compile(r"(?:[\w+.-]{1,40}:){0,3}(?P<name>(?P<version>version|deprecated)?[\w+.-]{0,40}) ?::(?:\s+|$)")
FOOTNOTE = re.compile(r"\[[^\[\]\s]+\]\s+")
BULLET = re.compile(r"(?:[*+•-]|\(?(?:\d+|[a-zA-Z#]|[ivxIVX]{1,5})[.)])\s+(?=\S)")
FIELD = re.compile(r":(?![\s:])(?:[^:\\`\n]|\\.|:(?=\S))+:(?:\s+|$)")
DATA_FIELD = re.compile(
    r":(?:\w*type|class|module|synopsis|language|name|version|date|status|tocdepth)\b", re.IGNORECASE
)
OPTION = re.compile(r"--?\w(?:\S|\s(?!\s))*(?:\s+|$)")
INTERRUPTS = re.compile(
    rf"{EXPLICIT.pattern}|{FIELD.pattern}|[*+•-]\s|>|\||__\s|([^\w\s])\1+$|\+[-=+]{{2}}|=+(?:\s+=+)+$"
)
TABLE_OR_DOCTEST = re.compile(r">>>|\+[-=+]{2}|\|.*\|$")
BORDER = re.compile(r"=+(?:\s+=+)+$")  # of a simple table
NOT_PROSE = re.compile(r"([^\w\s])\1+$|>|__\s|[^\w\s]$")
LINE = re.compile(r"\|\s+")  # of a line block
TERM_OF_CODE = re.compile(r"[_()=<>{}/\\`\[\]*$@]|\s:\s|^\S*[.-]\S*$|^[a-z]\S*$")
ROLE = r"(?::[\w+.-]{1,40}){1,3}:"
INLINE = re.compile(
    rf"""(?P<code>{ADDRESSES}|{TEMPLATES}|\{{[^{{}}\n]*\}}|``.*?(?:``(?!\w)|\Z)
    |(?:{ROLE})?_?`[^`<]*(?:`(?:{ROLE})?_{{0,2}}|\Z)|\|[^|\s](?:[^|\n]*[^|\s])?\|_{{0,2}}|\[[^\[\]\s]*\]_|<[^<>\n]*>|\\.
    |(?<![\w`.+:-])[^\W_](?:[\w.+:-]*[^\W_])?__?(?!\w))
    |(?P<role>:(?:ref|doc|term|any|numref):|(?<![:\w]))`(?P<text>[^`<]+)(?P<target><[^`<>]*>`_{{0,2}})
    |(?P<unknown>(?:{ROLE})?`.*?(?:`|\Z))|(?P<sign>\*+)""",
    re.DOTALL | re.VERBOSE,
)

REFERENCE = re.compile(r"`([^`<]+)`_|<([^<>`]+)_>|(?<![\w.+:-])([\w.+:-]*[^\W_])_(?!\w)")
NAME = re.compile(r"(?<=[*+•-] )[\w.+-]+$")  # an item that is one word
UNDERLINE = re.compile(r"(?P<rest>[^\r\n]*)\r?\n(?P<line>([^\w\s])\3+)[ \t]*\r?$", re.MULTILINE)
SHORT_TITLE = re.compile(
    r"[ \t]*\r?\n([^\w\s:.])\1{1,2}[ \t]*\r?$", re.MULTILINE
)  # a longer word would make it a sentence


def read_rst(text: str) -> Iterator[Paragraph]:
    """Yields paragraphs, titles, list items, definitions, and the content of directives such as note."""
    names = {normalized(next(filter(None, match.groups()))) for match in REFERENCE.finditer(text)}
    prose = (block for block in blocks(text) if not NAME.match(text, *block) and not SHORT_TITLE.match(text, block.end))
    sentences = (block for block in prose if normalized(text[slice(*block)]) not in names)  # titles are names
    return (with_room(text, entry) for entry in paragraphs_of(text, map(partial(area, text, names), sentences)))


def with_room(text: str, entry: Paragraph) -> Paragraph:
    """Returns a paragraph with its room, if it is a title: its line must be at least as long as it."""
    start, end = entry.parts[0].start, entry.parts[-1].end
    underline = UNDERLINE.match(text, end)
    if underline is None:
        return entry
    title_start, title_end = text.rfind("\n", 0, start) + 1, end + len(underline["rest"].rstrip())
    return entry._replace(room=max(0, len(underline["line"]) - (title_end - title_start)))


def normalized(name: str) -> str:
    return " ".join(name.lower().split())


def area(text: str, names: Collection[str], block: Span) -> Area:
    """Returns a paragraph with its inline markup; the text of a link is code if other references have it as a name."""
    code, signs = list[Span](), list[Span]()
    for match in INLINE.finditer(text, *block):
        if match["text"] and normalized(match["text"]) not in names:
            signs += [Span(match.start(), match.start("text")), Span(*match.span("target"))]
        else:
            (signs if match["sign"] else code).append(Span(*match.span()))
    return Area(*block, code, signs)


class Opening(NamedTuple):
    """What the first line of a block says about the lines below it. Indentations are columns; -1: none."""

    place: int  # offset of the first character of its prose; the end of the line if it has none
    indent: int  # a line goes on with the paragraph if it is indented like this or, unless ``exact``, by more
    exact: bool = True
    literal: int = 0  # if the paragraph ends in "::", lines indented by more than this are code
    skipped: int = -1  # lines indented by more than this are code, until one is not
    until_blank: bool = False  # all lines are code, until a blank one
    options: bool = False  # fields such as :class: are options of a directive, until a blank line
    borders: int = 0  # of a simple table, so far: until its last one, all lines are code, also after blank ones
    quoted: int = -1  # after "::": lines indented by exactly this that begin with a sign are a quoted literal block


def opening(text: str, line: Line) -> Opening:
    """Reads the markers that a line begins with."""
    place, end, column = line
    result = Opening(place, column, literal=column)
    while place < end:
        if match := EXPLICIT.match(text, place, end):
            directive = DIRECTIVE.match(text, match.end(), end)
            footnote = FOOTNOTE.match(text, match.end(), end)
            if directive and PROSE.fullmatch(directive["name"]):
                version = VERSIONS.match(text, directive.end(), end) if directive["version"] else None
                return Opening((version or directive).end(), column, False, column, options=True)
            if not footnote:
                content = bool(directive and PROSE_CONTENT.fullmatch(directive["name"]))
                return Opening(end, column, skipped=-1 if content else column, until_blank=content)
            match = footnote
        elif BORDER.match(text, place, end):
            return Opening(end, column, borders=1)
        elif TABLE_OR_DOCTEST.match(text, place, end):
            return Opening(end, column, until_blank=True)
        elif NOT_PROSE.match(text, place, end):
            return Opening(end, column, skipped=column if text.startswith("::", place, end) else -1)
        elif FIELD.match(text, place, end) and DATA_FIELD.match(text, place, end):
            return Opening(end, column, skipped=column)
        elif match := BULLET.match(text, place, end):
            result = result._replace(indent=column, literal=column + match.end() - place)
            column = result.literal
        elif not (
            match := FIELD.match(text, place, end) or OPTION.match(text, place, end) or LINE.match(text, place, end)
        ):
            break
        else:
            result = result._replace(indent=column)
        place = match.end()
        result = result._replace(place=place, exact=False)
    return result


def blocks(text: str) -> Iterator[Span]:
    """Yields the stretches with prose: lines that belong together."""
    start = end = -1  # of the paragraph, if there is one
    state = Opening(0, 0)
    blank = Line(0, 0, 0)
    for line, following in pairwise([*lines_of(text), blank, blank]):
        place, line_end, column = line
        continues = place < line_end and (column == state.indent if state.exact else column > state.indent)
        if start >= 0 and continues and not INTERRUPTS.match(text, place, line_end):
            end = line_end
            state = state._replace(indent=column, exact=True, literal=column, options=False)
            continue
        if start >= 0:
            yield Span(start, end)
            skipped = state.literal if text.endswith("::", start, end) else -1
            state = Opening(0, 0, skipped=skipped, options=state.options, quoted=skipped)
            start = -1
        if state.borders:
            if BORDER.match(text, place, line_end):  # the third one is the last, or the one before a blank line
                is_last = state.borders == 2 or following.start == following.end
                state = Opening(0, 0) if is_last else state._replace(borders=state.borders + 1)
        elif place == line_end:
            state = state._replace(until_blank=False, options=False)
        elif state.until_blank or 0 <= state.skipped < column or (state.options and FIELD.match(text, place, line_end)):
            state = state._replace(quoted=-1)
        elif state.quoted == column and not text[place].isalnum():
            state = Opening(line_end, column, until_blank=True)
        else:
            state = opening(text, line)
            is_term = state.exact and following.indent > column and following.start < following.end
            if state.place < line_end and not (is_term and TERM_OF_CODE.search(text, place, line_end)):
                start, end = state.place, line_end
