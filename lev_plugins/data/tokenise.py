"""Split lines into the tokens that fairseq binarises: by sentencepiece, another fairseq BPE, or at white space."""

import multiprocessing
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, Optional

import sentencepiece
from fairseq.data import Dictionary
from fairseq.data.encoders import BPE_REGISTRY, build_bpe, register_bpe
from fairseq.data.encoders.characters import Characters
from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.registry import REGISTRIES

from lev_plugins.errors import UserError, require
from lev_plugins.ranges import flag, flag_name
from lev_plugins.text.lines import read_lines
from lev_plugins.text.offsets import BLANK, words_with_places
from lev_plugins.text.pretrained import PretrainedBPE

JOINED = ["sentencepiece", "subword_nmt", "wordpiece", "letter", "_EOW"]  # pieces that fairseq joins
RESERVED = {"<s>", "<pad>", "</s>"}  # in fairseq's dictionaries, boundaries and padding
IMPLIED = {"sentencepiece_model": "sentencepiece", "pretrained_tokenizer": "pretrained"}  # flags that need no --bpe
MODEL = "sentencepiece.model"  # file name in the folder of the data where it was learned
BLOCK = 100_000  # lines in the workers at a time
LONGEST_BY_DEFAULT = 4192  # bytes of a line, in sentencepiece
CONFIGS: dict[str, Any] = REGISTRIES["bpe"]["dataclass_registry"]


def learn_sentencepiece(
    texts: list[Path],
    model: Path,
    size: int,
    kind: str,
    coverage: float,
    flag: str = "--learn-sentencepiece",
    **ids: Any,
) -> None:
    """``ids`` of special pieces: bos_id, pad_id, eos_id, unk_id; -1 for none."""
    longest = LONGEST_BY_DEFAULT  # longer lines are left out
    for text in texts:
        with text.open("rb") as lines:
            longest = max(longest, *map(len, lines), 0)
    try:
        sentencepiece.SentencePieceTrainer.Train(
            input=[str(path) for path in texts],
            model_prefix=str(model.with_suffix("")),
            model_type=kind,
            vocab_size=size,
            character_coverage=coverage,
            num_threads=1,  # the same model every time
            max_sentence_length=longest,
            minloglevel=2,
            **ids,
        )
    except RuntimeError as error:  # text: source location, failed condition, usually a message
        reason = str(error).rpartition("] ")[2].strip() or str(error).strip()
        raise UserError(f"{flag} {size}: {reason}") from error
    model.with_suffix(".vocab").unlink()


def add_bpe_arguments(parser: ArgumentParser) -> None:
    """``--bpe`` and the flags of all fairseq BPEs, some of which share a flag."""
    group = parser.add_argument_group("other fairseq BPEs and their flags")
    group.add_argument("--bpe", choices=sorted(BPE_REGISTRY), help="name of the BPE in fairseq")
    for config in CONFIGS.values():
        gen_parser_from_dataclass(group, config(), delete_default=True)


def bpe_options(args: Namespace) -> Namespace | None:
    """The options that fairseq builds a BPE from; None if the text is not cut by a BPE."""
    names = {config: {own.name for own in fields(cls)} - {"_name"} for config, cls in CONFIGS.items()}
    values = {name: getattr(args, name) for name in set().union(*names.values())}
    given = {name: value for name, value in values.items() if value not in (None, False)}
    bpe = args.bpe or next((IMPLIED[name] for name in IMPLIED if name in given), None)
    for name in sorted(given):
        owners = sorted(owner for owner in names if name in names[owner])
        require(
            bpe in owners, f"{flag_name(name)} requires --bpe {' or '.join(owners)}, but --bpe is {bpe or 'not given'}"
        )
    if bpe is None:
        return None
    require_complete(bpe, given)
    return Namespace(bpe=bpe, **given)


def require_complete(bpe: str, given: Container[str]) -> None:
    """Check that ``given`` includes the flags that fairseq's ``bpe`` requires."""
    for own in fields(CONFIGS[bpe]) if bpe in CONFIGS else ():
        require(own.default != "???" or own.name in given, f"--bpe {bpe} needs {flag_name(own.name)}")


@contextmanager
def failing_as(bpe: str | None) -> Iterator[None]:
    """Turn errors of the libraries behind ``--bpe``, such as a missing file, into one that names the flag."""
    try:
        yield
    except (ImportError, OSError, RuntimeError) as error:
        raise UserError(f"--bpe {bpe}: {error}") from error


@dataclass
class NoFlags(FairseqDataclass):
    """fairseq's own commands find a BPE only if it has a dataclass."""


@register_bpe("chars", dataclass=NoFlags)
class Chars(Characters):
    """``--bpe chars``: fairseq's ``characters``.

    >>> Chars().encode("a cat"), Chars().decode("a ▁ c a t")
    ('a ▁ c a t', 'a cat')
    """


@register_bpe("words", dataclass=NoFlags)
class Words:
    """``--bpe words``: every run of letters and digits and every sign is a token; ▁ stands for the blank before it.

    Signs are tokens of their own, so that a word is the same before a comma and before a blank.

    >>> Words().encode("Don't (ever) go."), Words().decode("▁Don't ▁( ever ) ▁go .")
    ("▁Don't ▁( ever ) ▁go .", "Don't (ever) go.")
    """

    def __init__(self, *args: object) -> None:
        pass

    def encode(self, x: str) -> str:
        """As with sentencepiece, the first word has a blank before it."""
        return " ".join(piece for piece, _ in words_with_places(x.strip()))

    def decode(self, x: str) -> str:
        return x.replace(" ", "").replace(BLANK, " ").strip()


@dataclass
class PretrainedBPEConfig(FairseqDataclass):
    pretrained_tokenizer: Optional[str] = flag(None, "folder made by lev-plugins import-pretrained")


@register_bpe("pretrained", dataclass=PretrainedBPEConfig)
class Pretrained(PretrainedBPE):
    def __init__(self, cfg: PretrainedBPEConfig):
        super().__init__(cfg.pretrained_tokenizer)


class Tokeniser:
    """Cuts text into pieces as ``fairseq-interactive`` does; without ``options``, at white space.

    >>> tokeniser = Tokeniser(Namespace(bpe="characters"))
    >>> tokeniser(" ein  Haus "), tokeniser.pieces("am Haus"), tokeniser.words(["am", "Haus"])
    ('e i n ▁ ▁ H a u s', ['a', 'm', '▁', 'H', 'a', 'u', 's'], [['a', 'm'], ['▁', 'H', 'a', 'u', 's']])
    >>> Tokeniser(None)(" ein  Haus ")
    'ein Haus'
    """

    def __init__(self, options: Namespace | None):
        self.name: str | None = options.bpe if options else None
        with failing_as(self.name):
            self.bpe = build_bpe(options) if options else None

    def __call__(self, line: str) -> str:
        return " ".join(self.pieces(line))

    def encode(self, text: str) -> str:
        """The pieces separated by spaces; white space at both ends of the text counts as text."""
        return self.bpe.encode(text) if self.bpe and text.strip() else text

    def pieces(self, text: str) -> list[str]:
        return self.encode(text.strip()).split()

    def words(self, words: list[str]) -> list[list[str]]:
        """The pieces of each word; a word without pieces becomes an unknown one."""
        cut = [self.encode(f" {word}" if number else word).split() for number, word in enumerate(words)]
        return [pieces or ["<unk>"] for pieces in cut]


Tokenise = Callable[[Iterable[str]], Iterator[str]]
worker: Tokeniser  # one per process of the pool


def begin(options: Namespace) -> None:
    global worker
    worker = Tokeniser(options)


def tokenise_line(line: str) -> str:
    return worker(line)


@contextmanager
def tokenising(options: Namespace | None, workers: int) -> Iterator[Tokenise]:
    """A function that cuts lines, in order, in ``workers`` processes."""
    tokeniser = Tokeniser(options)
    if options is None or workers == 1:
        yield lambda lines: map(tokeniser, lines)
        return
    with multiprocessing.Pool(workers, begin, [options]) as pool:

        def in_blocks(lines: Iterable[str]) -> Iterator[str]:
            lines = iter(lines)
            while block := list(islice(lines, BLOCK)):
                yield from pool.map(tokenise_line, block, chunksize=1000)

        yield in_blocks


def ids_of(pieces: Iterable[str], words: Dictionary) -> list[int]:
    """<unk> for what is spelt like <s> and the like as well: in a text, they are not boundaries.

    >>> words = Dictionary()
    >>> _ = words.add_symbol("a")
    >>> ids_of(["a", "b", "</s>"], words)
    [4, 3, 3]
    """
    return [i if (i := words.index(piece)) >= words.nspecial else words.unk() for piece in pieces]


def row_of(pieces: Iterable[str], words: Dictionary) -> list[int]:
    """With </s>."""
    return [*ids_of(pieces, words), words.eos()]


def write_tokens(
    text: Path, tokenise: Tokenise, path: Path, read: Callable[[Path], Iterator[str]] = read_lines
) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for number, tokens in enumerate(tokenise(read(text)), 1):
            reserved = RESERVED.intersection(tokens.split())
            require(
                not reserved,
                f"{text}, line {number} contains {' and '.join(sorted(reserved))}, which fairseq reserves for sentence "
                "boundaries and padding: replace it",
            )
            file.write(f"{tokens}\n")
