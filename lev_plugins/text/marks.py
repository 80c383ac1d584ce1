"""Marks on a draft: what must stay, what must go, where something is missing.

    ⟦!New York⟧   hard: stays as it is, nothing is inserted into it
    ⟦~New York⟧   soft: changed only if the model is sure (--soft-protection sets how sure)
    ⟦-very very⟧  is deleted
    ⟦+⟧           something is missing here

The brackets are U+27E6 and U+27E7. A backslash before a bracket makes it ordinary text (and a backslash before a
bracket is doubled); ``escape`` does this. In a line without marks, brackets are ordinary text with or without it.

A draft is tokenised without its marks, and a mark covers every token it touches.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, NoReturn

from rapidfuzz.distance import Prefix

from lev_plugins.text import mark_bits
from lev_plugins.utils.errors import UserError, require

MARK_BITS = {"!": mark_bits.KEEP, "~": mark_bits.PREFER, "-": mark_bits.DELETE, "+": mark_bits.INSERT}
MARKED = re.compile(r"(?<!\\)(?:\\\\)*⟦[!~+-]")
BRACKET = re.compile(r"(?<!\\)(?P<slashes>\\*)(?:(?P<open>⟦)(?P<kind>[!~+-])?|(?P<close>⟧))")


class Mark(NamedTuple):
    """A mark and the part of the plain text that it covers."""

    kind: str  # one of MARK_BITS
    start: int  # characters of the plain text
    end: int


def escape(text: str) -> str:
    r"""Returns ordinary text with its brackets escaped, so that it has no marks.

    >>> escape("type ⟦!x⟧")
    'type \\⟦!x\\⟧'
    """
    return re.sub(r"(?<!\\)(\\*)([⟦⟧])", r"\1\1\\\2", text)


def parse_marks(line: str) -> tuple[str, list[Mark]]:
    """Returns the text of a line without its marks, and the marks with their positions.

    >>> text, marks = parse_marks("I love ⟦!New York⟧ ⟦-very⟧ much ⟦+⟧ .")
    >>> text, [(mark.kind, text[mark.start : mark.end]) for mark in marks]
    ('I love New York very much .', [('!', 'New York'), ('-', 'very'), ('+', '')])
    """

    def fail(place: int, reason: str) -> NoReturn:
        raise UserError(f"the mark at character {place + 1} of the draft {line!r} {reason}")

    has_marks, text, marks, at = MARKED.search(line), "", [], 0
    open_mark: tuple[str, int, int] | None = None  # kind, position in the text, position in the line
    for match in BRACKET.finditer(line):
        text += line[at : match.start()]
        at = match.end()
        slashes = len(match["slashes"])
        text += "\\" * (slashes // 2)
        bracket = match.group()[slashes:]
        if slashes % 2 or bracket == "⟦" or not has_marks:
            text += bracket
        elif match["open"]:
            if open_mark is not None:
                fail(match.start(), "is inside another mark: close that one with ⟧ first")
            open_mark = match["kind"], len(text), match.start()
        else:
            if open_mark is None:
                fail(match.start(), "closes nothing: write \\⟧ if it belongs to the text")
            kind, start, place = open_mark
            inside = text[start:]
            if kind == "+" and inside:
                fail(place, f"means that something is missing and must not contain text: write ⟦+⟧{inside}")
            if kind != "+" and not inside.strip():
                fail(place, "contains no word: put it around the words it is for")
            if kind == "+" and text[-1:].isspace() and line[at : at + 1].isspace():
                at += 1  # the blank that separated the mark
            marks.append(Mark(kind, start, len(text)))
            open_mark = None
    if open_mark is not None:
        fail(open_mark[2], "is not closed: add ⟧ where it ends")
    return text + line[at:], marks


def tokenize(line: str, encode: Callable[[str], str]) -> tuple[list[str], list[int]]:
    """Returns the tokens of a draft and the mark bits of ``<s>`` and of each token.

    ``encode`` is fairseq's: it turns text into tokens separated by blanks.

    >>> tokenize("I ⟦!love it⟧ ⟦-very⟧ much⟦+⟧", lambda text: text)
    (['I', 'love', 'it', 'very', 'much'], [0, 0, 17, 17, 36, 8])
    """
    text, marks = _stripped(*parse_marks(line))
    tokens = encode(text).split()
    bits = [0] * (len(tokens) + 1)
    span = 0
    for mark in marks:
        start, end = _tokens_of(mark, text, tokens, encode)
        if mark.kind == "+":
            bits[start] |= mark_bits.INSERT  # for the token to the left, which may be <s>
            continue
        span += 1
        for i in range(start + 1, end + 1):
            if bits[i] & MARK_BITS[mark.kind] and mark.kind in "!~":
                continue  # it belongs to the first of two spans
            require(
                bits[i] & ~mark_bits.INSERT == 0,
                f"two marks of the draft {line!r} touch the same token {tokens[i - 1]!r}: remove one of them",
            )
            bits[i] |= MARK_BITS[mark.kind] | span * mark_bits.SPAN
    for i, (left, right) in enumerate(pairwise(bits)):
        if left & mark_bits.INSERT and left & right & mark_bits.KEEP and mark_bits.in_one_span(left, right):
            raise UserError(
                f"a mark of the draft {line!r} asks for an insertion inside a protected span, between "
                f"{tokens[i - 1 : i + 1]}: remove one of the marks"
            )
    return tokens, bits


def _stripped(text: str, marks: list[Mark]) -> tuple[str, list[Mark]]:
    """Removes blanks at both ends, such as those around ⟦+⟧: some tokenisers turn them into a token.

    >>> _stripped(" a b ", [Mark("+", 0, 0), Mark("-", 3, 5)])
    ('a b', [Mark(kind='+', start=0, end=0), Mark(kind='-', start=2, end=3)])
    """
    short = text.strip()
    indent = len(text) - len(text.lstrip())

    def moved(position: int) -> int:
        return min(max(position - indent, 0), len(short))

    return short, [mark._replace(start=moved(mark.start), end=moved(mark.end)) for mark in marks]


def _tokens_of(mark: Mark, text: str, tokens: list[str], encode: Callable[[str], str]) -> tuple[int, int]:
    """Returns the tokens [start, end) that a mark touches: exact where it begins and ends between two tokens."""
    prefix, prefix_with_mark = encode(text[: mark.start]).split(), encode(text[: mark.end]).split()
    start = Prefix.similarity(prefix, tokens)
    if mark.kind == "+":
        return start, start
    if tokens[: len(prefix_with_mark)] == prefix_with_mark:
        end = len(prefix_with_mark)
    else:
        end = len(tokens) - Prefix.similarity(encode(text[mark.end :]).split()[::-1], tokens[::-1])
    return start, max(end, min(start + 1, len(tokens)))
