"""The files of a model folder that are read where torch is not installed.

graphs/encoder.onnx, decide.onnx, fill.onnx     a levt in 32 bits; NAME.int8.onnx in 8 bits (``compact``)
graphs/start.onnx, step.onnx, score.onnx        a model that writes from left to right
graphs/label.onnx                               an enct5
graphs/weights.bin                              the weights of all of them, mapped into memory
index.npz                                       with --spelling, what is known of each word (``stored_arrays``)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lev_plugins.edits.candidates import Spellings, WordIndex, letter_hashes, words_and_counts
from lev_plugins.edits.word_pieces import WordPieces, WordTokenizer
from lev_plugins.text.ids import UNK, Array
from lev_plugins.text.pretrained import DICTIONARY
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.model_folder import BACKBONE, GRAPHS, ModelConfig

GRAPH_WEIGHTS, INDEX = "weights.bin", "index.npz"
ENDINGS = {32: ".onnx", 8: ".int8.onnx"}  # by the bits of their products
MAX_PACKED_BYTES = 5  # of a packed number of 32 bits
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>"]


def path_of(name: str, bits: int) -> str:
    """Returns the path of a graph in the model folder; ``bits``: those of its products."""
    return f"{GRAPHS}/{name}{ENDINGS[bits]}"


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
        with path.open(encoding="utf-8", errors="surrogateescape") as lines:
            for number, line in enumerate(lines, 1):
                symbol, _, count = line.rstrip().removesuffix(" #fairseq:overwrite").rpartition(" ")
                # surrogates stand for bytes that are not UTF-8
                is_word = count.isdecimal() and not re.search("[\udc80-\udcff]", symbol)
                require(is_word, f"{path}, line {number} is not a word and its count: {model_folder.AGAIN}")
                self.symbols.append(symbol)
                self.count.append(int(count))
        self.indices, self.size = {symbol: i for i, symbol in enumerate(self.symbols)}, len(self.symbols)

    def __getitem__(self, number: int) -> str:
        return self.symbols[number if 0 <= number < self.size else UNK]  # a graph may write any number

    def index(self, symbol: str) -> int:
        return self.indices.get(symbol, UNK)


def stored_arrays(index: WordIndex) -> dict[str, Array]:
    """Returns what a folder stores of the V words of the dictionary, and of the placeholder, the last of V + 1."""
    owners, begins = index.inverted_lists
    numbers = np.diff(begins)
    arrays: dict[str, Array] = {
        "owners": pack(owners, begins),  # the words that have each n-gram
        "numbers": numbers.astype(np.min_scalar_type(numbers.max(initial=0))),  # (buckets,) how many those are
        "shapes": index.spellings.shapes.astype(np.uint8),  # (V + 1,)
    }
    if index.pieces:  # (Q,) the symbols as which a pre-trained model reads each word, and (V + 2,) where those begin
        arrays |= {"pieces": index.pieces.pieces, "piece_starts": index.pieces.starts}
    return arrays


def pack(rows: Array, begins: Array) -> Array:
    """Returns ascending rows of numbers in about 1.3 bytes for each: their increases, seven bits in a byte.

    A byte from 128 on says that there are more bits to come.

    >>> packed = pack(np.array([3, 4, 1000, 2, 7]), np.array([0, 3, 3, 5]))
    >>> packed.tolist(), unpack(packed, np.array([0, 3, 3, 5])).tolist()
    ([3, 1, 135, 100, 2, 5], [3, 4, 1000, 2, 7])
    """
    steps = np.diff(rows, prepend=0)
    firsts = begins[:-1][begins[:-1] < begins[1:]]
    steps[firsts] = rows[firsts]
    sizes = np.ones(len(steps), dtype=np.int64)
    for bits in range(7, 7 * MAX_PACKED_BYTES, 7):
        sizes += steps >> bits > 0
    ends, result = np.cumsum(sizes) - 1, np.zeros(sizes.sum(), dtype=np.uint8)
    for back in range(sizes.max(initial=0)):
        some = sizes > back
        result[ends[some] - back] = (steps[some] >> 7 * back & 127) + 128 * (back > 0)
    return result


def unpack(stored: Array, begins: Array) -> Array:
    """Returns the rows that ``pack`` has stored; raises ``ValueError`` if their number is not that of ``begins``."""
    goes_on = stored >= 128
    if len(stored) - np.count_nonzero(goes_on) != begins[-1] or goes_on[-1:].any():
        raise ValueError("it has too few or too many numbers")
    numbers = stored.astype(np.uint32) & 127
    # the second bytes of numbers, then the third ones, and so on
    places = np.flatnonzero(goes_on & ~np.append(False, goes_on[:-1])) + 1
    for _ in range(MAX_PACKED_BYTES - 1):
        numbers[places] += numbers[places - 1] << 7
        places = places[goes_on[places]] + 1
    if len(places):
        raise ValueError("it has a number that is too long")
    numbers = numbers[~goes_on]
    np.cumsum(numbers, out=numbers)  # the sums are taken modulo 2**32, as are their differences
    offsets = np.append(np.uint32(0), numbers)[begins[:-1]]
    numbers -= np.repeat(offsets, np.diff(begins))
    return numbers.view(np.int32)


class StoredIndex(WordIndex):
    """A ``WordIndex`` that reads from a model folder what depends on the dictionary alone."""

    def __init__(self, dictionary: Vocabulary, folder: Path, config: ModelConfig) -> None:
        """
        dictionary: the words
        folder: a model folder
        config: the contents of its config.json
        """
        path, size = model_folder.member(folder, INDEX), dictionary.size
        buckets = whole_number(config.model_flags, "spelling_buckets")
        pretrained = config.model_flags.get("backbone") is not None
        try:
            with np.load(path, allow_pickle=False) as file:
                names = ["owners", "numbers", "shapes", *(["pieces", "piece_starts"] if pretrained else [])]
                stored = {name: file[name] for name in names}
                begins = np.append(0, np.cumsum(stored["numbers"], dtype=np.int64))
                stored["owners"] = unpack(stored["owners"], begins)
        except Exception as error:  # NumPy reads the header of an array as Python: TokenError, MemoryError, ...
            raise UserError(f"{path} is damaged ({error}): {model_folder.AGAIN}") from error
        fit = (len(stored["shapes"]), len(begins)) == (size + 1, buckets + 1)
        require(fit, f"{path} does not fit the dictionary: {model_folder.AGAIN}")
        word_pieces = None
        if pretrained:
            model_folder.require_listed(config, folder, BACKBONE)
            tokenizer = WordTokenizer(folder / BACKBONE, Vocabulary(folder / BACKBONE / DICTIONARY))
            word_pieces = WordPieces(tokenizer, stored["pieces"], stored["piece_starts"])
        super().__init__(*words_and_counts(dictionary), buckets, word_pieces)
        # fill the cached properties; how many n-grams a word has follows from which words have each
        owners, no_ngrams = stored["owners"], np.zeros(0, dtype=np.int64)
        self.inverted_lists = owners, begins
        lengths = np.bincount(owners, minlength=size + 1)
        hashes = letter_hashes([*self.words, ""])
        self.spellings = Spellings(no_ngrams, np.append(0, np.cumsum(lengths)), stored["shapes"], hashes)
