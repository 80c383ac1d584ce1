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
from typing import NamedTuple

from lev_plugins.edits import mark_bits
from lev_plugins.errors import UserError, require
from lev_plugins.text.edited import common

KINDS = {"!": mark_bits.KEEP, "~": mark_bits.PREFER, "-": mark_bits.DELETE, "+": mark_bits.INSERT}
MARKED = re.compile(r"(?<!\\)(?:\\\\)*⟦[!~+-]")
TOKEN = re.compile(r"(?<!\\)(?P<slashes>\\*)(?:(?P<open>⟦)(?P<kind>[!~+-])?|(?P<close>⟧))")


class Mark(NamedTuple):
    kind: str  # one of KINDS
    start: int  # characters of the plain text
    end: int


def escape(text: str) -> str:
    r"""Ordinary text, escaped so that it has no marks.

    >>> escape("type ⟦!x⟧")
    'type \\⟦!x\\⟧'
    """
    return re.sub(r"(?<!\\)(\\*)([⟦⟧])", r"\1\1\\\2", text)


def parse_marks(line: str) -> tuple[str, list[Mark]]:
    """The text without its marks, and the marks with their positions.

    >>> text, marks = parse_marks("I love ⟦!New York⟧ ⟦-very⟧ much ⟦+⟧ .")
    >>> text, [(mark.kind, text[mark.start : mark.end]) for mark in marks]
    ('I love New York very much .', [('!', 'New York'), ('-', 'very'), ('+', '')])
    """
    marked, text, marks, at = MARKED.search(line), "", [], 0
    opened: tuple[str, int, int] | None = None  # kind, where in the text, where in the line
    for match in TOKEN.finditer(line):
        text += line[at : match.start()]
        at = match.end()
        slashes = len(match["slashes"])
        text += "\\" * (slashes // 2)
        bracket = match.group()[slashes:]
        if slashes % 2 or bracket == "⟦" or not marked:
            text += bracket
        elif match["open"]:
            require(opened is None, _says(line, match.start(), "is inside another mark: close that one with ⟧ first"))
            opened = match["kind"], len(text), match.start()
        else:
            if opened is None:
                raise UserError(_says(line, match.start(), "closes nothing: write \\⟧ if it belongs to the text"))
            mark = Mark(opened[0], opened[1], len(text))
            _check(line, opened[2], mark, text)
            if mark.kind == "+" and text[-1:].isspace() and line[at : at + 1].isspace():
                at += 1  # the blank that separated the mark
            marks.append(mark)
            opened = None
    if opened is not None:
        raise UserError(_says(line, opened[2], "is not closed: add ⟧ where it ends"))
    text += line[at:]
    return text, [mark._replace(start=min(mark.start, len(text)), end=min(mark.end, len(text))) for mark in marks]


def _check(line: str, place: int, mark: Mark, text: str) -> None:
    inside = text[mark.start : mark.end]
    if mark.kind == "+":
        require(
            not inside,
            _says(line, place, f"means that something is missing and must not contain text: write ⟦+⟧{inside}"),
        )
    else:
        require(bool(inside.strip()), _says(line, place, "contains no word: put it around the words it is for"))


def _says(line: str, place: int, what: str) -> str:
    return f"the mark at character {place + 1} of the draft {line!r} {what}"


def tokenize(line: str, encode: Callable[[str], str]) -> tuple[list[str], list[int]]:
    """Tokens of a draft and the request for each; the first request is for ``<s>``.

    ``encode`` is fairseq's: it turns text into tokens separated by blanks.

    >>> tokenize("I ⟦!love it⟧ ⟦-very⟧ much⟦+⟧", lambda text: text)
    (['I', 'love', 'it', 'very', 'much'], [0, 0, 17, 17, 36, 8])
    """
    text, marks = _stripped(*parse_marks(line))
    tokens = encode(text).split()
    requested = [0] * (len(tokens) + 1)
    span = 0
    for mark in marks:
        first, last = _tokens_of(mark, text, tokens, encode)
        if mark.kind == "+":
            requested[first] |= mark_bits.INSERT  # for the token to the left, which may be <s>
            continue
        span += 1
        for i in range(first + 1, last + 1):
            require(
                requested[i] & ~mark_bits.INSERT == 0,
                f"two marks of the draft {line!r} touch the same token {tokens[i - 1]!r}: remove one of them",
            )
            requested[i] |= KINDS[mark.kind] | span * mark_bits.SPAN
    for mark in marks:
        if mark.kind == "+":
            _refuse_split(line, tokens, requested, _tokens_of(mark, text, tokens, encode)[0])
    return tokens, requested


def _stripped(text: str, marks: list[Mark]) -> tuple[str, list[Mark]]:
    """Without blanks at both ends, such as those around ⟦+⟧: some tokenisers turn them into a token.

    >>> _stripped(" a b ", [Mark("+", 0, 0), Mark("-", 3, 5)])
    ('a b', [Mark(kind='+', start=0, end=0), Mark(kind='-', start=2, end=3)])
    """
    short = text.strip()
    before = len(text) - len(text.lstrip())

    def place(at: int) -> int:
        return min(max(at - before, 0), len(short))

    return short, [mark._replace(start=place(mark.start), end=place(mark.end)) for mark in marks]


def _tokens_of(mark: Mark, text: str, tokens: list[str], encode: Callable[[str], str]) -> tuple[int, int]:
    """The tokens [first, last) that a mark touches: exact where it begins and ends between two tokens."""
    before, until = encode(text[: mark.start]).split(), encode(text[: mark.end]).split()
    first = common(before, tokens)
    if mark.kind == "+":
        return first, first
    if tokens[: len(until)] == until:
        last = len(until)
    else:
        last = len(tokens) - common(encode(text[mark.end :]).split()[::-1], tokens[::-1])
    return first, max(last, min(first + 1, len(tokens)))


def _refuse_split(line: str, tokens: list[str], requested: list[int], left: int) -> None:
    right = left + 1
    both = right < len(requested) and requested[left] & requested[right] & mark_bits.KEEP
    require(
        not (both and requested[left] // mark_bits.SPAN == requested[right] // mark_bits.SPAN),
        f"a mark of the draft {line!r} asks for an insertion inside a protected span, between "
        f"{tokens[left - 1 : right]}: remove one of the marks",
    )
