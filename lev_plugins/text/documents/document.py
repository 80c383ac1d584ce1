"""What is prose in the text of a file.

A reader of a format takes the text of a file and yields its paragraphs. Each has parts: those of prose, which an editor
may change, and between them what only belongs to the sentence, such as inline code. Text outside the parts is layout:
a line break inside a paragraph with the sign of a comment behind it, or all that is between two paragraphs. All
offsets count characters of the whole text.

>>> text = "# Use `fo` to\\n#  go.\\nfo = 1  # Stop."
>>> paragraphs = [paragraph(text, [Part(2, 6), Part(6, 10, False), Part(10, 14), Part(16, 20)])]
>>> paragraphs.append(paragraph(text, [Part(31, 36)]))
>>> reading_view(text, paragraphs).text
'  Use `fo` to    go.          \\nStop.'
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from unicodedata import combining

from lev_plugins.text.edited import Span
from lev_plugins.text.protected import merge_spans


class Part(NamedTuple):
    """A part of a paragraph, in one line."""

    start: int
    end: int
    prose: bool = True  # False: the model reads it, but may not change it


class Paragraph(NamedTuple):
    """Sentences that belong together, in one or several lines."""

    parts: tuple[Part, ...]  # in order, without overlaps
    language: str | None = None  # a code such as de, if the file says so
    room: int | None = None  # of a title: how many characters it may grow until it is as long as its underline


LINE, LINE_BREAK = re.compile(r"[^\r\n]+"), re.compile(r"[\r\n]")
Reader = Callable[[str], Iterable[Paragraph]]


class View(NamedTuple):
    """A text as an editor reads it, with every character of a part at its place in the file."""

    text: str  # as long as the file; layout inside a paragraph is blanks, and a line break is between two paragraphs
    protected: list[Span]  # all that is not prose


def paragraph(text: str, parts: Iterable[Part], language: str | None = None) -> Paragraph:
    """Returns a paragraph of parts that may have several lines: line breaks and the blanks around them become layout.

    >>> paragraph("a\\r\\n  b c ", [Part(0, 9)]).parts
    (Part(start=0, end=1, prose=True), Part(start=5, end=8, prose=True))
    """
    lines, last = list[Part](), None
    for part in parts:
        for match in LINE.finditer(text, part.start, part.end):
            start, end = match.span()
            if LINE_BREAK.search(text, max(start - 1, 0) if last is None else last, start) or not start:
                start += len(match[0]) - len(match[0].lstrip(" \t\ufeff"))
            last = end
            if text[end : end + 1] in ("", "\r", "\n"):
                end = max(start, match.start() + len(match[0].rstrip(" \t")))
            lines += [Part(start, end, part.prose)] if start < end else []
    return Paragraph(tuple(lines), language)


def parts_around(text: str, start: int, end: int, code: Iterable[Span], signs: Iterable[Span] = ()) -> list[Part]:
    """Returns the parts of a stretch of text. A word that code or a sign goes into is code as well.

    code: what the model reads but may not change
    signs: what becomes layout, such as those of emphasis
    >>> text = "*A* `b`s c*d*e."
    >>> signs = [Span(0, 1), Span(2, 3), Span(10, 11), Span(12, 13)]
    >>> [(text[a:b], prose) for a, b, prose in parts_around(text, 0, len(text), [Span(4, 7)], signs)]
    [('A', True), (' ', True), ('`b`s', False), (' ', True), ('c*d', False), ('*e', False), ('.', True)]
    """
    # A gap is code or a sign. Of gaps that begin at one place the longest comes first (-b); one inside another is
    # dropped. Gaps that touch form a run. A run that touches a letter on both sides, or on one side if it has code,
    # becomes code with the rest of that word.
    gaps = sorted([(a, -b, False) for a, b in code] + [(a, -b, True) for a, b in signs])
    runs: list[list[tuple[int, int, bool]]] = []  # such as those of [`code`](address)
    last = -1
    for a, b, is_sign in gaps:
        if -b <= last or -b <= start or a >= end:
            continue
        gap = (max(a, last, start), min(-b, end), is_sign)
        if runs and gap[0] == last:
            runs[-1].append(gap)
        else:
            runs.append([gap])
        last = gap[1]
    result, done = list[Part](), start
    for run in runs:
        start_of_run, end_of_run = run[0][0], run[-1][1]
        if end_of_run <= done:  # in the word of the last one
            continue
        before = start_of_run > start and is_word(text[start_of_run - 1])
        after = end_of_run < end and is_word(text[end_of_run])
        if (before and after) or ((before or after) and not all(is_sign for _, _, is_sign in run)):
            while start_of_run > done and is_word(text[start_of_run - 1]):
                start_of_run -= 1
            while end_of_run < end and is_word(text[end_of_run]):
                end_of_run += 1
            run = [(max(start_of_run, done), end_of_run, False)]
        result.append(Part(done, start_of_run))
        result += [Part(a, b, False) for a, b, is_sign in run if not is_sign]
        done = end_of_run
    return [part for part in [*result, Part(done, end)] if part.start < part.end]


def is_word(char: str) -> bool:
    """Returns whether a character is of a word: a letter, digit, combining mark or underscore."""
    return char.isalnum() or char == "_" or combining(char) > 0


def reading_view(text: str, paragraphs: Iterable[Paragraph]) -> View:
    """Returns the paragraphs of a text as an editor reads them."""
    pieces: list[str] = []
    prose: list[Span] = []
    end = 0
    for number, (parts, *_) in enumerate(paragraphs):
        for place, part in enumerate(parts):
            layout = " " * (part.start - end)
            pieces += [f"{layout[1:]}\n" if layout and number and not place else layout, text[part.start : part.end]]
            end = part.end
            if part.prose:
                prose.append(Span(part.start, part.end))
    pieces.append(" " * (len(text) - end))
    return View("".join(pieces), rest(prose, len(text)))


def rest(spans: Iterable[Span], length: int) -> list[Span]:
    """Returns what is outside these spans in a text of this length.

    >>> rest([Span(1, 2), Span(2, 3)], 5)
    [Span(start=0, end=1), Span(start=3, end=5)]
    """
    merged = merge_spans(spans)
    starts, ends = [0, *(span.end for span in merged)], [*(span.start for span in merged), length]
    return [Span(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


class Embedded(NamedTuple):
    """A text whose characters are not side by side in the file: the lines of a comment, or of a cell of a notebook.

    >>> file = '["a\\\\n", "b c"]'
    >>> embedded = Embedded.of(file, [(Span(2, 3), "a"), (Span(3, 5), "\\n"), (Span(9, 12), "b c")])
    >>> embedded.text, embedded.in_file(Paragraph((Part(0, 1), Part(2, 5)))).parts
    ('a\\nb c', (Part(start=2, end=3, prose=True), Part(start=9, end=12, prose=True)))
    """

    text: str
    places: list[int]  # offset of each character in the file; -1: the file spells it in another way, such as \u00e9

    @classmethod
    def of(cls, file: str, pieces: Iterable[tuple[Span, str]]) -> "Embedded":
        """Puts pieces together: where each is in the file, and what it means there."""
        text, places = list[str](), list[int]()
        for (start, end), meaning in pieces:
            text.append(meaning)
            places += range(start, end) if file[start:end] == meaning else [-1] * len(meaning)
        return cls("".join(text), places)

    @classmethod
    def of_lines(cls, file: str, lines: Iterable[Span]) -> "Embedded":
        """Puts what lines of a file have behind each other."""
        ends = ((line, (Span(line.end, line.end), "\n")) for line in lines)
        return cls.of(file, (piece for line, end in ends for piece in ((line, file[slice(*line)]), end)))

    def in_file(self, paragraph: Paragraph) -> Paragraph:
        """Returns a paragraph of the embedded text with its places in the file."""
        parts: list[Part] = []
        for start, end, prose in self.without_escapes(paragraph.parts):
            begin = start
            for i in range(start + 1, end + 1):
                if i == end or self.places[i] != self.places[i - 1] + 1:
                    if self.places[begin] >= 0:
                        parts.append(Part(self.places[begin], self.places[i - 1] + 1, prose))
                    begin = i
        return Paragraph(tuple(parts), paragraph.language)

    def without_escapes(self, parts: Iterable[Part]) -> Iterator[Part]:
        """Takes from prose the words with characters that have no place."""
        for part in parts:
            escaped = [Span(i, i + 1) for i in range(part.start, part.end) if self.places[i] < 0] if part.prose else []
            letters = [span for span in escaped if is_word(self.text[span.start])]
            yield from parts_around(self.text, part.start, part.end, letters, escaped) if escaped else [part]
