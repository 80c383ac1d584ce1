"""The files of a model folder that are read where torch is not installed.

graphs/encoder.onnx, decide.onnx, fill.onnx     a levt in 32 bits; NAME.int8.onnx in 8 bits
graphs/start.onnx, step.onnx, score.onnx        a model that writes from left to right
graphs/label.onnx                               an enct5
graphs/weights.bin                              the weights of all of them, mapped into memory
index.npz                                       with --spelling, what is known of each word (``stored_arrays``)
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from lev_plugins import model_folder
from lev_plugins.errors import UserError, require
from lev_plugins.model_folder import BACKBONE, ModelConfig
from lev_plugins.spelling.candidates import Spellings, WordIndex, words_and_counts
from lev_plugins.spelling.word_pieces import WordPieces, WordTokenizer
from lev_plugins.text.ids import UNK, Array
from lev_plugins.text.pretrained import DICTIONARY

GRAPHS, WEIGHTS, INDEX = "graphs", "weights.bin", "index.npz"
ENDINGS = {32: ".onnx", 8: ".int8.onnx"}  # by the bits of their products
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>"]


def path_of(name: str, bits: int) -> str:
    """Returns the path of a graph in the model folder; ``bits``: those of its products."""
    return f"{GRAPHS}/{name}{ENDINGS[bits]}"


def has_graphs(folder: str | Path) -> bool:
    """Returns whether a model folder has graphs, and ONNX Runtime is installed."""
    return (Path(folder) / GRAPHS).is_dir() and find_spec("onnxruntime") is not None


def whole_number(flags: Mapping[str, object], name: str) -> int:
    """Returns a flag of a model folder, which may lack it."""
    value = flags.get(name)
    if not isinstance(value, int):
        raise UserError(f"{model_folder.CONFIG}: {name} must be a whole number, but is {value!r}: {model_folder.AGAIN}")
    return value


class Vocabulary:
    """A dictionary of fairseq, as far as decoding needs it."""

    nspecial = len(SYMBOLS)

    def __init__(self, path: Path) -> None:
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


def stored_arrays(index: WordIndex) -> dict[str, Array]:
    """Returns what a folder stores of the V words of the dictionary, and of the placeholder, the last of V + 1."""
    (_, starts, shapes, prints), (having, begins) = index.spellings, index.inverted_lists
    arrays: dict[str, Array] = {
        "shapes": shapes.astype(np.uint8),  # (V + 1,)
        "prints": prints,  # (2, V + 1)
        "starts": starts[:-1].astype(np.int32),  # (V + 1,) where the groups of letters of each word begin
        "having": having.astype(np.int32),  # (P,) the words that have each group
        "begins": begins.astype(np.int32),  # (buckets + 1,) where those of each group begin
    }
    if index.pieces:  # (Q,) the symbols as which a pre-trained model reads each word, and (V + 2,) where those begin
        arrays |= {"pieces": index.pieces.pieces, "piece_starts": index.pieces.starts}
    return arrays


class StoredIndex(WordIndex):
    """A ``WordIndex`` that reads from a model folder what depends on the dictionary alone."""

    def __init__(self, dictionary: Vocabulary, folder: Path, config: ModelConfig) -> None:
        """
        dictionary: the words
        folder: a model folder, which may come from a stranger
        config: the contents of its config.json
        """
        path, size = model_folder.member(folder, INDEX), dictionary.size
        buckets = whole_number(config.model_flags, "spelling_buckets")
        pretrained = config.model_flags.get("backbone") is not None
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
        fit = all(shapes.get(name, array.shape) == array.shape for name, array in stored.items())
        are_integers = all(array.dtype.kind in "iu" for array in stored.values())
        require(fit and are_integers, f"{path} does not fit the dictionary: {model_folder.AGAIN}")
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
