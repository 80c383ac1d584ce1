"""The folder that ``lev-plugins prepare-labels`` creates.

info.json                how the text was read and cut, to treat new text in the same way
dict.txt                 fairseq's dictionary of the pieces
labels.txt               label TAB count, one line per label, in the order of the ids (not for regression)
PART.text.bin, .idx      the pieces of each example, and </s>
PART.unknown.txt         its unknown pieces, one line per example
PART.labels.npz          its labels; for tagging also how many pieces each word has
"""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDatasetBuilder

from lev_plugins import model_folder
from lev_plugins.data.labels.text import (
    CONLLU_COLUMNS,
    KINDS,
    LARGEST_STEP,
    LEAST_STEP,
    Labels,
    Layout,
    number_of,
)
from lev_plugins.errors import UserError, require
from lev_plugins.json_schema import from_entries, read_object
from lev_plugins.ranges import MOST, bounded
from lev_plugins.text.pretrained import DICTIONARY
from lev_plugins.text.tokenise import CONFIGS, Tokeniser, ids_of

INFO, WORDS, LABELS = "info.json", "dict.txt", "labels.txt"
UNKNOWN = "unknown.txt"
LONGER = ["refuse", "cut"]
MOST_COLUMNS = 1_000


@dataclass(frozen=True)
class Info:
    """How text becomes examples."""

    kind: str
    columns: int = 1
    separator: str = ","
    conllu: str = "upos"
    step: float | None = None  # classes are numbers, rounded to multiples of it
    template: str | None = None  # "{0}" and "{1}" stand for the columns
    longest: int = 512  # tokens, </s> included
    longer: str = "refuse"  # what to do with a longer text; tagging always splits it
    bpe: dict[str, Any] = field(default_factory=dict)  # fairseq's flags; files are relative to the folder
    files: list[str] = field(default_factory=list)  # those flags that name a file in the folder
    train_examples: int = 0

    @property
    def layout(self) -> Layout:
        return Layout(self.kind, self.columns, self.separator, self.conllu, self.step)

    def bpe_flags(self, folder: Path) -> dict[str, Any]:
        """``bpe`` with the paths of its files."""
        return {name: str(folder / value) if name in self.files else value for name, value in self.bpe.items()}

    def tokeniser(self, folder: Path) -> Tokeniser:
        return Tokeniser(Namespace(**self.bpe_flags(folder)) if self.bpe else None)

    def reading(self) -> dict[str, Any]:
        """How text is read, but not how it is cut."""
        return {name: value for name, value in asdict(self).items() if name not in ("bpe", "files", "train_examples")}

    def check(self, where: str) -> None:
        """For what a stranger wrote."""
        for name, known in (("kind", KINDS), ("conllu", CONLLU_COLUMNS), ("longer", LONGER)):
            value = getattr(self, name)
            require(value in known, f"{where}: {name} must be {' or '.join(known)}, but is {value!r}")
        bounded(f"{where}: columns", self.columns, 1, MOST_COLUMNS)
        bounded(f"{where}: longest", self.longest, 1, MOST)
        if self.step is not None:
            bounded(f"{where}: step", self.step, LEAST_STEP, LARGEST_STEP)
        require(self.separator != "", f"{where}: separator must not be empty")
        require_template(self.template, self.columns, where)

    def check_files(self, folder: Path) -> None:
        """A BPE reads files of the folder alone, and what fairseq itself downloads."""
        config = CONFIGS.get(str(self.bpe.get("bpe")))
        defaults = {} if config is None else vars(config())
        for name, value in self.bpe.items():
            if name in self.files:
                model_folder.require_plain(str(value), f"{folder / INFO}: {name}")
                model_folder.inside(folder, str(value))
            elif isinstance(value, str) and value != defaults.get(name):
                require(
                    len(value) < 2 or "/" not in value,
                    f"{folder / INFO}: {name} must name a file of the folder, but is {value!r}",
                )

    def save(self, folder: Path) -> None:
        (folder / INFO).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Info:
        path = folder / INFO
        require(path.is_file(), f"{folder} has no {INFO}: give a folder from lev-plugins prepare-labels")
        try:
            info = from_entries(cls, read_object(path), str(path))
            info.check(str(path))
        except UserError as error:
            raise UserError(f"{path} is damaged ({error}): run lev-plugins prepare-labels again") from error
        info.check_files(folder)
        return info


def require_template(template: str | None, columns: int, where: str) -> None:
    """Only the numbers of columns: Python's templates could also ask for attributes, or for endless padding.

    >>> require_template("first: {0} second: {1}", 2, "x")
    >>> require_template("{0.__class__}", 2, "x")
    Traceback (most recent call last):
    lev_plugins.errors.UserError: x: template may have {0} to {1}, but has {0.__class__}
    """
    numbers = {str(column) for column in range(columns)}
    try:
        parts = [part[1:] for part in Formatter().parse(template or "") if part[1] is not None]
    except ValueError as error:
        raise UserError(f"{where}: template is not valid: {error}") from error
    for place, (name, layout, conversion) in enumerate(parts):
        require(
            (name or str(place)) in numbers and not layout and conversion is None,
            f"{where}: template may have {{0}} to {{{columns - 1}}}, but has {{{name}}}",
        )


def adopt_files(options: Namespace, folder: Path) -> dict[str, Any]:
    """Copies the files that a BPE reads into the folder; returns ``bpe`` and ``files`` for its ``Info``."""
    flags, files = dict(vars(options)), []
    for name, value in flags.items():
        if name == "bpe":  # its kind, also if a file here has that name
            continue
        path = Path(str(value))
        if path.is_dir():  # from import-pretrained: copy the tokenizer without the weights
            shutil.copytree(path, folder / name, ignore=lambda _, names: [n for n in names if n.startswith("model")])
        elif path.is_file():
            shutil.copyfile(path, folder / name)
        else:
            continue
        flags[name] = name
        files.append(name)
    return {"bpe": flags, "files": files}


def symbols_of_pretrained(options: Namespace | None) -> Path | None:
    """The dictionary that comes with a pre-trained tokenizer."""
    folder = getattr(options, "pretrained_tokenizer", None)
    return None if folder is None else Path(folder) / DICTIONARY


@dataclass
class Example:
    where: str
    tokens: list[int]  # ending with </s>
    labels: list[int] | list[float]
    spans: list[int] = field(default_factory=list)  # tagging: the number of pieces of each word
    cut: bool = False  # whether the text was cut off
    unknown: list[str] = field(default_factory=list)  # the pieces that are <unk> in ``tokens``, in their order


def tokenised_row(texts: list[str], info: Info, tokeniser: Tokeniser) -> list[list[str]]:
    """The pieces of each word (tagging), of each column, or of the text that a template makes of the columns.

    >>> tokenised_row(["a b", "c"], Info("classification", 2), Tokeniser(None))
    [['a', 'b'], ['c']]
    >>> tokenised_row(["a b", "c"], Info("classification", 2, template="{1} {0}"), Tokeniser(None))
    [['c', 'a', 'b']]
    """
    if info.kind == "tagging":
        return tokeniser.words(texts)
    if info.template is not None:
        texts = [info.template.format(*texts)]
    return [tokeniser.pieces(text) for text in texts]


class Encoder:
    """Turns rows into examples, for preparing a folder and for labelling new text alike."""

    def __init__(self, info: Info, tokeniser: Tokeniser, dictionary: Dictionary, labels: Labels | None):
        self.info, self.tokeniser, self.dictionary, self.labels = info, tokeniser, dictionary, labels

    def label_ids(self, labels: list[str], where: str) -> list[int] | list[float]:
        if self.info.kind == "regression":
            return [number_of(label, where) for label in labels]
        assert self.labels is not None
        return [self.labels.id_of(label, where) for label in labels]

    def examples(self, texts: list[str], labels: list[str], where: str) -> list[Example]:
        """One example, or several for a text to be tagged that is too long."""
        ids, cut = self.label_ids(labels, where), tokenised_row(texts, self.info, self.tokeniser)
        if self.info.kind == "tagging":
            return self._tagging(texts, cut, ids, where)
        tokens = [token for pieces in cut for token in self._ended(pieces)]
        unknown = self._unknown([piece for pieces in cut for piece in pieces])
        longest = self.info.longest
        if len(tokens) <= longest:
            return [Example(where, tokens, ids, unknown=unknown)]
        require(
            self.info.longer == "cut",
            f"{where} has {len(tokens):,} tokens, including </s>, but --longest of prepare-labels is {longest:,}: "
            "shorten it, or prepare labels with a larger --longest, or with --longer cut, which cuts off such texts",
        )
        kept = [*tokens[: longest - 1], self.dictionary.eos()]
        return [Example(where, kept, ids, cut=True, unknown=unknown[: kept.count(self.dictionary.unk())])]

    def _ended(self, pieces: Iterable[str]) -> list[int]:
        return [*ids_of(pieces, self.dictionary), self.dictionary.eos()]

    def _unknown(self, pieces: list[str]) -> list[str]:
        ids, unk = ids_of(pieces, self.dictionary), self.dictionary.unk()
        return [piece for piece, i in zip(pieces, ids, strict=True) if i == unk]

    def _tagging(self, words: list[str], cut: list[list[str]], labels: list[Any], where: str) -> list[Example]:
        spans = [len(pieces) for pieces in cut]
        room = self.info.longest - 1
        too_long = next((word for word, span in zip(words, spans, strict=True) if span > room), None)
        require(
            too_long is None,
            f"{where}: the word {str(too_long)[:40]!r} alone has more pieces than --longest {self.info.longest} allows",
        )
        examples = []
        for a, b in split_words(spans, room):
            pieces = [piece for word in cut[a:b] for piece in word]
            unknown = self._unknown(pieces)
            examples.append(Example(where, self._ended(pieces), labels[a:b], spans[a:b], unknown=unknown))
        return examples


def split_words(spans: list[int], room: int) -> list[tuple[int, int]]:
    """Runs of words whose pieces fit into ``room``; words are never split.

    >>> split_words([2, 1, 3, 1], room=4)
    [(0, 2), (2, 4)]
    """
    runs, start, used = [], 0, 0
    for i, span in enumerate(spans):
        if used + span > room and i > start:
            runs.append((start, i))
            start, used = i, 0
        used += span
    return [*runs, (start, len(spans))]


# ---- parts -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExampleCounts:
    """Statistics of a part of the folder."""

    examples: int
    tokens: int
    unknown: int
    longest: int
    longest_where: str
    labels: int
    cut: int
    split: int  # examples that continue a text


def write_part(examples: Iterable[Example], prefix: Path, dictionary: Dictionary, kind: str) -> ExampleCounts:
    text = MMapIndexedDatasetBuilder(f"{prefix}.text.bin", dtype=np.int32)
    values: list[float] = []
    ends: list[int] = []
    spans: list[int] = []
    count = tokens = unknown = longest = cut = split = 0
    longest_where, last = "", ""
    lines: list[str] = []
    for example in examples:
        lines.append(" ".join(example.unknown))
        text.add_item(torch.tensor(example.tokens))
        values += example.labels
        spans += example.spans
        ends.append(len(values))
        count, tokens, cut = count + 1, tokens + len(example.tokens), cut + example.cut
        unknown += example.tokens.count(dictionary.unk())
        split, last = split + (example.where == last), example.where
        if len(example.tokens) > longest:
            longest, longest_where = len(example.tokens), example.where
    text.finalize(f"{prefix}.text.idx")
    Path(f"{prefix}.{UNKNOWN}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    kept = np.array(values, dtype=np.float64 if kind == "regression" else np.int32)
    arrays = {"values": kept, "ends": np.array(ends, dtype=np.int64), "spans": np.array(spans, dtype=np.int32)}
    np.savez(f"{prefix}.labels.npz", **arrays)  # type: ignore[arg-type]
    return ExampleCounts(count, tokens, unknown, longest, longest_where, len(values), cut, split)
