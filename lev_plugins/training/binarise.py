"""Dictionaries and binarised files, made by the functions of fairseq that ``fairseq-preprocess`` uses."""

from pathlib import Path

import numpy as np
from fairseq.binarizer import BinarizeSummary, FileBinarizer, VocabularyDatasetBinarizer
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDataset
from fairseq.utils import split_paths
from numpy.typing import NDArray

from lev_plugins.utils.errors import UserError, require


def data_folder(data: str | None, task: str, maker: str) -> Path:
    """Returns the first of the folders that ``data`` names, which must contain no empty file of ids.

    ``maker`` is the command that makes such folders for ``--task task``.
    """
    require(bool(data), f"--task {task} requires the folder that {maker} made")
    folder = Path(split_paths(data)[0])
    require(folder.is_dir(), f"there is no folder {folder}")
    empty = next((path for path in folder.glob("*.bin") if path.stat().st_size == 0), None)
    require(empty is None, f"{empty} is empty: make the folder again with {maker}")
    return folder


def load_dictionary(path: Path, kind: type[Dictionary] = Dictionary) -> Dictionary:
    """Loads a dictionary; raises a ``UserError`` if the file is not one."""
    require(path.is_file(), f"the dictionary {path} does not exist: check the path")
    try:
        return kind.load(str(path))
    except Exception as error:  # fairseq also raises plain ``Exception``
        raise UserError(f"{path} is not a fairseq dictionary: {error}") from error


def binarise(
    tokens: Path, prefix: Path, dictionary: Dictionary, workers: int
) -> tuple[BinarizeSummary, NDArray[np.int64]]:
    """Writes PREFIX.bin and PREFIX.idx; returns fairseq's summary and the lengths of the lines, with their </s>."""
    summary = FileBinarizer.multiprocess_dataset(
        str(tokens),
        "mmap",
        VocabularyDatasetBinarizer(dictionary),
        str(prefix),
        vocab_size=len(dictionary),
        num_workers=workers,
    )
    dataset = MMapIndexedDataset(str(prefix))
    return summary, dataset.sizes.copy()  # a copy, because the dataset frees the memory of its sizes
