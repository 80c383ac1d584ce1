"""Dictionaries and binarised files, made by the functions of fairseq that ``fairseq-preprocess`` uses."""

from pathlib import Path
from typing import Any

from fairseq.binarizer import FileBinarizer, VocabularyDatasetBinarizer
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDataset
from fairseq.utils import split_paths

from lev_plugins.errors import UserError, require


def data_folder(data: str | None, task: str, maker: str) -> Path:
    """Returns the first of the folders that ``data`` names, whose files of ids have been looked at."""
    require(bool(data), f"--task {task} requires the folder that {maker} made")
    folder = Path(split_paths(data)[0])
    require(folder.is_dir(), f"there is no folder {folder}")
    empty = next((path for path in folder.glob("*.bin") if path.stat().st_size == 0), None)
    require(empty is None, f"{empty} is empty, which no text becomes: make the folder again with {maker}")
    return folder


def load_dictionary(path: Path, kind: type[Dictionary] = Dictionary) -> Dictionary:
    require(path.is_file(), f"the dictionary {path} does not exist: check the path")
    try:
        return kind.load(str(path))
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
