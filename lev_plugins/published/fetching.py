"""Files of published sets: downloaded into a cache, or taken from a folder, and the same as at the first time."""

import os
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tqdm import tqdm

from lev_plugins.errors import UserError, require
from lev_plugins.files import all_or_nothing
from lev_plugins.model_folder import digest
from lev_plugins.published.sets import PublishedSet

PIECE, TIMEOUT = 1 << 18, 60


def cached(published: PublishedSet, file: str) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "lev-plugins", "data", published.name, file)


def place_of(published: PublishedSet, file: str, given: Path | None) -> Path:
    """Where a file is, or is to be: in the cache; or in the ``given`` folder, as published or at the top."""
    place = given / file if given else cached(published, file)
    return place if given is None or place.exists() else given / place.name


def fetch_files(published: PublishedSet, given: Path | None) -> dict[str, Path]:
    """Its files, if they have not changed since ``remember`` was called, and downloads have the known hashes."""
    places = {file: place_of(published, file, given) for file in published.files}
    for file, place in places.items():
        if given is None and not place.exists():
            download(published.at + file, place)
        require(place.is_file(), f"--from {given} has no file {place.name}, which {published.name} needs")
        known, found = cached(published, f"{file}.sha256"), digest(place)
        right = known.read_text() if known.exists() else found if given else published.sha256.get(file, found)
        accept = f"remove {known}" if known.exists() else "give it with --from"
        require(
            found == right,
            f"{place} has the SHA-256 {found}, but {published.name} is made of the file with {right}: remove it and "
            f"repeat the command, or, if it is right, {accept}",
        )
    return places


def remember(published: PublishedSet, places: dict[str, Path]) -> None:
    for file, place in places.items():
        known = cached(published, f"{file}.sha256")
        if not known.exists():  # otherwise it is the same, as ``fetch_files`` has seen
            with all_or_nothing(known) as written:
                written.write(digest(place).encode())


def download(address: str, place: Path) -> None:
    """Continues what an earlier command has begun."""
    place.parent.mkdir(parents=True, exist_ok=True)
    begun = place.with_name(f"{place.name}.part")
    with begun.open("ab") as file:
        try:
            receive(address, file)
        except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
            if isinstance(error, HTTPError) and error.code == 416:  # what was begun does not fit
                begun.unlink()
            raise UserError(
                f"{address} cannot be downloaded ({getattr(error, 'reason', '') or error}): the same command continues "
                "when the network works, and --from FOLDER takes copies of the files"
            ) from error
        file.flush()
        os.fsync(file.fileno())
    begun.replace(place)


def receive(address: str, file: BinaryIO) -> None:
    begun = file.tell()
    with urlopen(Request(address, headers={"Range": f"bytes={begun}-"} if begun else {}), timeout=TIMEOUT) as answer:
        require(answer.url.startswith("https:"), f"{address} leads to {answer.url}, which is not safe")
        if not (answer.headers.get("Content-Range") or "").startswith(f"bytes {begun}-"):  # it sends everything
            begun = file.seek(0)
            file.truncate()
        length = answer.headers.get("Content-Length")
        end = begun + int(length) if length else None
        # disable=None: shown only on a terminal
        with tqdm(total=end, initial=begun, desc=Path(file.name).stem, unit="B", unit_scale=True, disable=None) as bar:
            while piece := answer.read(PIECE):
                bar.update(file.write(piece))
        require(end in (None, file.tell()), f"{address} ended early: the same command continues")
