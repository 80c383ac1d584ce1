"""Reads sets.json, the table of published sets: where each one is, its licence, and what its files become.

A part makes the files ``to`` of the sources ``of``, by the function of conversions.py that ``as`` names, with its
arguments; a part whose files exist already appends to them. A source is a file, or ``ARCHIVE!PATTERN``: the members of
an archive with such a path. Without ARCHIVE, these are files of the folder that a user gives. ``sha256`` has the hashes
that publishers, or the package tensorflow-datasets, print for files at these addresses.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class SetPart(NamedTuple):
    to: list[str]
    of: list[tuple[str, str]]  # file, or archive and pattern
    conversion: list[str]
    first: int | None  # rows


class PublishedSet(NamedTuple):
    name: str
    about: str
    licence: str
    at: str  # the address before each file; without files, where a person gets them, because of a form
    parts: list[SetPart]
    sha256: dict[str, str] = {}  # of files, where it is known

    @property
    def files(self) -> dict[str, bool]:
        """The published files, and whether each is an archive.

        >>> read_sets()["sst2"].files
        {'SST-2.zip': True}
        """
        return {file: bool(pattern) for part in self.parts for file, pattern in part.of if file}


def read_sets() -> dict[str, PublishedSet]:
    table = json.loads(Path(__file__).with_name("sets.json").read_text("utf-8"))
    for entry in table.values():
        entry["parts"] = [part for row in entry["parts"] for part in expanded(row)]
    return {name: PublishedSet(name, **entry) for name, entry in table.items()}


def expanded(row: dict[str, Any]) -> Iterator[SetPart]:
    """Yields a part for each word of ``each``, which replaces {}."""
    for word in row.get("each", "").split() or [""]:
        to, of, conversion = (row[key].replace("{}", word).split() for key in ("to", "of", "as"))
        yield SetPart(to, [source.partition("!")[::2] for source in of], conversion, row.get("first"))
