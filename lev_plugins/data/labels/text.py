"""Rows of TSV and CoNLL-U files: texts and their labels. Errors name file and line.

classification   text TAB label              multilabel   text TAB label,label,...
regression       text TAB number             tagging      word word ... TAB tag tag ..., or CoNLL-U

A text may have several columns (sentence pairs).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from lev_plugins.errors import UserError, require
from lev_plugins.ranges import bounded
from lev_plugins.text.lines import read_lines

LABEL_KINDS = ["classification", "regression", "multilabel", "tagging"]
CONLLU_COLUMNS = {"upos": 3, "xpos": 4, "deprel": 7}  # columns that contain tags
CONLLU_COLUMN = "upos"
CONLLU_WIDTH = 10
SEPARATOR = ","
SHOWN = 10  # labels in an error
MOST_COLUMNS = 1_000
MOST_STEPS = 10_000  # classes that are numbers
LEAST_STEP, LARGEST_STEP = 1e-6, 1e6
WORD_NUMBER = re.compile(r"[0-9]+$")  # neither a range (3-4: one token of several words) nor an empty node (3.1)


@dataclass(frozen=True)
class Layout:
    """The format of a row."""

    kind: str
    columns: int = 1  # of text
    separator: str = SEPARATOR  # separates the labels of a multilabel row
    conllu: str = CONLLU_COLUMN  # the column of the tags
    step: float | None = None  # classes are numbers, rounded to multiples of it

    def check(self, where: str) -> None:
        """For what a stranger wrote."""
        for name, known in (("kind", LABEL_KINDS), ("conllu", CONLLU_COLUMNS)):
            value = getattr(self, name)
            require(value in known, f"{where}: {name} must be {' or '.join(known)}, but is {value!r}")
        bounded(f"{where}: columns", self.columns, 1, MOST_COLUMNS)
        if self.step is not None:
            bounded(f"{where}: step", self.step, LEAST_STEP, LARGEST_STEP)
        require(self.separator != "", f"{where}: separator must not be empty")


@dataclass(frozen=True)
class Row:
    where: str  # "FILE, line N"
    texts: list[str]  # columns; for tagging: words
    labels: list[str]


def is_conllu(path: Path) -> bool:
    return path.suffix == ".conllu"


def read_rows(path: Path, layout: Layout) -> Iterator[Row]:
    require(path.is_file(), f"there is no file {path}")
    if layout.kind == "tagging" and is_conllu(path):
        return read_conllu(path, CONLLU_COLUMNS[layout.conllu])
    return (parse_row(line, f"{path}, line {number}", layout) for number, line in enumerate(read_lines(path), 1))


def parse_row(line: str, where: str, layout: Layout) -> Row:
    """
    >>> parse_row("good film\\t1", "f.tsv, line 7", Layout("classification"))
    Row(where='f.tsv, line 7', texts=['good film'], labels=['1'])
    >>> parse_row("the cat\\tDET NOUN", "f.tsv, line 7", Layout("tagging"))
    Row(where='f.tsv, line 7', texts=['the', 'cat'], labels=['DET', 'NOUN'])
    >>> parse_row("a dog\\tdogs\\t2.57", "f.tsv, line 7", Layout("classification", columns=2, step=0.2)).labels
    ['2.6']
    """
    *texts, label = columns = line.split("\t")
    expected = layout.columns + 1
    if len(columns) != expected:
        hint = "--text-columns sets the number of text columns"
        if len(columns) == CONLLU_WIDTH or line.startswith("# "):
            hint = "for CoNLL-U, use --label-kind tagging and a file called *.conllu"
        raise UserError(
            f"{where} has {counted(len(columns), 'column')}, but must have {expected}, separated by TABs, with text "
            f"and labels: {line[:60]!r} ({hint})"
        )
    if layout.kind == "tagging":
        return tagged(texts[0].split(), label.split(), where)
    if layout.kind == "multilabel":
        names = [name.strip() for name in label.split(layout.separator)] if label.strip() else []
        require(all(names), f"{where} has an empty label in {label!r}")
        return Row(where, texts, sorted(set(names)))
    require(label.strip() != "", f"{where} has no label: its last column is empty")
    if layout.kind == "regression":
        number_of(label, where)
    if layout.step is not None:
        label = round_to_step(label, layout.step, where)
    return Row(where, texts, [label.strip()])


def round_to_step(label: str, step: float, where: str) -> str:
    """The nearest multiple of ``step``; halves go to the even one, as in Python.

    >>> [round_to_step(label, step, "x") for label, step in (("2.57", 0.2), ("0.3", 0.2), ("-0.01", 0.05), ("7", 2.0))]
    ['2.6', '0.4', '0.00', '8']
    """
    number_of(label, where)
    return in_steps(count_of(label, step), step)


def count_of(label: str, step: float) -> int:
    """How many steps from 0; in decimals, because 0.3 / 0.2 is less than 1.5 in binary fractions."""
    return int((Decimal(label.strip()) / Decimal(str(step))).to_integral_value())


def in_steps(count: int, step: float) -> str:
    """With as many digits as the step has."""
    exact = Decimal(str(step)).normalize()
    return f"{count * exact:.{max(0, -int(exact.as_tuple().exponent))}f}"


def steps_between(labels: Iterable[str], step: float) -> list[str]:
    """All classes from the lowest to the highest of ``labels``, also those that no text has.

    >>> steps_between(["0.4", "1.0"], 0.2)
    ['0.4', '0.6', '0.8', '1.0']
    """
    counts = [count_of(label, step) for label in labels]
    first, last = min(counts, default=0), max(counts, default=-1)
    require(
        last - first < MOST_STEPS,
        f"--round-labels {step:g} makes {last - first + 1:,} classes, from {in_steps(first, step)} to "
        f"{in_steps(last, step)}: use a larger step",
    )
    return [in_steps(count, step) for count in range(first, last + 1)]


def counted(number: int, what: str) -> str:
    """
    >>> counted(1, "tag"), counted(2, "tag")
    ('1 tag', '2 tags')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def number_of(label: str, where: str) -> float:
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    require(math.isfinite(number), f"{where}: the label must be a number, but is {label!r}")
    return number


def tagged(words: list[str], tags: list[str], where: str) -> Row:
    require(len(words) > 0, f"{where} has no words to tag")
    require(
        len(words) == len(tags),
        f"{where} has {counted(len(words), 'word')}, but {counted(len(tags), 'tag')}: give one tag per word",
    )
    return Row(where, words, tags)


def read_conllu(path: Path, column: int) -> Iterator[Row]:
    words: list[str] = []
    tags: list[str] = []
    start = 0
    for number, line in enumerate([*read_lines(path), ""], 1):
        where = f"{path}, line {number}"
        if not line.strip():
            if words:
                yield tagged(words, tags, f"{path}, line {start}")
            words, tags = [], []
            continue
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        require(
            len(cells) == CONLLU_WIDTH,
            f"{where} has {counted(len(cells), 'column')}, but CoNLL-U has {CONLLU_WIDTH}, separated by TABs: "
            f"{line[:60]!r}",
        )
        if not WORD_NUMBER.match(cells[0]):
            continue
        start = start if words else number
        require(cells[column] not in ("", "_"), f"{where}: the word {cells[1]!r} has no tag")
        words.append(cells[1])
        tags.append(cells[column])


@dataclass(frozen=True)
class Labels:
    """The label dictionary: names in the order of their ids, and their counts in the training text."""

    names: list[str]
    counts: list[int]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def id_of(self, name: str, where: str) -> int:
        index = self.ids.get(name)
        if index is None:
            more = f" and {len(self) - SHOWN:,} more" if len(self) > SHOWN else ""
            names = ", ".join(self.names[:SHOWN]) + more
            raise UserError(f"{where}: {name!r} is not a known label; these are {names}")
        return index

    def save(self, path: Path) -> None:
        lines = (f"{name}\t{count}\n" for name, count in zip(self.names, self.counts, strict=True))
        path.write_text("".join(lines), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Labels:
        require(
            path.is_file(), f"there is no label dictionary {path}: create the folder with lev-plugins prepare-labels"
        )
        rows = [line.rpartition("\t") for line in read_lines(path)]
        require(
            all(is_number(row[2]) for row in rows),
            f"{path} is not a label dictionary: each line must be label TAB count",
        )
        return cls([row[0] for row in rows], [int(row[2]) for row in rows])


def is_number(text: str) -> bool:
    """A whole number from 0, not of absurd length.

    >>> is_number("12"), is_number("²"), is_number("-1")
    (True, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) < 16
