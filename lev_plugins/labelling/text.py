"""Texts and their labels in TSV and CoNLL-U files. Errors name file and line.

classification   text TAB label              multilabel   text TAB label,label,...
regression       text TAB number             tagging      word word ... TAB tag tag ..., or CoNLL-U

A text may have several columns (sentence pairs).
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from lev_plugins.text.lines import read_lines
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.ranges import bounded

LABEL_KINDS = ["classification", "regression", "multilabel", "tagging"]
CONLLU_COLUMNS = {"upos": 3, "xpos": 4, "deprel": 7}  # columns that contain tags -> their indices, from 0
CONLLU_COLUMN = "upos"
CONLLU_WIDTH = 10
SEPARATOR = ","
LABELS_IN_ERROR = 10
MAX_COLUMNS = 1_000
MAX_STEP_CLASSES = 10_000  # classes of --round-labels
MIN_STEP, MAX_STEP = 1e-6, 1e6
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
        """Requires values in range; they may come from an untrusted source."""
        for name, value, choices in (("kind", self.kind, LABEL_KINDS), ("conllu", self.conllu, CONLLU_COLUMNS)):
            require(value in choices, f"{where}: {name} must be {' or '.join(choices)}, but is {value!r}")
        bounded(f"{where}: columns", self.columns, 1, MAX_COLUMNS)
        if self.step is not None:
            bounded(f"{where}: step", self.step, MIN_STEP, MAX_STEP)
        require(self.separator != "", f"{where}: separator must not be empty")


@dataclass(frozen=True)
class Row:
    """A text with its labels: a line of a TSV file, or a sentence of a CoNLL-U file."""

    where: str  # "FILE, line N", the line on which it begins
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
    """Reads a line of a TSV file.

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
        return tagged_row(texts[0].split(), label.split(), where)
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
    """Rounds a number to the nearest multiple of ``step``, halves to the even one, as in Python.

    >>> [round_to_step(label, step, "x") for label, step in (("2.57", 0.2), ("0.3", 0.2), ("-0.01", 0.05), ("7", 2.0))]
    ['2.6', '0.4', '0.00', '8']
    """
    number_of(label, where)
    return in_steps(count_of(label, step), step)


def count_of(label: str, step: float) -> int:
    """Returns the number of steps from 0 to a label; in decimals, because 0.3 / 0.2 < 1.5 in binary."""
    return int((Decimal(label.strip()) / Decimal(str(step))).to_integral_value())


def in_steps(count: int, step: float) -> str:
    """Returns a number of steps as a label, with as many digits as the step has."""
    decimal = Decimal(str(step)).normalize()
    return f"{count * decimal:.{max(0, -int(decimal.as_tuple().exponent))}f}"


def steps_between(labels: Iterable[str], step: float) -> list[str]:
    """Returns all classes from the lowest to the highest of ``labels``, even if no text has them.

    >>> steps_between(["0.4", "1.0"], 0.2)
    ['0.4', '0.6', '0.8', '1.0']
    """
    counts = [count_of(label, step) for label in labels]
    lowest, highest = min(counts, default=0), max(counts, default=-1)
    require(
        highest - lowest < MAX_STEP_CLASSES,
        f"--round-labels {step:g} makes {highest - lowest + 1:,} classes, from {in_steps(lowest, step)} to "
        f"{in_steps(highest, step)}: use a larger step",
    )
    return [in_steps(count, step) for count in range(lowest, highest + 1)]


def counted(number: int, what: str) -> str:
    """Returns a number with a noun, in the plural unless it is 1.

    >>> counted(1, "tag"), counted(2, "tag")
    ('1 tag', '2 tags')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def number_of(label: str, where: str) -> float:
    """Returns a label of a regression as a finite number."""
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    require(math.isfinite(number), f"{where}: the label must be a number, but is {label!r}")
    return number


def tagged_row(words: list[str], tags: list[str], where: str) -> Row:
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
                yield tagged_row(words, tags, f"{path}, line {start}")
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
            more = f" and {len(self) - LABELS_IN_ERROR:,} more" if len(self) > LABELS_IN_ERROR else ""
            names = ", ".join(self.names[:LABELS_IN_ERROR]) + more
            raise UserError(f"{where}: {name!r} is not a known label; these are {names}")
        return index

    def save(self, path: Path) -> None:
        lines = (f"{name}\t{count}\n" for name, count in zip(self.names, self.counts, strict=True))
        path.write_text("".join(lines), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Labels":
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
    """Returns whether a text is a whole number of less than 16 digits, without a sign.

    >>> is_number("12"), is_number("²"), is_number("-1")
    (True, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) < 16
