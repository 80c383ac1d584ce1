"""Tokenising files for fairseq: by sentencepiece, another BPE of fairseq, or at white space."""

import multiprocessing
import signal
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

from lev_plugins.text.ids import ids_of
from lev_plugins.text.pretrained import PretrainedBPE
from lev_plugins.text.tokenise import HELP, Chars, Tokeniser, Words
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.ranges import flag

POST_PROCESSES = ["sentencepiece", "subword_nmt", "wordpiece", "letter", "_EOW"]  # pieces that fairseq joins
RESERVED = {"<s>", "<pad>", "</s>"}  # fairseq's symbols for boundaries and padding
MODEL = "sentencepiece.model"  # in the folder of the data
CHUNK_LINES = 100_000  # lines that are in the worker processes at a time
MAX_LINE_BYTES = 2**30  # the largest limit that sentencepiece allows; it leaves out longer lines


def learn_sentencepiece(
    texts: list[Path],
    model: Path,
    size: int,
    kind: str,
    coverage: float,
    flag: str = "--learn-sentencepiece",
    **ids: Any,
) -> None:
    """Learns a sentencepiece model of texts.

    Args:
        texts: files of plain text
        model: the file to write
        size: number of pieces
        kind: unigram, bpe, char or word
        coverage: share of the characters that are pieces
        flag: the flag that sets ``size``, for errors
        ids: bos_id, pad_id, eos_id and unk_id of the special pieces; -1 for none
    """
    try:
        sentencepiece.SentencePieceTrainer.Train(
            input=[str(path) for path in texts],
            model_prefix=str(model.with_suffix("")),
            model_type=kind,
            vocab_size=size,
            character_coverage=coverage,
            num_threads=1,  # the same model every time
            max_sentence_length=MAX_LINE_BYTES,
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
    def __init__(self, cfg: PretrainedBPEConfig) -> None:
        super().__init__(cfg.pretrained_tokenizer)


# fairseq's own commands find a BPE only if it has a dataclass
register_bpe("chars", dataclass=FairseqDataclass)(Chars)
register_bpe("words", dataclass=FairseqDataclass)(Words)


Tokenise = Callable[[Iterable[str]], Iterator[str]]
worker: Tokeniser  # of this process of the pool


def start_worker(options: Namespace) -> None:
    global worker
    # a handler of the program would only run when Python does: a worker that waits for a lock could not be ended
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    worker = Tokeniser(options)


def tokenise_line(line: str) -> str:
    return worker(line)


@contextmanager
def tokenising(options: Namespace | None, workers: int) -> Iterator[Tokenise]:
    """Provides a function that tokenises lines, in order, in ``workers`` processes."""
    tokeniser = Tokeniser(options)
    if options is None or workers == 1:
        yield lambda lines: map(tokeniser, lines)
        return
    with multiprocessing.Pool(workers, start_worker, [options]) as pool:

        def in_chunks(lines: Iterable[str]) -> Iterator[str]:
            lines = iter(lines)
            while chunk := list(islice(lines, CHUNK_LINES)):
                yield from pool.map(tokenise_line, chunk, chunksize=1000)

        yield in_chunks


def row_of(pieces: Iterable[str], words: Dictionary) -> list[int]:
    """Returns the ids of pieces, with </s>."""
    return [*ids_of(pieces, words), words.eos()]


def write_tokens(text: Path, tokenise: Tokenise, path: Path, read: Callable[[Path], Iterator[str]]) -> None:
    """Writes the tokens of a text, which must not look like fairseq's symbols."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for number, tokens in enumerate(tokenise(read(text)), 1):
            reserved = RESERVED.intersection(tokens.split())
            require(
                not reserved,
                f"{text}, line {number} contains {' and '.join(sorted(reserved))}, which fairseq reserves for sentence "
                "boundaries and padding: replace it",
            )
            file.write(f"{tokens}\n")
