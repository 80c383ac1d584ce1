"""The files of a model folder that are read where torch is not installed.

graphs/encoder.onnx, decide.onnx, fill.onnx     a levt in 32 bits; NAME.int8.onnx in 8 bits (``compact``)
graphs/start.onnx, step.onnx, score.onnx        a model that writes from left to right
graphs/label.onnx                               an enct5
graphs/weights.bin                              the weights of all of them, mapped into memory
index.npz                                       with --spelling, what is known of each word (``stored_arrays``)
lexicon.txt.gz                                  with --spelling, words and misspellings that everybody knows
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lev_plugins.edits.candidates import Spellings, WordIndex, letter_hashes, words_and_counts
from lev_plugins.edits.word_pieces import WordPieces, WordTokenizer
from lev_plugins.text.ids import UNK, Array
from lev_plugins.text.lexicon import LEXICON, Lexicon
from lev_plugins.text.pretrained import DICTIONARY
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.model_folder import BACKBONE, GRAPHS, ModelConfig

GRAPH_WEIGHTS, INDEX = "weights.bin", "index.npz"
ENDINGS = {32: ".onnx", 8: ".int8.onnx"}  # by the precision of their matrix products in bits
# Each number is stored in 1 to MAX_DIGITS bytes, the most significant first: number = rest * LAST + last. The last byte
# is ``last`` < LAST, and ends the number. The bytes before it are the digits of ``rest`` in base OTHERS, plus LAST.
LAST, OTHERS, MAX_DIGITS = 192, 64, 5
MAX_COUNT_DIGITS = 15  # of a count, which numbers of 64 bits hold, also summed over a dictionary
ENTRY = re.compile(rf"[^ ]* \d{{1,{MAX_COUNT_DIGITS}}}")  # of a dictionary: a word and its count
TWO_BLANKS = re.compile(r" [^ \n]* ")  # in one line
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>"]


def path_of(name: str, bits: int) -> str:
    """Returns the path of a graph in the model folder; ``bits``: precision of its matrix products, 32 or 8."""
    return f"{GRAPHS}/{name}{ENDINGS[bits]}"


def whole_number(flags: Mapping[str, object], name: str) -> int:
    """Returns a flag; raises UserError if the folder lacks it, or if it is not a whole number."""
    value = flags.get(name)
    if not isinstance(value, int):
        raise UserError(f"{model_folder.CONFIG}: {name} must be a whole number, but is {value!r}: {model_folder.AGAIN}")
    return value


class Vocabulary:
    """A dictionary of fairseq, as far as decoding needs it."""

    nspecial = len(SYMBOLS)

    def __init__(self, path: Path) -> None:
        def fault(line: int) -> UserError:
            return UserError(f"{path}, line {line} is not a word and its count: {model_folder.AGAIN}")

        try:
            text = path.read_text(encoding="utf-8").removesuffix("\n")
        except UnicodeDecodeError as error:
            raise fault(error.object[: error.start].count(b"\n") + 1) from error
        fields = text.replace("\n", " ").split(" ")  # not line by line, which takes several times as long
        symbols, counts = fields[::2], fields[1::2]
        readable = all(map(str.isdecimal, counts)) and max(map(len, counts), default=0) <= MAX_COUNT_DIGITS
        if text.count(" ") != text.count("\n") + 1 or TWO_BLANKS.search(text) or not readable:
            raise fault(next(number for number, line in enumerate(text.split("\n"), 1) if not ENTRY.fullmatch(line)))
        self.symbols, self.count = [*SYMBOLS, *symbols], [*[1] * len(SYMBOLS), *map(int, counts)]
        self.size = len(self.symbols)
        self.indices = dict(zip(self.symbols, range(self.size), strict=True))

    def __getitem__(self, number: int) -> str:
        return self.symbols[number if 0 <= number < self.size else UNK]  # a graph may write any number

    def index(self, symbol: str) -> int:
        return self.indices.get(symbol, UNK)


def stored_arrays(index: WordIndex) -> dict[str, Array]:
    """Returns what a folder stores of the V words of the dictionary, and of the placeholder, the last of V + 1."""
    owners, begins = index.inverted_lists
    packed, sizes = pack(owners, begins)
    arrays: dict[str, Array] = {
        "owners": packed,  # the words that have each n-gram
        "sizes": smallest(sizes),  # (buckets,) the bytes of those
        "ngram_numbers": smallest(index.ngram_numbers),  # (V,)
        "shapes": index.spellings.shapes.astype(np.uint8),  # (V + 1,)
    }
    if index.pieces:  # (Q,) the symbols as which a pre-trained model reads each word, and (V + 2,) where those begin
        arrays |= {"pieces": index.pieces.pieces, "piece_starts": index.pieces.starts}
    return arrays


def smallest(numbers: Array) -> Array:
    """Returns numbers in the smallest type that has room for all."""
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))


def pack(rows: Array, begins: Array) -> tuple[Array, Array]:
    """Returns ascending rows of numbers in about 1.3 bytes for each, as their increases, and the bytes of each row.

    >>> packed, sizes = pack(np.array([3, 4, 1000, 2, 7]), np.array([0, 3, 3, 5]))
    >>> packed.tolist(), sizes.tolist(), [row.tolist() for row in unpack([packed[:4], packed[4:]])]
    ([3, 1, 197, 36, 2, 5], [4, 0, 2], [[3, 4, 1000], [2, 7]])
    """
    steps = np.diff(rows, prepend=0)
    firsts = begins[:-1][begins[:-1] < begins[1:]]
    steps[firsts] = rows[firsts]
    rest, sizes = steps // LAST, np.ones(len(steps), dtype=np.int64)
    for digits in range(MAX_DIGITS - 1):
        sizes += rest >= OTHERS**digits
    ends = np.append(0, np.cumsum(sizes))
    result = np.zeros(ends[-1], dtype=np.uint8)
    result[ends[1:] - 1] = steps % LAST
    for back in range(1, sizes.max(initial=0)):
        some = sizes > back
        result[ends[1:][some] - 1 - back] = LAST + rest[some] // OTHERS ** (back - 1) % OTHERS
    return result, np.diff(ends[begins])


def unpack(rows: Sequence[Array]) -> list[Array]:
    """Returns rows that ``pack`` has stored; damaged ones have wrong numbers."""
    packed = np.concatenate(rows)
    ends, numbers = packed < LAST, packed.astype(np.uint32) % LAST  # OTHERS is less than LAST
    # the second digits of numbers, then the third ones, and so on
    places = np.flatnonzero(~ends[:-1] & np.append(True, ends[:-2])) + 1
    for _ in range(MAX_DIGITS - 1):
        last = ends[places]
        numbers[places] += numbers[places - 1] * np.where(last, np.uint32(LAST), np.uint32(OTHERS))
        places = places[~last] + 1
        places = places[places < len(packed)]
    bounds = np.append(0, np.cumsum(ends))[np.cumsum([0, *map(len, rows)])]
    return [np.cumsum(steps, dtype=np.uint32) for steps in np.split(numbers[ends], bounds[1:-1])]


def lexicon_of(folder: Path, config: ModelConfig) -> Lexicon | None:
    """Returns the lexicon of a model folder, if it has one."""
    return Lexicon.read(model_folder.member(folder, LEXICON)) if LEXICON in config.files else None


class StoredIndex(WordIndex):
    """A ``WordIndex`` that reads from a model folder what depends on the dictionary alone."""

    def __init__(self, dictionary: Vocabulary, folder: Path, config: ModelConfig) -> None:
        """
        dictionary: the words
        folder: a model folder
        config: the contents of its config.json
        """
        self.path, size = model_folder.member(folder, INDEX), dictionary.size
        buckets = whole_number(config.model_flags, "spelling_buckets")
        pretrained = config.model_flags.get("backbone") is not None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                names = ["owners", "sizes", "ngram_numbers", "shapes"]
                stored = {name: file[name] for name in [*names, *(["pieces", "piece_starts"] if pretrained else [])]}
            self.packed, self.begins = stored["owners"], np.append(0, np.cumsum(stored["sizes"], dtype=np.int64))
            lengths = [len(stored[name]) for name in names]
        except Exception as error:  # NumPy reads the header of an array as Python: TokenError, MemoryError, ...
            raise UserError(f"{self.path} is damaged ({error}): {model_folder.AGAIN}") from error
        fit = lengths == [self.begins[-1], buckets, size, size + 1]
        require(fit, f"{self.path} does not fit the dictionary: {model_folder.AGAIN}")
        word_pieces = None
        if pretrained:
            model_folder.require_listed(config, folder, BACKBONE)
            tokenizer = WordTokenizer(folder / BACKBONE, Vocabulary(folder / BACKBONE / DICTIONARY))
            word_pieces = WordPieces(tokenizer, stored["pieces"], stored["piece_starts"])
        super().__init__(*words_and_counts(dictionary), buckets, word_pieces, lexicon=lexicon_of(folder, config))
        self.unpacked: dict[int, Array] = {}
        # fill the cached properties that an editor needs
        nothing = np.zeros(0, dtype=np.int64)
        self.spellings = Spellings(nothing, nothing, stored["shapes"], letter_hashes([*self.words, ""]))
        self.ngram_numbers = stored["ngram_numbers"]

    def owners(self, ngrams: Sequence[int]) -> list[Array]:
        """Returns the words that have an n-gram in each bucket, which are unpacked when it is first looked up."""
        missing = [ngram for ngram in ngrams if ngram not in self.unpacked]
        if missing:
            rows = unpack([self.packed[self.begins[ngram] : self.begins[ngram + 1]] for ngram in missing])
            largest = max(int(row.max(initial=0)) for row in rows)
            require(largest < len(self.words), f"{self.path} does not fit the dictionary: {model_folder.AGAIN}")
            self.unpacked.update((ngram, row.astype(np.int32)) for ngram, row in zip(missing, rows, strict=True))
        return [self.unpacked[ngram] for ngram in ngrams]
