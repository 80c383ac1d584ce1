"""The folder that ``lev-plugins import-pretrained`` creates, and its tokenizer: ``--bpe pretrained``.

dict.txt             fairseq's dictionary: the symbols of the pre-trained model without the four that all have
symbols.txt          line i is the symbol of the tokenizer's id i
spiece.model or tokenizer.json; without them, the tokenizer works on bytes
config.json, model.safetensors    the model, as ``transformers`` writes it; row i of a table is fairseq's symbol i
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lev_plugins.errors import UserError, require
from lev_plugins.json_schema import read_object
from lev_plugins.text.candidates import BLANK, end_to_end

DICTIONARY, SYMBOLS, SENTENCEPIECE, TOKENIZER = "dict.txt", "symbols.txt", "spiece.model", "tokenizer.json"
MOVED = """; if it has moved since training, add --backbone NEW (fairseq: --model-overrides "{'backbone': 'NEW'}")"""
BYTES = 256
MOST_IDS = 10_000_000
BYTE_SPECIALS = ["<pad>", "</s>", "<unk>"]  # before the bytes in ByT5's vocabulary


class SentencePieces:
    """T5 and mT5."""

    def __init__(self, path: Path):
        import sentencepiece

        try:
            self.model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (RuntimeError, OSError) as error:
            raise UserError(f"{path} is not a sentencepiece model or is damaged: copy it again") from error

    @property
    def vocabulary(self) -> list[str]:
        return [self.model.id_to_piece(i) for i in range(len(self.model))]

    def encode(self, text: str) -> list[int]:
        return self.model.encode(text)

    def decode(self, ids: list[int]) -> str:
        return self.model.decode([i for i in ids if i < len(self.model)])  # the rest are not text


class LibraryTokenizer:
    """BERT's WordPiece, BART's byte-level BPE, and all else that the package ``tokenizers`` reads."""

    def __init__(self, path: Path):
        from tokenizers import Tokenizer as Library

        try:
            self.library = Library.from_file(str(path))
        except Exception as error:  # the package raises only this class
            raise UserError(f"{path} is not a tokenizer file or is damaged: copy it again ({error})") from error
        self.library.no_padding()
        self.library.no_truncation()
        self.library.encode_special_tokens = True  # "[SEP]" in a text is five characters

    @property
    def vocabulary(self) -> list[str]:
        names = {i: name for name, i in self.library.get_vocab().items()}
        require(
            max(names) < MOST_IDS, f"the tokenizer has the id {max(names):,}, but must have at most {MOST_IDS:,} ids"
        )
        return [names.get(i, "") for i in range(max(names) + 1)]

    def encode(self, text: str) -> list[int]:
        return self.library.encode(text, add_special_tokens=False).ids

    def decode(self, ids: list[int]) -> str:
        return self.library.decode(ids, skip_special_tokens=False)


class Bytes:
    """ByT5: byte b is id b + 3.

    >>> Bytes().encode("hé")
    [107, 198, 172]
    >>> Bytes().decode([107, 198, 172])
    'hé'
    """

    @property
    def vocabulary(self) -> list[str]:
        """Byte 255 never occurs in text; ByT5 was trained with it as the first of T5's sentinels."""
        names = [chr(b) if 32 < b < 127 else f"<0x{b:02X}>" for b in range(BYTES - 1)]
        return [*BYTE_SPECIALS, *names, "<extra_id_0>"]

    def encode(self, text: str) -> list[int]:
        return [len(BYTE_SPECIALS) + byte for byte in text.encode()]

    def decode(self, ids: list[int]) -> str:
        known = (i - len(BYTE_SPECIALS) for i in ids)
        return bytes(byte for byte in known if 0 <= byte < BYTES).decode(errors="replace")


Tokenizer = SentencePieces | LibraryTokenizer | Bytes  # text to ids and back, by the rules of a pre-trained model


def load_tokenizer(folder: Path) -> Tokenizer:
    if (folder / SENTENCEPIECE).is_file():
        return SentencePieces(folder / SENTENCEPIECE)
    if (folder / TOKENIZER).is_file():
        return LibraryTokenizer(folder / TOKENIZER)
    return Bytes()


def symbols_of(folder: Path) -> list[str]:
    """By the ids of the tokenizer."""
    return (folder / SYMBOLS).read_text(encoding="utf-8").split("\n")[:-1]


def require_folder(name: str | None, flag: str, hint: str = "") -> Path:
    require(name is not None, f"{flag} is missing: name a folder made by lev-plugins import-pretrained")
    folder = Path(str(name))
    require(
        (folder / SYMBOLS).is_file() and (folder / DICTIONARY).is_file(),
        f"{flag} {folder} was not made by lev-plugins import-pretrained: it lacks {SYMBOLS} or {DICTIONARY}{hint}",
    )
    return folder


def positions_of_bert(folder: str | Path | None) -> int | None:
    """How many symbols the BERT of an imported folder reads at most; ``None``: it is not a BERT."""
    path = None if folder is None else Path(folder) / "config.json"
    config = read_object(path) if path is not None and path.is_file() else {}
    return int(config["max_position_embeddings"]) if config.get("model_type") == "bert" else None


class WordPieces:
    """How a pre-trained model reads words, of which each says by ▁ whether a blank is before it (``--bpe words``)."""

    # symbols of all words of a dictionary, and of the placeholder, which has none; (V + 2,) where those of each begin
    known: tuple[NDArray[Any], NDArray[Any]]

    def __init__(self, folder: Path, dictionary: Any):
        """``dictionary``: of the folder."""
        self.tokenizer, unk, self.pad = load_tokenizer(folder), dictionary.index("<unk>"), dictionary.index("<pad>")
        positions = positions_of_bert(folder)
        self.longest = None if positions is None else positions - 1  # [CLS] is in front
        self.ids = [dictionary.index(symbol) for symbol in symbols_of(folder)]
        blank = dictionary.index(BLANK) if isinstance(self.tokenizer, SentencePieces) else None
        self.blank = None if blank == unk else blank  # which this tokenizer adds to every text

    def pieces(self, word: str) -> list[int]:
        """Symbols of the dictionary."""
        ids = [self.ids[i] for i in self.tokenizer.encode(word.replace(BLANK, " "))]
        return ids[1:] if ids[:1] == [self.blank] and not word.startswith(BLANK) else ids

    def in_rows(self, rows: NDArray[Any], unknown: Iterable[str]) -> "PiecesInRows":
        """Of sources (B, S), whose words are those of the dictionary, then the ``unknown`` ones of a batch."""
        (pieces, starts), (new, begins) = self.known, end_to_end([self.pieces(word) for word in unknown])
        starts = np.concatenate([starts, starts[-1] + begins[1:]])
        return in_rows(rows, np.concatenate([pieces, new]), starts, self.longest, self.pad)


class PiecesInRows(NamedTuple):
    """The N pieces of a batch of words, in rows that a pre-trained model can read."""

    pieces: NDArray[Any]  # (R, W) symbols
    where: NDArray[Any]  # (N,) the place of each in the flattened rows
    word: NDArray[Any]  # (N,) and the word it is of, in the flattened (B, S)


def in_rows(
    words: NDArray[Any], pieces: NDArray[Any], starts: NDArray[Any], longest: int | None, pad: int
) -> PiecesInRows:
    """Of ``words`` (B, S), whose pieces begin at ``starts``; a text with more than ``longest`` takes several rows.

    >>> words, pieces, starts = np.array([[0, 1], [1, 2]]), np.array([7, 8, 9]), np.array([0, 1, 3, 3])
    >>> rows = in_rows(words, pieces, starts, longest=2, pad=1)
    >>> rows.pieces.tolist(), rows.where.tolist(), rows.word.tolist()
    ([[7, 8], [9, 1], [8, 9], [1, 1]], [0, 1, 2, 4, 5], [0, 1, 1, 2, 2])
    """
    lengths = np.diff(starts)[words]
    word = np.repeat(np.arange(words.size), lengths.flat)
    every, totals = np.arange(len(word)), lengths.sum(1)
    inside = every - (lengths.cumsum() - lengths.flat)[word]
    row = word // words.shape[1]
    place = every - (totals.cumsum() - totals)[row]
    width = min(int(totals.max()), longest or len(word))
    parts = -(-int(totals.max()) // width)
    table = np.full((len(words) * parts, width), pad, dtype=np.int64)
    where = (row * parts + place // width) * width + place % width
    table.flat[where] = pieces[starts[words.flat][word] + inside]
    return PiecesInRows(table, where, word)


class PretrainedBPE:
    """Text to the symbols of ``dict.txt`` and back: for ByT5, "a b" is ``a <0x20> b``."""

    def __init__(self, folder: str | None):
        self.folder = require_folder(folder, "--pretrained-tokenizer")
        self.tokenizer = load_tokenizer(self.folder)
        self.symbols = symbols_of(self.folder)
        self.ids = {symbol: i for i, symbol in enumerate(self.symbols)}
        require("<unk>" in self.ids, f"{self.folder / SYMBOLS} is damaged: it has no <unk>; import the model again")
        self.unk = self.ids["<unk>"]

    def require_dictionary(self, dictionary: Any) -> None:
        """Up to 1 % of the symbols may be the user's own, such as tags; more come from another model."""
        words = [word for word in dictionary.symbols[dictionary.nspecial :] if not word.startswith("madeupword")]
        foreign = [word for word in words if word not in self.ids]
        require(
            len(foreign) <= len(words) / 100,
            f"--pretrained-tokenizer {self.folder} is not the tokenizer of the data: it lacks {len(foreign):,} of the "
            f"{len(words):,} words of the dictionary, such as {''.join(foreign[:1])}. Name the folder that the data "
            "was prepared with",
        )

    def encode(self, text: str) -> str:
        return " ".join(self.symbols[i] for i in self.tokenizer.encode(text))

    def decode(self, symbols: str) -> str:
        return self.tokenizer.decode([self.ids.get(symbol, self.unk) for symbol in symbols.split()])
