"""The part of a model folder that a runtime without torch reads.

graphs/encoder.onnx, decide.onnx, fill.onnx     a levt in 32 bits; NAME.int8.onnx in 8 bits
graphs/start.onnx, step.onnx, score.onnx        a model that writes from left to right
graphs/label.onnx                               an enct5
graphs/weights.bin                              the weights of all of them, mapped into memory
index/NAME.npy                                  with --spelling, what is known of each word (``Index``), mapped as well
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lev_plugins import model_folder
from lev_plugins.errors import UserError, require
from lev_plugins.text.candidates import FAMILIAR, UNK, WordIndex, prints_of, shape

GRAPHS, WEIGHTS, INDEX = "graphs", "weights.bin", "index"
LABEL = "label"  # the graph of an enct5
GROWING, ROWS = "grown", "B"  # of what a step passes to the next: names of parts, the name of the size
ENDINGS = {32: ".onnx", 8: ".int8.onnx"}  # by the bits of their products
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>"]


def has_graphs(folder: str | Path) -> bool:
    """And whether they can be used."""
    return (Path(folder) / GRAPHS).is_dir() and find_spec("onnxruntime") is not None


class Vocabulary:
    """A dictionary of fairseq, as far as decoding needs it."""

    nspecial = len(SYMBOLS)

    def __init__(self, path: Path):
        self.symbols, self.count = [*SYMBOLS], [1] * len(SYMBOLS)
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                symbol, _, count = line.rstrip().removesuffix(" #fairseq:overwrite").rpartition(" ")
                require(count.isdigit(), f"{path}, line {number} is not a word and its count: {model_folder.AGAIN}")
                self.symbols.append(symbol)
                self.count.append(int(count))
        self.indices, self.size = {symbol: i for i, symbol in enumerate(self.symbols)}, len(self.symbols)

    def __getitem__(self, number: int) -> str:
        return self.symbols[number]

    def index(self, symbol: str) -> int:
        return self.indices.get(symbol, UNK)


class Index(NamedTuple):
    """Of the V words of the dictionary, and in the last of V + 1 rows, of the placeholder."""

    shapes: NDArray[Any]  # (V + 1,)
    prints: NDArray[Any]  # (2, V + 1)
    starts: NDArray[Any]  # (V + 1,) where the groups of letters of each word begin
    having: NDArray[Any]  # (P,) the words that have each group
    begins: NDArray[Any]  # (buckets + 1,) where those of each group begin
    # with a pre-trained model:
    pieces: NDArray[Any] | None = None  # (Q,) the symbols as which it reads each word
    piece_starts: NDArray[Any] | None = None  # (V + 2,) where those of each word begin

    @classmethod
    def of(cls, index: WordIndex) -> Index:
        words, (having, begins) = [*index.words, ""], index.having
        return cls(
            np.array([shape(word) for word in words], dtype=np.uint8),
            np.stack(prints_of(words)),
            index.starts.astype(np.int32),
            having.astype(np.int32),
            begins.astype(np.int32),
            *(index.pieces.known if index.pieces else ()),
        )

    @classmethod
    def load(cls, folder: Path, words: int, buckets: int, pretrained: bool) -> Index:
        """Mapped into memory; checked, since the folder may come from a stranger."""
        shapes = {"shapes": (words + 1,), "prints": (2, words + 1), "starts": (words + 1,), "begins": (buckets + 1,)}
        shapes["piece_starts"] = (words + 2,)
        found = {}
        for name in cls._fields if pretrained else cls._fields[: -len(cls._field_defaults)]:
            path = model_folder.member(folder, f"{INDEX}/{name}.npy")
            try:
                found[name] = np.load(path, mmap_mode="r", allow_pickle=False)
            except (ValueError, EOFError, OSError) as error:
                raise UserError(f"{path} is damaged ({error}): {model_folder.AGAIN}") from error
            fits = found[name].shape == shapes.get(name, found[name].shape) and found[name].dtype.kind in "iu"
            require(fits, f"{path} does not fit the dictionary: {model_folder.AGAIN}")
        if pretrained:
            begins, last = found["piece_starts"], len(found["pieces"])
            ascending = begins[0] == 0 and begins[-1] == last and bool((begins[1:] >= begins[:-1]).all())
            require(ascending, f"{folder / INDEX} has pieces that are not those of its words: {model_folder.AGAIN}")
        return cls(**found)


class StoredIndex(WordIndex):
    """A ``WordIndex`` that computes nothing of the dictionary again."""

    def __init__(self, words: Vocabulary, stored: Index):
        self.stored = stored
        self.words = [*[""] * words.nspecial, *words.symbols[words.nspecial :]]
        self.counts = np.array([*[FAMILIAR] * words.nspecial, *words.count[words.nspecial :]], dtype=np.int64)
        self.buckets, self.specials, self.remembered = len(stored.begins) - 1, words.nspecial, {}
        self.lengths = np.diff(stored.starts)
        self.log_counts = np.log(self.counts + 1.0).astype(np.float32)
        self.having = stored.having, stored.begins
        # ... and of the placeholder, and the numbers for the letters of all, ascending, with how often those occur
        self.all_counts, spelt = np.append(self.counts, FAMILIAR), stored.prints[0] != 0
        self.values, which = np.unique(stored.prints[0][spelt], return_inverse=True)
        self.occurrences = np.bincount(which, weights=self.all_counts[spelt]).astype(np.int64)
