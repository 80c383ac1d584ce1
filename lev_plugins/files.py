"""Files that are complete or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lev_plugins.errors import require


@contextmanager
def all_or_nothing(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write to; what stood at ``path`` survives until the new content is complete and on the disk."""
    path = Path(path)
    require(path.is_file() or not path.exists(), f"{path} is there and is no file: name another one")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        error.filename = str(path)  # the one the user knows
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
