"""The comments that tell a spelling checker what to leave alone, in any language that has comments.

==================================  ====================================================================
``lev-plugins: ignore``             the line; ``codespell:ignore``, ``cspell:disable-line`` and
                                    ``spellchecker:disable-line`` as well
``lev-plugins: ignore-next-line``   the next line that is not empty; ``cspell:disable-next-line`` and
                                    ``spellchecker:ignore-next-line`` as well
``lev-plugins: off`` ... ``on``     all between them, or to the end of the text; ``spellchecker:off`` ...
                                    ``on`` and ``cspell:disable`` ... ``enable`` as well
``harper:ignore``                   the lines around it up to empty ones
``cspell:ignore teh recieve``       these words in the whole text
``[sic]``                           the word before it
==================================  ====================================================================

Words that follow, as in ``lev-plugins: ignore teh, recieve``, limit what is left alone to these words there; another
sign ends them (``codespell:ignore teh -- quoted``). A comment in quotation marks or backticks has no effect.

>>> text = "Teh ten. # lev-plugins: ignore teh -- quoted\\nA tset [sic].\\n"
>>> [text[start:end] for start, end in ignored_spans(text)]
['Teh', 'lev-plugins: ignore teh', 'tset ']
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from lev_plugins.text.edited import Span
from lev_plugins.text.protected import merge_spans

CSPELL = "(?:cspell|spell-?check(?:er)?): *"
PLACES = {
    "line": rf"(?:lev-plugins|codespell): *ignore|(?:lev-plugins: *|{CSPELL})(?:disable|ignore)-line",
    "next_line": rf"(?:lev-plugins: *|{CSPELL})(?:disable|ignore)-next-line",
    "paragraph": "harper: *ignore",
    "text": rf"{CSPELL}(?:ignore(?:words?)?|words?)",
}
SWITCHES = {
    "off": "lev-plugins: *off",
    "on": "lev-plugins: *on",
    "disable": rf"{CSPELL}(?:disable|off)",
    "enable": rf"{CSPELL}(?:enable|on)",
}
OFF = {"on": "off", "enable": "disable"}
EITHER = "|".join(f"(?P<{name}>{pattern})" for name, pattern in {**PLACES, **SWITCHES}.items())
COMMENT = re.compile(rf"(?<![\w`'\"])(?:{EITHER})(?!-?\w)|(?P<sic>[\[(][*_]?sic!?[*_]?[\])])", re.I)
WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
LISTED_WORDS = re.compile(rf"(?:[ \t,]+{WORD.pattern}(?:-{WORD.pattern})*)*")
LINE = re.compile(r"\S[^\r\n]*")
PARAGRAPH = re.compile(rf"{LINE.pattern}(?:(?:\r\n?|\n)[ \t]*{LINE.pattern})*")
LAST_WORD = re.compile(r"\S+\s*\Z")
SIC_CHARS = 100  # looked at before [sic]


def ignored_spans(text: str) -> list[Span]:
    """Returns what comments in a text tell to leave alone, in order and without overlaps."""
    comments = list(COMMENT.finditer(text))
    if not comments:
        return []
    return merge_spans(chain(of_places(text, comments), switched_off(text, comments), before_sic(text, comments)))


def of_places(text: str, comments: Sequence[re.Match[str]]) -> Iterator[Span]:
    """Yields the lines and other places that comments name, or the words listed there, and the comments."""
    lines, paragraphs = ([Span(*match.span()) for match in pattern.finditer(text)] for pattern in (LINE, PARAGRAPH))
    words: defaultdict[Span, set[str]] = defaultdict(set)  # left alone in each place
    for comment in comments:
        if comment.lastgroup in PLACES:
            line, paragraph = index_at(lines, comment.start()), paragraphs[index_at(paragraphs, comment.start())]
            listed = LISTED_WORDS.match(text, comment.end())[0]  # type: ignore[index]  # it also matches nothing
            place = {
                "line": lines[line],
                "next_line": lines[min(line + 1, len(lines) - 1)],
                "paragraph": paragraph,
                "text": Span(0, len(text)) if listed else paragraph,  # Harper's name for harper:ignore
            }[comment.lastgroup]
            yield Span(comment.start(), comment.end() + len(listed))
            if listed:
                words[place].update(map(str.casefold, WORD.findall(listed)))
            else:
                yield place
    for place, spellings in words.items():
        matches = WORD.finditer(text, *place)
        yield from (Span(*match.span()) for match in matches if match[0].casefold() in spellings)


def switched_off(text: str, comments: Sequence[re.Match[str]]) -> Iterator[Span]:
    """Yields all from each ``off`` to its ``on``."""
    starts: dict[str, int] = {}
    for comment in comments:
        if comment.lastgroup in OFF.values():
            starts.setdefault(str(comment.lastgroup), comment.start())
        elif comment.lastgroup in OFF:
            yield Span(starts.pop(OFF[comment.lastgroup], comment.start()), comment.end())
    yield from (Span(start, len(text)) for start in starts.values())


def before_sic(text: str, comments: Sequence[re.Match[str]]) -> Iterator[Span]:
    """Yields the words before ``[sic]``."""
    for comment in comments:
        if comment.lastgroup == "sic":
            start = max(0, comment.start() - SIC_CHARS)
            if word := LAST_WORD.search(text[start : comment.start()]):
                yield Span(start + word.start(), start + word.end())


def index_at(spans: list[Span], place: int) -> int:
    """Returns the index of the last span that begins at this place or before it."""
    return bisect_right(spans, place, key=lambda span: span.start) - 1
