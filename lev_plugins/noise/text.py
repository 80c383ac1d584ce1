"""A text as cells, the units that noise changes and never splits."""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import regex

# Runs of these need no search for clusters: they never join their neighbours. Latin, Greek, Cyrillic, Armenian, Hebrew
# and Arabic letters, Georgian, punctuation, symbols, kana, Han, Hangul syllables, full-width forms
ALONE = re.compile(
    "[\u0000-\u02ff\u0370-\u0482\u048a-\u0590\u05d0-\u05ea\u0620-\u064a\u10a0-\u10ff\u1e00-\u200a\u2010-\u205f"
    "\u2070-\u20cf\u2100-\u2bff\u3000-\u3029\u3030-\u3098\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\ufb00-\ufb06\uff01-\uff9d]*"
)
CLUSTER = regex.compile(r"\X")
RUN = re.compile(r"\S+|\s+")


def all_alone(text: str) -> bool:
    """Return whether every code point is a grapheme cluster, and stays one beside others for which this holds."""
    return text.isascii() or ALONE.fullmatch(text) is not None


def clusters(text: str) -> list[str]:
    """Split a text into grapheme clusters, such as a letter with its accents, a flag or a family emoji.

    >>> [len(cluster) for cluster in clusters("ae\\u0301b")]
    [1, 2, 1]
    """
    return list(text) if all_alone(text) else CLUSTER.findall(text)


class WordSpan(NamedTuple):
    start: int
    end: int
    next: int  # where the next word starts; ``end`` for the last word


class Line:
    """A line as grapheme clusters, some of which may have been changed.

    A cell keeps its place: a deletion leaves an empty cell, an insertion shares a cell. A cell is touched only once.
    White space has cells, too, so that all untouched text stays as it was.

    >>> line = Line("on a mat")
    >>> line.words()
    [WordSpan(start=0, end=2, next=3), WordSpan(start=3, end=4, next=5), WordSpan(start=5, end=8, next=8)]
    >>> line.put(3, 5, []), line.put(5, 6, ["M"]), str(line)
    (True, True, 'on Mat')
    """

    __slots__ = ("_ends", "alone", "cells", "log", "original", "starts", "text", "touched")

    def __init__(self, text: str) -> None:
        self.text = text
        self.alone = all_alone(text)  # until ``put`` writes what may join a neighbour
        self.original = text if self.alone else CLUSTER.findall(text)
        self.cells = list(self.original)
        self.touched: set[int] = set()
        self.log: list[tuple[int, list[str]]] = []  # the start of each change, and the cells that it replaced
        # where the words of the original text start and end; a cluster is white space if its first character is
        outline = text if self.alone else "".join(" " if is_space(cell) else "x" for cell in self.original)
        bounds = [0, *accumulate(map(len, RUN.findall(outline)))][outline[:1].isspace() :]
        self.starts, self._ends = bounds[:-1:2], bounds[1::2]

    def __str__(self) -> str:
        return "".join(self.cells)

    def word(self, number: int) -> WordSpan:
        starts = self.starts
        end = self._ends[number]
        return WordSpan(starts[number], end, starts[number + 1] if number + 1 < len(starts) else end)

    def words(self) -> list[WordSpan]:
        return [self.word(number) for number in range(len(self.starts))]

    def piece(self, start: int, stop: int) -> str:
        """Return the original content of the cells."""
        return self.text[start:stop] if self.original is self.text else "".join(self.original[start:stop])

    def put(self, start: int, stop: int, parts: Sequence[str]) -> bool:
        """Replace cells by ``parts``, which are clusters; return False if they would join their neighbours."""
        content = parts[0] if len(parts) == 1 else "".join(parts)
        self.alone = self.alone and all_alone(content)
        if not self.alone and not self._stay_apart(start, stop, parts):
            return False
        self.log.append((start, self.cells[start:stop]))
        if stop == start + 1:
            self.cells[start] = content
            self.touched.add(start)
        else:
            self.cells[start:stop] = [content, *[""] * (stop - start - 1)]
            self.touched.update(range(start, stop))
        return True

    def _stay_apart(self, start: int, stop: int, parts: Sequence[str]) -> bool:
        left = next((self.cells[at] for at in range(start - 1, -1, -1) if self.cells[at]), "")
        right = next((self.cells[at] for at in range(stop, len(self.cells)) if self.cells[at]), "")
        separate = [cluster for part in (left, *parts, right) for cluster in CLUSTER.findall(part)]
        return CLUSTER.findall(left + "".join(parts) + right) == separate

    def undo(self, length: int) -> None:
        """Undo all changes after the first ``length`` entries of the log."""
        while len(self.log) > length:
            start, cells = self.log.pop()
            self.cells[start : start + len(cells)] = cells
            self.touched.difference_update(range(start, start + len(cells)))

    def as_before(self, length: int) -> bool:
        """Return whether the changes after the first ``length`` entries of the log cancel out.

        >>> line = Line("aba")
        >>> line.put(0, 1, []), line.as_before(0), line.put(2, 3, ["a", "b", "a"]), line.as_before(0)
        (True, False, True, False)
        >>> line.undo(1)
        >>> line.put(1, 2, ["a", "b"]), line.as_before(0)
        (True, True)
        """
        puts = self.log[length:]
        start = min((start for start, _ in puts), default=0)
        stop = max((start + len(cells) for start, cells in puts), default=0)
        restored = self.cells[start:stop]
        for at, cells in reversed(puts):
            restored[at - start : at - start + len(cells)] = cells
        return "".join(restored) == "".join(self.cells[start:stop])

    def untouched(self, start: int, stop: int) -> bool:
        return self.touched.isdisjoint(range(start, stop))


def is_space(cell: str) -> bool:
    return cell[:1].isspace()


def is_letter(cell: str) -> bool:
    """Return whether a cell is a letter or a digit, with or without marks."""
    return cell[:1].isalnum()


def like(letter: str, model: str) -> str:
    """Return a letter in the case of another, if it has that case.

    >>> like("x", "A"), like("X", "a"), like("x", "1"), like("ß", "A")
    ('X', 'x', 'x', 'ß')
    """
    changed = letter.upper() if model.isupper() else letter.lower() if model.islower() else letter
    return changed if len(changed) == len(letter) else letter
