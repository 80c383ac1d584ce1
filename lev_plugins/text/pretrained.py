"""The folder that ``lev-plugins import-pretrained`` creates, and its tokenizer: ``--bpe pretrained``.

dict.txt             fairseq's dictionary: the symbols of the pre-trained model without the four that all have
symbols.txt          line i is the symbol of the tokenizer's id i
spiece.model or tokenizer.json; without them, the tokenizer works on bytes
config.json, model.safetensors    the model, as ``transformers`` writes it; row i of a table is fairseq's symbol i
"""

from pathlib import Path

from lev_plugins.text.ids import FILLER, TokenDictionary
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.json_schema import read_object

DICTIONARY, SYMBOLS, SENTENCEPIECE, TOKENIZER = "dict.txt", "symbols.txt", "spiece.model", "tokenizer.json"
MOVED_HINT = (
    """; if it has moved since training, add --backbone NEW (fairseq: --model-overrides "{'backbone': 'NEW'}")"""
)
BYTE_VALUES = 256
BYTE_SPECIALS = ["<pad>", "</s>", "<unk>"]  # before the bytes in ByT5's vocabulary


class SentencePieces:
    """The tokenizer of T5 and mT5."""

    def __init__(self, path: Path) -> None:
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
    """Any tokenizer of the package ``tokenizers``, such as BERT's WordPiece and BART's byte-level BPE."""

    def __init__(self, path: Path) -> None:
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
        return [names.get(i, "") for i in range(max(names) + 1)]

    def encode(self, text: str) -> list[int]:
        return self.library.encode(text, add_special_tokens=False).ids

    def decode(self, ids: list[int]) -> str:
        return self.library.decode(ids, skip_special_tokens=False)


class ByteTokenizer:
    """The tokenizer of ByT5: byte b has the id b + 3.

    >>> ByteTokenizer().encode("hé")
    [107, 198, 172]
    >>> ByteTokenizer().decode([107, 198, 172])
    'hé'
    """

    @property
    def vocabulary(self) -> list[str]:
        """The symbols of all ids."""
        # byte 255 never occurs in text; ByT5 was trained with it as the first of T5's sentinels
        names = [chr(b) if 32 < b < 127 else f"<0x{b:02X}>" for b in range(BYTE_VALUES - 1)]
        return [*BYTE_SPECIALS, *names, "<extra_id_0>"]

    def encode(self, text: str) -> list[int]:
        return [len(BYTE_SPECIALS) + byte for byte in text.encode()]

    def decode(self, ids: list[int]) -> str:
        values = (i - len(BYTE_SPECIALS) for i in ids)
        return bytes(value for value in values if 0 <= value < BYTE_VALUES).decode(errors="replace")


Tokenizer = SentencePieces | LibraryTokenizer | ByteTokenizer  # text to ids and back, as a pre-trained model has it


def load_tokenizer(folder: Path) -> Tokenizer:
    """Loads the tokenizer of an imported folder."""
    if (folder / SENTENCEPIECE).is_file():
        return SentencePieces(folder / SENTENCEPIECE)
    if (folder / TOKENIZER).is_file():
        return LibraryTokenizer(folder / TOKENIZER)
    return ByteTokenizer()


def symbols_of(folder: Path) -> list[str]:
    """Returns the symbol of each id of the tokenizer."""
    return (folder / SYMBOLS).read_text(encoding="utf-8").split("\n")[:-1]


def imported_folder(name: str | None, flag: str, hint: str = "") -> Path:
    """Returns the folder that a flag names, and refuses one that ``import-pretrained`` has not made.

    name: the value of the flag
    flag: the flag, for messages
    hint: advice at the end of a message
    """
    require(name is not None, f"{flag} is missing: name a folder made by lev-plugins import-pretrained")
    folder = Path(str(name))
    require(
        (folder / SYMBOLS).is_file() and (folder / DICTIONARY).is_file(),
        f"{flag} {folder} was not made by lev-plugins import-pretrained: it lacks {SYMBOLS} or {DICTIONARY}{hint}",
    )
    return folder


def longest_text(folder: str | Path | None) -> int | None:
    """Returns the number of symbols of a text that the encoder of an imported folder reads; None: any number."""
    path = None if folder is None else Path(folder) / "config.json"
    config = read_object(path) if path is not None and path.is_file() else {}
    positions = config.get("text_positions")
    return None if positions is None else int(positions) - (config.get("bos_token_id") is not None)


class PretrainedBPE:
    """Turns text into the symbols of ``dict.txt`` and back: for ByT5, "a b" is ``a <0x20> b``."""

    def __init__(self, folder: str | None) -> None:
        self.folder = imported_folder(folder, "--pretrained-tokenizer")
        self.tokenizer = load_tokenizer(self.folder)
        self.symbols = symbols_of(self.folder)
        self.ids = {symbol: i for i, symbol in enumerate(self.symbols)}
        require("<unk>" in self.ids, f"{self.folder / SYMBOLS} is damaged: it has no <unk>; import the model again")
        self.unk = self.ids["<unk>"]

    def require_dictionary(self, dictionary: TokenDictionary) -> None:
        """Refuses the dictionary of another model: up to 1 % of its symbols may be the user's own, such as tags."""
        words = [word for word in dictionary.symbols[dictionary.nspecial :] if not word.startswith(FILLER)]
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
