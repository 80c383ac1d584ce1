"""fairseq unpacks archives wherever their members say, and then deletes them; a model is a folder that is unpacked."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from fairseq import file_utils

from lev_plugins.errors import require

__all__ = ["refuse_archives"]


def refuse_archives() -> None:
    """In ``from_pretrained``: called once, when the plug-ins are registered."""
    file_utils.load_archive_file = of_folder(file_utils.load_archive_file)


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
