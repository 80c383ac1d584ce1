"""Dictionaries and binarised files, made by the functions of fairseq that ``fairseq-preprocess`` uses."""

from dataclasses import dataclass
from pathlib import Path

from fairseq.binarizer import FileBinarizer, VocabularyDatasetBinarizer
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDataset
from fairseq.tasks.translation import TranslationTask

from lev_plugins.errors import UserError, require


def learn_dictionary(tokens: list[Path], threshold: int, words: int, workers: int) -> Dictionary:
    """A dictionary of the ``words`` most frequent words (-1: all) that occur at least ``threshold`` times."""
    files = [str(path) for path in tokens]
    return TranslationTask.build_dictionary(files, workers=workers, threshold=threshold, nwords=words, padding_factor=8)


def load_dictionary(path: Path) -> Dictionary:
    require(path.is_file(), f"the dictionary {path} does not exist: check the path")
    try:
        return Dictionary.load(str(path))
    except Exception as error:  # fairseq also raises plain ``Exception``
        raise UserError(f"{path} is not a fairseq dictionary: {error}") from error


@dataclass(frozen=True)
class TokenCounts:
    """Counts of a binarised file; fairseq counts the end of a line as a token."""

    lines: int
    tokens: int
    unknown: int
    longest: int
    longest_line: int  # from 1


def binarise(tokens: Path, prefix: Path, dictionary: Dictionary, workers: int) -> TokenCounts:
    """Write PREFIX.bin and PREFIX.idx."""
    done = FileBinarizer.multiprocess_dataset(
        str(tokens),
        "mmap",
        VocabularyDatasetBinarizer(dictionary),
        str(prefix),
        vocab_size=len(dictionary),
        num_workers=workers,
    )
    written = MMapIndexedDataset(str(prefix))
    sizes = written.sizes.copy()  # the array shares memory that ``written`` frees
    longest = int(sizes.argmax())
    return TokenCounts(len(sizes), done.num_tok, done.num_replaced, int(sizes[longest]), longest + 1)
