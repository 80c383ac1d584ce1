"""Split lines into the tokens that fairseq binarises: by sentencepiece, another fairseq BPE, or at white space."""

import multiprocessing
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Optional

import sentencepiece
from fairseq.data import Dictionary
from fairseq.data.encoders import register_bpe
from fairseq.dataclass import FairseqDataclass

from lev_plugins.errors import UserError, require
from lev_plugins.ranges import flag
from lev_plugins.text.ids import ids_of
from lev_plugins.text.lines import read_lines
from lev_plugins.text.pretrained import PretrainedBPE
from lev_plugins.text.tokenise import HELP, Chars, Tokeniser, Words

JOINED = ["sentencepiece", "subword_nmt", "wordpiece", "letter", "_EOW"]  # pieces that fairseq joins
RESERVED = {"<s>", "<pad>", "</s>"}  # in fairseq's dictionaries, boundaries and padding
MODEL = "sentencepiece.model"  # file name in the folder of the data where it was learned
BLOCK = 100_000  # lines in the workers at a time
LONGEST_BY_DEFAULT = 4192  # bytes of a line, in sentencepiece


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


@dataclass
class PretrainedBPEConfig(FairseqDataclass):
    pretrained_tokenizer: Optional[str] = flag(None, HELP["pretrained_tokenizer"])


@register_bpe("pretrained", dataclass=PretrainedBPEConfig)
class Pretrained(PretrainedBPE):
    def __init__(self, cfg: PretrainedBPEConfig):
        super().__init__(cfg.pretrained_tokenizer)


# fairseq's own commands find a BPE only if it has a dataclass
register_bpe("chars", dataclass=FairseqDataclass)(Chars)
register_bpe("words", dataclass=FairseqDataclass)(Words)


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
