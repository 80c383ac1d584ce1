"""Makes the files of a set from the published ones."""

import math
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from examples.published import conversions
from examples.published.sets import PublishedSet
from lev_plugins.utils.errors import UserError, require

MAX_UNPACKED_BYTES = 16 << 30  # of all members of an archive together; the largest has 4 GB
DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError)


def make(published: PublishedSet, paths: dict[str, Path], source: Path | None, folder: Path) -> None:
    """Writes the files of a set to ``folder``; ``source`` is the user's folder with the published files, if any."""
    with TemporaryDirectory(dir=folder.parent, prefix=".unpacked.") as scratch:
        unpacked = {"": source or Path()}
        for number, file in enumerate(file for file, archive in published.files.items() if archive):
            unpacked[file] = Path(scratch) / str(number)
            unpack(paths[file], unpacked[file])
        for part in published.parts:
            sources = []
            for file, pattern in part.of:
                sources.append(sorted(unpacked[file].glob(pattern)) if pattern else [paths[file]])
                require(bool(sources[-1]), f"{paths.get(file, source)} has no file {PurePosixPath(pattern).name}")
            function, *arguments = part.conversion
            try:
                rows = islice(getattr(conversions, function)(sources, *arguments), part.first)
                append(rows, [folder / name for name in part.to])
            except (ValueError, LookupError) as error:
                raise UserError(f"{sources[0][0]} is not in the format of {published.name}: {error}") from error


def append(rows: conversions.Rows, paths: list[Path]) -> None:
    """Appends a column to each file, or all columns, separated by TABs, to a single one."""
    with ExitStack() as stack:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        files = [stack.enter_context(path.open("a", encoding="utf-8", newline="\n")) for path in paths]
        for row in rows:
            for file, text in zip(files, row if len(files) > 1 else ["\t".join(row)], strict=True):
                file.write(f"{text}\n")


def unpack(path: Path, folder: Path) -> None:
    """Unpacks an archive, which is not trusted."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:  # it makes no links
                vet(path, [(entry.filename, entry.file_size) for entry in archive.infolist()])
                archive.extractall(folder)
        else:
            with tarfile.open(path) as tar:
                vet(path, [(info.name, info.size if info.isfile() or info.isdir() else math.inf) for info in tar])
                tar.extractall(folder)
    except DAMAGED as error:
        raise UserError(f"{path} is damaged or not an archive: remove it and repeat the command") from error


def vet(path: Path, members: Sequence[tuple[str, float]]) -> None:
    """Requires that all members are files, and stay in the folder in which they are unpacked."""
    total = 0.0
    for name, size in members:
        total += size
        harmless = total <= MAX_UNPACKED_BYTES and not name.startswith("/") and ".." not in PurePosixPath(name).parts
        require(harmless, f"{path} is refused: {name!r} in it is a link, is too large, or leads out of the archive")
