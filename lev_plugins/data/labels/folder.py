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
from fairseq.registry import REGISTRIES

from lev_plugins import model_folder
from lev_plugins.data.labels.text import Labels, Layout, number_of
from lev_plugins.data.tokenise import ids_of
from lev_plugins.errors import UserError, require
from lev_plugins.json_schema import from_entries, read_object
from lev_plugins.ranges import MOST, bounded
from lev_plugins.text.tokenise import Tokeniser

INFO, WORDS, LABELS = "info.json", "dict.txt", "labels.txt"
UNKNOWN = "unknown.txt"
LONGER = ["refuse", "cut"]


@dataclass(frozen=True)
class Info(Layout):
    """How text becomes examples."""

    template: str | None = None  # "{0}" and "{1}" stand for the columns
    longest: int = 512  # tokens, </s> included
    longer: str = "refuse"  # what to do with a longer text; tagging always splits it
    bpe: dict[str, Any] = field(default_factory=dict)  # fairseq's flags; files are relative to the folder
    files: list[str] = field(default_factory=list)  # those flags that name a file in the folder
    train_examples: int = 0

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
        super().check(where)
        require(self.longer in LONGER, f"{where}: longer must be {' or '.join(LONGER)}, but is {self.longer!r}")
        bounded(f"{where}: longest", self.longest, 1, MOST)
        require_template(self.template, self.columns, where)

    def check_files(self, folder: Path) -> None:
        """A BPE reads files of the folder alone, and what fairseq itself downloads."""
        config = REGISTRIES["bpe"]["dataclass_registry"].get(str(self.bpe.get("bpe")))
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
    for name, value in vars(options).items():
        path = Path(str(value))
        if name == "bpe" or not path.exists():  # its kind, also if a file here has that name
            continue
        if path.is_dir():  # from import-pretrained: copy the tokenizer without the weights
            shutil.copytree(path, folder / name, ignore=lambda _, names: [n for n in names if n.startswith("model")])
        else:
            shutil.copyfile(path, folder / name)
        flags[name] = name
        files.append(name)
    return {"bpe": flags, "files": files}


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

    def examples(self, texts: list[str], labels: list[str], where: str) -> list[Example]:
        """One example, or several for a text to be tagged that is too long."""
        known = self.labels
        ids: list[Any] = [number_of(label, where) if known is None else known.id_of(label, where) for label in labels]
        cut, longest = tokenised_row(texts, self.info, self.tokeniser), self.info.longest
        if self.info.kind == "tagging":
            spans = [len(pieces) for pieces in cut]
            too_long = next((word for word, span in zip(texts, spans, strict=True) if span >= longest), None)
            require(
                too_long is None,
                f"{where}: the word {str(too_long)[:40]!r} alone has more pieces than --longest {longest} allows",
            )
            examples = []
            for a, b in split_words(spans, longest - 1):
                tokens, unknown = self._encoded([[piece for word in cut[a:b] for piece in word]])
                examples.append(Example(where, tokens, ids[a:b], spans[a:b], unknown=unknown))
            return examples
        tokens, unknown = self._encoded(cut)
        if len(tokens) <= longest:
            return [Example(where, tokens, ids, unknown=unknown)]
        require(
            self.info.longer == "cut",
            f"{where} has {len(tokens):,} tokens, including </s>, but --longest of prepare-labels is {longest:,}: "
            "shorten it, or prepare labels with a larger --longest, or with --longer cut, which cuts off such texts",
        )
        kept = [*tokens[: longest - 1], self.dictionary.eos()]
        return [Example(where, kept, ids, cut=True, unknown=unknown[: kept.count(self.dictionary.unk())])]

    def _encoded(self, texts: list[list[str]]) -> tuple[list[int], list[str]]:
        """The ids of some texts, each with </s>, and the pieces that are <unk>."""
        ids = [[*ids_of(pieces, self.dictionary), self.dictionary.eos()] for pieces in texts]
        pairs = [pair for pieces, row in zip(texts, ids, strict=True) for pair in zip(pieces, row, strict=False)]
        return [i for row in ids for i in row], [piece for piece, i in pairs if i == self.dictionary.unk()]


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


@dataclass
class ExampleCounts:
    """Statistics of a part of the folder."""

    examples: int = 0
    tokens: int = 0
    unknown: int = 0
    labels: int = 0
    longest: int = 0
    longest_where: str = ""
    cut: int = 0
    split: int = 0  # examples that continue a text


def write_part(examples: Iterable[Example], prefix: Path, kind: str) -> ExampleCounts:
    text = MMapIndexedDatasetBuilder(f"{prefix}.text.bin", dtype=np.int32)
    counts = ExampleCounts()
    values: list[float] = []
    ends: list[int] = []
    spans: list[int] = []
    before = ""
    with open(f"{prefix}.{UNKNOWN}", "w", encoding="utf-8") as unknown:
        for example in examples:
            unknown.write(f"{' '.join(example.unknown)}\n")
            text.add_item(torch.tensor(example.tokens))
            values += example.labels
            spans += example.spans
            ends.append(len(values))
            counts.examples += 1
            counts.tokens += len(example.tokens)
            counts.unknown += len(example.unknown)
            counts.cut += example.cut
            counts.split += example.where == before
            before = example.where
            if len(example.tokens) > counts.longest:
                counts.longest, counts.longest_where = len(example.tokens), example.where
    text.finalize(f"{prefix}.text.idx")
    counts.labels = len(values)
    kept = np.array(values, dtype=np.float64 if kind == "regression" else np.int32)
    arrays = {"values": kept, "ends": np.array(ends, dtype=np.int64), "spans": np.array(spans, dtype=np.int32)}
    np.savez(f"{prefix}.labels.npz", **arrays)  # type: ignore[arg-type]
    return counts
