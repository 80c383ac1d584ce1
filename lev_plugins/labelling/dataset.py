"""Labelled texts as a fairseq dataset, with one example per row, or several when packed.

Shapes: B rows, S source length, T latents of a row; n counts examples, or words for tagging.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict
from zipfile import BadZipFile

import numpy as np
import torch
from fairseq.data import Dictionary, FairseqDataset, data_utils
from fairseq.data.indexed_dataset import MMapIndexedDatasetBuilder
from numpy.typing import NDArray
from torch import Tensor

from lev_plugins.edits.batch_words import BatchWords, look_up_words
from lev_plugins.edits.candidates import WordIndex
from lev_plugins.labelling.examples import Example, LabelRequest, collate, first_fit, runs_within
from lev_plugins.text.ids import with_unknown_ids
from lev_plugins.text.lines import read_lines
from lev_plugins.utils.errors import UserError, require

Array = NDArray[Any]
UNKNOWN_PIECES = "unknown.txt"  # suffix of the file with the unknown pieces of each example


class NumberedExample(TypedDict):
    """An example with its index in the dataset, fairseq's ``id``."""

    id: int
    example: Example


class LabelledBatch(TypedDict, total=False):
    """A batch of E examples, in the order of the rows; empty in a process that has no examples left."""

    id: Tensor  # (E,) indices in the dataset
    nsentences: int  # E
    ntokens: int  # without padding
    words: Tensor  # (E,) tagging: how many words of ``target`` each example has; otherwise 1
    target: Tensor | None  # (n,), or (n, L) for L requested labels; None: texts without labels
    net_input: dict[str, Tensor | BatchWords]  # arguments of ``EncT5.forward``


def targets(examples: list[Example], request: LabelRequest) -> Tensor:
    """Returns the labels of all examples: (n,) classes, numbers or tags, or (n, L) zeros and ones for L labels."""
    if request.kind != "multilabel":  # a double stays exact with --bf16, where fairseq shortens every float
        values = [label for example in examples for label in example.labels]
        return torch.tensor(values, dtype=torch.double if request.kind == "regression" else torch.long)
    present = torch.zeros(len(examples), len(request.labels))
    columns = {label: column for column, label in enumerate(request.labels)}
    for row, example in zip(present, examples, strict=True):
        row[[columns[int(label)] for label in example.labels if label in columns]] = 1.0
    return present


class LabelledDataset(FairseqDataset):
    """Labelled examples, or examples to label; a batch has the arguments of ``EncT5.forward``."""

    def __init__(
        self,
        examples: Sequence[Example],
        request: LabelRequest,
        dictionary: Dictionary,
        pack: int = 0,
        shuffle: bool = False,
        index: WordIndex | None = None,
    ) -> None:
        """
        Args:
            examples: the texts as ids, with their labels
            request: which labels the model predicts
            dictionary: the dictionary of the texts
            pack: width in tokens of rows that several examples share; 0: one example per row
            shuffle: whether ``ordered_indices`` differ from call to call
            index: the words of the dictionary, for models that read how unknown words are spelt
        """
        self.examples, self.request, self.dictionary = examples, request, dictionary
        self.pack, self.shuffle, self.index = pack, shuffle, index
        sizes = examples.text.sizes if isinstance(examples, BinarisedExamples) else [len(e.tokens) for e in examples]
        self.sizes = np.array(sizes, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: int) -> NumberedExample:
        return {"id": index, "example": self.examples[index]}

    def num_tokens(self, index: int) -> int:
        return int(self.sizes[index])

    size = num_tokens

    def ordered_indices(self) -> Array:
        """Returns the indices of the examples, sorted by length unless examples are packed."""
        order = np.random.permutation(len(self)) if self.shuffle else np.arange(len(self))
        return order if self.pack else order[np.argsort(self.sizes[order], kind="mergesort")]

    def batch_by_size(
        self,
        indices: Array,
        max_tokens: int | None = None,
        max_sentences: int | None = None,
        required_batch_size_multiple: int = 1,
    ) -> list[Array]:
        if not len(indices):
            return []
        if self.pack:
            runs = runs_within(max_tokens or np.inf, self.sizes[indices].tolist(), max_sentences)
            return [indices[start:end] for start, end in runs]
        # fairseq drops a last batch that is not a multiple; with 1 it drops none
        return list(super().batch_by_size(indices, max_tokens, max_sentences, 1))

    def collater(self, samples: list[NumberedExample]) -> LabelledBatch:
        if not samples:
            return {}
        examples = [sample["example"] for sample in samples]
        unknown, first_id = dict[str, int](), len(self.dictionary) + 1
        if self.index is not None:
            examples = [replace(e, tokens=with_unknown_ids(e.tokens, e.unknown, unknown, first_id)) for e in examples]
        lengths = [len(example.tokens) for example in examples]
        rows = first_fit(lengths, self.pack) if self.pack else [[i] for i in range(len(examples))]
        order = [i for row in rows for i in row]
        arrays = collate(examples, rows, self.request, self.dictionary.pad(), packed=bool(self.pack))
        net_input: dict[str, Tensor | BatchWords] = {name: torch.from_numpy(array) for name, array in arrays.items()}
        if self.index is not None:
            net_input["words"] = look_up_words(list(unknown), self.index, search=False)
        ordered = [examples[i] for i in order]
        labelled = all(example.labels for example in ordered) or self.request.kind == "multilabel"
        return {
            "id": torch.tensor([samples[i]["id"] for i in order]),
            "nsentences": len(examples),
            "ntokens": sum(lengths),
            "words": torch.tensor([len(example.spans) or 1 for example in ordered]),
            "target": targets(ordered, self.request) if labelled else None,
            "net_input": net_input,
        }


class BinarisedExamples(Sequence[Example]):
    """The examples of a part of a folder from ``lev-plugins prepare-labels``."""

    def __init__(self, folder: Path, part: str, dictionary: Dictionary) -> None:
        prefix = folder / f"{part}.text"
        self.text = data_utils.load_indexed_dataset(str(prefix), dictionary, "mmap")
        require(self.text is not None, f"{folder} has no part {part}: there is no {prefix}.idx")
        path = folder / f"{part}.labels.npz"
        try:
            with np.load(path, allow_pickle=False) as arrays:
                self.values, ends, self.spans = arrays["values"], arrays["ends"], arrays["spans"]
        except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as error:
            raise UserError(f"{path} cannot be read ({error}): run lev-plugins prepare-labels again") from error
        self.begins = np.concatenate([[0], ends])
        require(
            len(self.text) == len(ends),
            f"{path} has labels for {len(ends):,} texts, but there are {len(self.text):,} texts",
        )
        self.part = part
        unknown = read_lines(folder / f"{part}.{UNKNOWN_PIECES}")
        self.unknown = [line.split(" ") if line else [] for line in unknown]

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, index: int) -> Example:  # type: ignore[override]
        labels = slice(self.begins[index], self.begins[index + 1])
        spans = self.spans[labels].tolist() if len(self.spans) else []
        return Example(
            f"{self.part} {index}",
            self.text[index].tolist(),
            self.values[labels].tolist(),
            spans,
            unknown=self.unknown[index],
        )


@dataclass
class ExampleCounts:
    """Statistics of a part of the folder, which prepare-labels prints."""

    examples: int = 0
    tokens: int = 0
    unknown: int = 0
    labels: int = 0
    longest: int = 0
    longest_where: str = ""
    cut: int = 0
    split: int = 0  # examples that continue a text


def write_part(examples: Iterable[Example], prefix: Path, kind: str) -> ExampleCounts:
    """Writes the files of a part, whose names begin with ``prefix``."""
    text = MMapIndexedDatasetBuilder(f"{prefix}.text.bin", dtype=np.int32)
    counts = ExampleCounts()
    values: list[float] = []
    ends: list[int] = []
    spans: list[int] = []
    previous = ""
    with open(f"{prefix}.{UNKNOWN_PIECES}", "w", encoding="utf-8") as unknown:
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
            counts.split += example.where == previous
            previous = example.where
            if len(example.tokens) > counts.longest:
                counts.longest, counts.longest_where = len(example.tokens), example.where
    text.finalize(f"{prefix}.text.idx")
    counts.labels = len(values)
    numbers = np.array(values, dtype=np.float64 if kind == "regression" else np.int32)
    arrays = {"values": numbers, "ends": np.array(ends, dtype=np.int64), "spans": np.array(spans, dtype=np.int32)}
    np.savez(f"{prefix}.labels.npz", **arrays)  # type: ignore[arg-type]
    return counts
