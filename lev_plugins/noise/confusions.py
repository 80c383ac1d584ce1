"""Confusions: what is mistaken for what, and how often; written by hand or learned from pairs of texts.

The file has three columns separated by tabs and names them in its first line, ``characters become rate`` or ``words
become rate``: the clean text, what it becomes (or nothing), and the share of its occurrences where it does.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

from lev_plugins.noise.draws import Draw, by_weight
from lev_plugins.noise.kinds import NoiseKind, word_remains
from lev_plugins.noise.text import Line, WordSpan, clusters, is_space, like
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.ranges import bounded

OCR = Path(__file__).parent / "tables" / "ocr.tsv"
CONFUSION_UNITS = ("character", "word")
HEADERS = {unit: f"{unit}s\tbecome\trate" for unit in CONFUSION_UNITS}
CACHED = 50_000  # words or places


class Confusion(NamedTuple):
    clean: tuple[str, ...]  # grapheme clusters, or words
    noisy: tuple[str, ...]
    rate: float


@dataclass(frozen=True)
class ConfusionTable:
    unit: str
    confusions: list[Confusion]


def read_table(path: Path) -> ConfusionTable:
    try:
        lines = path.read_text("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: create it with `lev-plugins confusions`") from error
    unit = next((unit for unit, header in HEADERS.items() if header == lines[0]), "")
    require(
        unit != "", f"{path}:1: the first line must be {' or '.join(map(repr, HEADERS.values()))}, but is {lines[0]!r}"
    )
    rows = [(number, line) for number, line in enumerate(lines[1:], 2) if line]
    require(bool(rows), f"{path} has no confusions: add at least one below its first line")
    return ConfusionTable(unit, [parse_confusion(line, unit, f"{path}:{number}") for number, line in rows])


def parse_confusion(line: str, unit: str, place: str) -> Confusion:
    """
    >>> parse_confusion("rn\\tm\\t0.02", "character", "FILE:2")
    Confusion(clean=('r', 'n'), noisy=('m',), rate=0.02)
    """
    columns = line.split("\t")
    require(len(columns) == 3, f"{place}: a confusion must have 3 columns, but {line!r} has {len(columns)}")
    clean, noisy = (tuple(split_units(text, unit)) for text in columns[:2])
    require(bool(clean), f"{place}: the first column must not be empty")
    require(
        unit == "word" or not any(map(is_space, clean[:-1])),
        f"{place}: white space may only be the last character of the first column, but is not in {columns[0]!r}",
    )
    try:
        rate = float(columns[2])
    except ValueError as error:
        raise UserError(f"{place}: the rate must be a number, but is {columns[2]!r}") from error
    bounded(f"{place}: the rate", rate, above=0, maximum=1)
    return Confusion(clean, noisy, rate)


def split_units(text: str, unit: str) -> list[str]:
    return clusters(text) if unit == "character" else text.split()


def write_table(table: ConfusionTable) -> Iterator[str]:
    """The lines of a file, without confusions that contain a tab or a line break."""
    yield HEADERS[table.unit] + "\n"
    between = "" if table.unit == "character" else " "
    for clean, noisy, rate in table.confusions:
        columns = [between.join(clean), between.join(noisy), f"{rate:.6g}"]
        if not any(mark in column for column in columns for mark in "\t\n\r"):
            yield "\t".join(columns) + "\n"


def confuser(table: ConfusionTable) -> NoiseKind:
    confuse = Confuse(table) if table.unit == "character" else ConfuseWords(table)
    return NoiseKind(confuse.edit, confuse.sites, edit_by_rate=confuse.edit_by_rate)


class Confuse:
    """Mistakes characters for others, in proportion to their rates."""

    def __init__(self, table: ConfusionTable) -> None:
        self.table = table
        self.longest = max(len(confusion.clean) for confusion in table.confusions)
        self.starting: dict[str, list[Confusion]] = {}
        for confusion in table.confusions:
            self.starting.setdefault(confusion.clean[0], []).append(confusion)
        self.rates_of = lru_cache(CACHED)(self._rates_of)  # most words recur
        self.options = lru_cache(CACHED)(self._options)

    def __reduce__(self) -> "tuple[type[Confuse], tuple[ConfusionTable]]":
        """Another process gets the table, as caches cannot be pickled."""
        return type(self), (self.table,)

    def rates(self, line: Line, words: Sequence[WordSpan]) -> tuple[list[int], list[float]]:
        """Return the cells where the words may be confused, and the rate of each."""
        places: list[int] = []
        rates: list[float] = []
        for word in words:
            offsets, word_rates = self.rates_of(line.piece(word.start, word.next))
            places += [word.start + offset for offset in offsets]
            rates += word_rates
        return places, rates

    def _rates_of(self, word: str) -> tuple[list[int], list[float]]:
        """Return the offsets and rates of confusions in a word with the white space after it."""
        cells = tuple(clusters(word))
        options = [self.options(cells[at : at + self.longest]) for at in range(len(cells))]
        places = [at for at, (possible, _) in enumerate(options) if possible]
        return places, [options[at][1][-1] for at in places]

    def _options(self, cells: tuple[str, ...]) -> tuple[list[Confusion], list[float]]:
        """Return the confusions that are possible where ``cells`` begin, and the cumulative sums of their rates."""
        starting = self.starting.get(cells[0], ())
        possible = [confusion for confusion in starting if cells[: len(confusion.clean)] == confusion.clean]
        return possible, list(accumulate(confusion.rate for confusion in possible))

    def sites(self, line: Line, words: Sequence[WordSpan], draw: Draw) -> Iterator[int]:
        return by_weight(*self.rates(line, words), draw)

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        possible, cumulative = self.options(tuple(line.cells[at : at + self.longest]))
        if not possible:
            return False
        choice = possible[bisect_right(cumulative, draw() * cumulative[-1])]
        alternatives = (confusion for confusion in possible if confusion is not choice)
        return any(confuse(line, at, confusion) for confusion in (choice, *alternatives))

    def edit_by_rate(self, line: Line, words: Sequence[WordSpan], draw: Draw) -> None:
        """Confuse every place of some words at the rate of the table."""
        for at, rate in zip(*self.rates(line, words), strict=True):
            if draw() < rate and at not in line.touched:
                self.edit(line, at, draw)


def confuse(line: Line, at: int, confusion: Confusion) -> bool:
    """Apply the confusion if all its cells are untouched and part of the word remains."""
    stop = at + len(confusion.clean)
    if stop > at + 1 and not line.untouched(at + 1, stop):
        return False
    blank = not "".join(confusion.noisy).strip()
    if blank and not is_space(line.cells[at]) and not word_remains(line, at, stop):
        return False
    return line.put(at, stop, confusion.noisy)


class ConfuseWords(Confuse):
    """Mistakes whole words, separated by white space, for others.

    A capitalised word that is not in the table is treated like the same word in lower case.
    """

    def rates(self, line: Line, words: Sequence[WordSpan]) -> tuple[list[int], list[float]]:
        rates = {word.start: sum(confusion.rate for confusion in self.possible(line, word.start)) for word in words}
        return [at for at, rate in rates.items() if rate], [rate for rate in rates.values() if rate]

    def possible(self, line: Line, at: int) -> list[Confusion]:
        """Return the confusions of the words from the one that starts ``at`` a cell, in its case."""
        number = bisect_left(line.starts, at)
        spans = map(line.word, range(number, min(number + self.longest, len(line.starts))))
        text, *following = (line.piece(span.start, span.end) for span in spans)
        in_table = text in self.starting
        return [
            confusion if in_table else confusion._replace(noisy=capitalised(confusion.noisy, text))
            for confusion in self.starting.get(text if in_table else like(text[:1], "a") + text[1:], ())
            if confusion.clean[1:] == tuple(following[: len(confusion.clean) - 1])
        ]

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        number = bisect_left(line.starts, at)
        possible = self.possible(line, at)
        order = by_weight(range(len(possible)), [confusion.rate for confusion in possible], draw)
        return any(confuse_words(line, number, possible[i]) for i in order)


def confuse_words(line: Line, number: int, confusion: Confusion) -> bool:
    """Apply the confusion to the words from ``number`` on, if they are untouched and part of the line remains.

    A deleted word takes the white space after it, or before it at the end of the line.
    """
    final = line.word(number + len(confusion.clean) - 1)
    start, stop = line.starts[number], final.end
    if not confusion.noisy:
        if final.next > final.end:
            stop = final.next
        elif number:
            start = line.word(number - 1).end
    rest = chain(line.cells[:start], line.cells[stop:])  # more than white space must remain
    if not line.untouched(start, stop) or not (confusion.noisy or any(cell and not is_space(cell) for cell in rest)):
        return False
    return line.put(start, stop, clusters(" ".join(confusion.noisy)))


def capitalised(words: tuple[str, ...], model: str) -> tuple[str, ...]:
    """Return the words with the first one capitalised like ``model``."""
    return tuple(like(word[:1], model[:1]) + word[1:] for word in words[:1]) + words[1:]
