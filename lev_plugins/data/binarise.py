"""Dictionaries and binarised files, made by the functions of fairseq that ``fairseq-preprocess`` uses."""

from pathlib import Path
from typing import Any

from fairseq.binarizer import FileBinarizer, VocabularyDatasetBinarizer
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDataset

from lev_plugins.errors import UserError, require


def load_dictionary(path: Path) -> Dictionary:
    require(path.is_file(), f"the dictionary {path} does not exist: check the path")
    try:
        return Dictionary.load(str(path))
    except Exception as error:  # fairseq also raises plain ``Exception``
        raise UserError(f"{path} is not a fairseq dictionary: {error}") from error


def binarise(tokens: Path, prefix: Path, dictionary: Dictionary, workers: int) -> tuple[Any, Any]:
    """Write PREFIX.bin and PREFIX.idx. Returns fairseq's summary and the lengths of the lines, each with its end."""
    done = FileBinarizer.multiprocess_dataset(
        str(tokens),
        "mmap",
        VocabularyDatasetBinarizer(dictionary),
        str(prefix),
        vocab_size=len(dictionary),
        num_workers=workers,
    )
    written = MMapIndexedDataset(str(prefix))
    return done, written.sizes.copy()  # the array shares memory that ``written`` frees
