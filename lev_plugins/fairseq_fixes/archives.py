"""fairseq unpacks archives wherever their members say, and then deletes them, so only unpacked folders are accepted.

What it downloads from its own list of models is unpacked within the folder for it.
"""

from __future__ import annotations

import functools
import os
import tarfile
from collections.abc import Callable
from typing import Any

from fairseq import file_utils

from lev_plugins.errors import require


def refuse_archives() -> None:
    """In ``from_pretrained``: called once, when the plug-ins are registered."""
    file_utils.load_archive_file = of_folder(file_utils.load_archive_file)
    if hasattr(tarfile, "data_filter"):  # every Python since June 2023
        tarfile.TarFile.extraction_filter = staticmethod(tarfile.data_filter)


def of_folder(load: Callable[[str], Any]) -> Callable[[str], Any]:
    @functools.wraps(load)
    def load_folder(path: str) -> Any:
        require(
            not os.path.isfile(path),
            f"{path} is a file, but a model is loaded from a folder: unpack it, for example with tar -xf, and give the "
            "folder",
        )
        return load(path)

    return load_folder
