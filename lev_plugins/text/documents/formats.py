"""The formats of files that ``lev-plugins check`` reads, by the names of files."""

from __future__ import annotations

from pathlib import PurePath
from typing import NamedTuple

from lev_plugins.text.documents.document import Reader


class Format(NamedTuple):
    """A format of files."""

    name: str  # as in the setting formats
    reader: Reader
    suffixes: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ()


FORMATS: tuple[Format, ...] = ()


def format_of(name: str) -> Format | None:
    """Returns the format of a file of this name, which may have folders before it; None: no format is known."""
    path = PurePath(name)
    by_name = [entry for entry in FORMATS if path.name in entry.file_names]
    return next(iter(by_name or [entry for entry in FORMATS if path.suffix.lower() in entry.suffixes]), None)
