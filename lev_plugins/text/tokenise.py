"""Tokenisers: text into the pieces that a model reads, by sentencepiece, another BPE of fairseq, or white space."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from lev_plugins.text.ids import BLANK
from lev_plugins.text.offsets import spell_words, words_with_places
from lev_plugins.text.pretrained import PretrainedBPE
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.ranges import flag_name

IMPLIED = {"sentencepiece_model": "sentencepiece", "pretrained_tokenizer": "pretrained"}  # flags that need no --bpe
BPES: dict[str, tuple[str, ...]] = {  # fairseq's and our own, and the flags of each
    **dict.fromkeys(("bytes", "characters", "chars", "words"), ()),
    "pretrained": ("pretrained_tokenizer",),
    "sentencepiece": ("sentencepiece_model",),
    "subword_nmt": ("bpe_codes", "bpe_separator"),
}
NEEDED = {"bpe_codes", "sentencepiece_model"}
HELP = {
    "bpe_codes": "codes of subword-nmt",
    "bpe_separator": "what ends a piece inside a word (default: @@)",
    "pretrained_tokenizer": "folder made by lev-plugins import-pretrained",
    "sentencepiece_model": "path to sentencepiece model",
}


def add_bpe_arguments(parser: ArgumentParser) -> None:
    """Adds ``--bpe`` and the flags of all BPEs."""
    group = parser.add_argument_group("other fairseq BPEs and their flags")
    group.add_argument("--bpe", choices=sorted(BPES), help="name of the BPE in fairseq")
    for name, meaning in HELP.items():
        group.add_argument(flag_name(name), help=meaning)


def bpe_options(args: Namespace) -> Namespace | None:
    """Returns the options that fairseq builds a BPE from; None: text is cut at white space."""
    flags = {name: value for name in HELP if (value := getattr(args, name)) is not None}
    bpe = args.bpe or next((IMPLIED[name] for name in IMPLIED if name in flags), None)
    for name in sorted(flags):
        owner = next(owner for owner in BPES if name in BPES[owner])
        require(bpe == owner, f"{flag_name(name)} requires --bpe {owner}, but --bpe is {bpe or 'not given'}")
    if bpe is None:
        return None
    require_complete(bpe, flags)
    return Namespace(bpe=bpe, **flags)


def require_complete(bpe: str, flags: Container[str]) -> None:
    """Checks that ``flags`` have those that fairseq's ``bpe`` requires."""
    for name in BPES.get(bpe, ()):
        require(name not in NEEDED or name in flags, f"--bpe {bpe} needs {flag_name(name)}")


@contextmanager
def failing_as(bpe: str | None) -> Iterator[None]:
    """Turns errors of the libraries behind ``--bpe``, such as a missing file, into one that names the flag."""
    try:
        yield
    except (ImportError, OSError, RuntimeError) as error:
        raise UserError(f"--bpe {bpe}: {error}") from error


class BPE(Protocol):
    """Cuts a text into pieces with blanks between them, and joins them again."""

    def encode(self, x: str) -> str: ...

    def decode(self, x: str) -> str: ...


class Chars:
    """``--bpe chars``: fairseq's ``characters``, which its own commands do not find.

    >>> Chars().encode("a cat"), Chars().decode("a ▁ c a t")
    ('a ▁ c a t', 'a cat')
    """

    def __init__(self, *args: object) -> None:
        pass

    def encode(self, x: str) -> str:
        return " ".join(x.replace(" ", BLANK))

    def decode(self, x: str) -> str:
        return x.replace(" ", "").replace(BLANK, " ")


class Words:
    """``--bpe words``: every run of letters and digits and every sign is a token; ▁ stands for the blank before it.

    Signs are tokens of their own, so that a word is the same before a comma and before a blank.

    >>> Words().encode("Don't (ever) go."), Words().decode("▁Don't ▁( ever ) ▁go .")
    ("▁Don't ▁( ever ) ▁go .", "Don't (ever) go.")
    """

    def __init__(self, *args: object) -> None:
        pass

    def encode(self, x: str) -> str:
        """Cuts a text; as with sentencepiece, the first word has a blank before it."""
        return " ".join(piece for piece, _ in words_with_places(x.strip()))

    def decode(self, x: str) -> str:
        return spell_words(x.split(" ")).strip()


class SentencePiece:
    """``--bpe sentencepiece``."""

    def __init__(self, options: Namespace) -> None:
        import sentencepiece  # which takes as long as the rest of this module

        path = options.sentencepiece_model
        require(Path(path).is_file(), f"--bpe sentencepiece: file {path} not found")
        self.sp = sentencepiece.SentencePieceProcessor(model_file=str(path))

    def encode(self, x: str) -> str:
        return " ".join(self.sp.Encode(x, out_type=str))

    def decode(self, x: str) -> str:
        return x.replace(" ", "").replace(BLANK, " ").strip()


class SubwordNMT:
    """``--bpe subword_nmt``: codes of subword-nmt."""

    def __init__(self, options: Namespace) -> None:
        from subword_nmt import apply_bpe

        with open(options.bpe_codes, encoding="utf-8") as codes:
            self.bpe = apply_bpe.BPE(codes, separator=vars(options).get("bpe_separator", "@@"))

    def encode(self, x: str) -> str:
        return self.bpe.process_line(x)

    def decode(self, x: str) -> str:
        return f"{x} ".replace(f"{self.bpe.separator} ", "").rstrip()


PRINTABLE = {*range(32, 127), *range(161, 256)} - {173}  # of Latin-1
BYTES = {byte: chr(byte if byte in PRINTABLE else 256 + byte) for byte in range(256)}
BYTE_OF = {sign: byte for byte, sign in BYTES.items()}


class Bytes:
    """``--bpe bytes``: every byte of UTF-8 is a token, written as a character of its own.

    >>> Bytes().encode("é a"), Bytes().decode("Ã © ▁ a Ã")
    ('Ã © ▁ a', 'é a')
    """

    def __init__(self, *args: object) -> None:
        pass

    def encode(self, x: str) -> str:
        signs = (BYTES[byte] for byte in re.sub(r"\s+", " ", x).encode("utf-8"))
        return " ".join(BLANK if sign == " " else sign for sign in signs)

    def decode(self, x: str) -> str:
        """Joins tokens; bytes that are not UTF-8 are left out."""
        signs = x.replace(" ", "").replace(BLANK, " ")
        return bytes(BYTE_OF[sign] for sign in signs).decode("utf-8", errors="ignore")


BUILDERS: dict[str, Callable[[Namespace], BPE]] = {
    "words": Words,
    "bytes": Bytes,
    "chars": Chars,
    "characters": Chars,
    "sentencepiece": SentencePiece,
    "subword_nmt": SubwordNMT,
    "pretrained": lambda options: PretrainedBPE(options.pretrained_tokenizer),
}


class Tokeniser:
    """Cuts text into pieces as ``fairseq-interactive`` does; without ``options``, at white space.

    >>> tokeniser = Tokeniser(Namespace(bpe="characters"))
    >>> tokeniser(" ein  Haus "), tokeniser.pieces("am Haus"), tokeniser.words(["am", "Haus"])
    ('e i n ▁ ▁ H a u s', ['a', 'm', '▁', 'H', 'a', 'u', 's'], [['a', 'm'], ['▁', 'H', 'a', 'u', 's']])
    >>> Tokeniser(None)(" ein  Haus ")
    'ein Haus'
    """

    def __init__(self, options: Namespace | None) -> None:
        self.name: str | None = options.bpe if options else None
        with failing_as(self.name):
            self.bpe = BUILDERS[options.bpe](options) if options else None

    def __call__(self, line: str) -> str:
        return " ".join(self.pieces(line))

    def encode(self, text: str) -> str:
        """Returns the pieces separated by spaces; white space at both ends of the text counts as text."""
        return self.bpe.encode(text) if self.bpe and text.strip() else text

    def pieces(self, text: str) -> list[str]:
        return self.encode(text.strip()).split()

    def words(self, words: list[str]) -> list[list[str]]:
        """Returns the pieces of each word; a word without pieces becomes an unknown one."""
        rows = [self.encode(f" {word}" if number else word).split() for number, word in enumerate(words)]
        return [pieces or ["<unk>"] for pieces in rows]
