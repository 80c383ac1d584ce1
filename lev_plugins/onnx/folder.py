"""The files of a model folder that are read where torch is not installed.

graphs/encoder.onnx, decide.onnx, fill.onnx     a levt in 32 bits; NAME.int8.onnx in 8 bits
graphs/start.onnx, step.onnx, score.onnx        a model that writes from left to right
graphs/label.onnx                               an enct5
graphs/weights.bin                              the weights of all of them, mapped into memory
index.npz                                       with --spelling, what is known of each word (``indexed``)
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from lev_plugins import model_folder
from lev_plugins.errors import UserError, require
from lev_plugins.model_folder import BACKBONE, ModelConfig
from lev_plugins.spelling.candidates import Spellings, WordIndex, words_and_counts
from lev_plugins.spelling.word_pieces import WordPieces, WordTokenizer
from lev_plugins.text.ids import UNK
from lev_plugins.text.pretrained import DICTIONARY

GRAPHS, WEIGHTS, INDEX = "graphs", "weights.bin", "index.npz"
LABEL = "label"  # the graph of an enct5
GROWING, ROWS = "grown", "B"  # of what a step passes to the next: names of parts, the name of the size
ENDINGS = {32: ".onnx", 8: ".int8.onnx"}  # by the bits of their products
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>"]


def path_of(name: str, bits: int) -> str:
    """Returns the path of a graph in the model folder; ``bits``: those of its products."""
    return f"{GRAPHS}/{name}{ENDINGS[bits]}"


def has_graphs(folder: str | Path) -> bool:
    """Returns whether a model folder has graphs, and ONNX Runtime is installed."""
    return (Path(folder) / GRAPHS).is_dir() and find_spec("onnxruntime") is not None


class Vocabulary:
    """A dictionary of fairseq, as far as decoding needs it."""

    nspecial = len(SYMBOLS)

    def __init__(self, path: Path):
        self.symbols, self.count = [*SYMBOLS], [1] * len(SYMBOLS)
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                symbol, _, count = line.rstrip().removesuffix(" #fairseq:overwrite").rpartition(" ")
                require(count.isdecimal(), f"{path}, line {number} is not a word and its count: {model_folder.AGAIN}")
                self.symbols.append(symbol)
                self.count.append(int(count))
        self.indices, self.size = {symbol: i for i, symbol in enumerate(self.symbols)}, len(self.symbols)

    def __getitem__(self, number: int) -> str:
        return self.symbols[number if 0 <= number < self.size else UNK]  # a stranger's graph may write any number

    def index(self, symbol: str) -> int:
        return self.indices.get(symbol, UNK)


def indexed(index: WordIndex) -> dict[str, NDArray[Any]]:
    """What is stored of the V words of the dictionary; in the last of V + 1 rows, of the placeholder."""
    (_, starts, shapes, prints), (having, begins) = index.spellings, index.inverted_lists
    found: dict[str, NDArray[Any]] = {
        "shapes": shapes.astype(np.uint8),  # (V + 1,)
        "prints": prints,  # (2, V + 1)
        "starts": starts[:-1].astype(np.int32),  # (V + 1,) where the groups of letters of each word begin
        "having": having.astype(np.int32),  # (P,) the words that have each group
        "begins": begins.astype(np.int32),  # (buckets + 1,) where those of each group begin
    }
    if index.pieces:  # (Q,) the symbols as which a pre-trained model reads each word, and (V + 2,) where those begin
        found |= {"pieces": index.pieces.pieces, "piece_starts": index.pieces.starts}
    return found


class StoredIndex(WordIndex):
    """A ``WordIndex`` that computes nothing of the dictionary again."""

    def __init__(self, dictionary: Vocabulary, folder: Path, config: ModelConfig):
        """The folder may come from a stranger."""
        flags: dict[str, Any] = config.model_flags
        path, size, buckets = model_folder.member(folder, INDEX), dictionary.size, flags["spelling_buckets"]
        pretrained = flags.get("backbone") is not None
        shapes = {"shapes": (size + 1,), "prints": (2, size + 1), "starts": (size + 1,), "begins": (buckets + 1,)}
        shapes |= {"piece_starts": (size + 2,)} if pretrained else {}
        try:
            with ZipFile(path) as packed:  # which could hold far more than the file is long
                require(
                    all(part.compress_type == ZIP_STORED for part in packed.infolist()),
                    f"{path} is compressed: {model_folder.AGAIN}",
                )
            with np.load(path, allow_pickle=False) as file:
                names = [*shapes, "having", *(["pieces"] if pretrained else [])]
                stored = {name: np.asarray(file[name]) for name in names}
        except (ValueError, EOFError, OSError, KeyError, BadZipFile) as error:
            raise UserError(f"{path} is damaged ({error}): {model_folder.AGAIN}") from error
        fits = (shapes.get(name, each.shape) == each.shape for name, each in stored.items())
        whole = all(each.dtype.kind in "iu" for each in stored.values())
        require(whole and all(fits), f"{path} does not fit the dictionary: {model_folder.AGAIN}")
        word_pieces = None
        if pretrained:
            model_folder.require_listed(config, folder, BACKBONE)
            tokenizer = WordTokenizer(folder / BACKBONE, Vocabulary(folder / BACKBONE / DICTIONARY))
            pieces, begins = stored["pieces"], stored["piece_starts"]
            word_pieces = WordPieces(tokenizer, pieces, begins)
            ascending = begins[0] == 0 and begins[-1] == len(pieces) and bool((begins[1:] >= begins[:-1]).all())
            require(ascending, f"{path} has pieces that are not those of its words: {model_folder.AGAIN}")
        super().__init__(*words_and_counts(dictionary), buckets, word_pieces)
        no_ngrams = np.zeros(0, dtype=np.int64)  # ``inverted_lists`` has them, in another order
        self.spellings = Spellings(no_ngrams, stored["starts"], stored["shapes"], stored["prints"])
        self.inverted_lists = stored["having"], stored["begins"]
