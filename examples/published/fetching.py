"""Fetches the files of published sets: downloads them into a cache, or takes them from a folder."""

import os
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tqdm import tqdm

from examples.published.sets import PublishedSet
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.model_folder import digest

BLOCK, TIMEOUT = 1 << 18, 60  # bytes, seconds


def local_path(published: PublishedSet, file: str, folder: Path | None) -> Path:
    """Returns where a file is, or will be: in the user's folder, as published or at the top, or else in the cache."""
    if folder is not None:
        path = folder / file
        return path if path.exists() else folder / path.name
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "lev-plugins", "data", published.name, file)


def fetch_files(published: PublishedSet, folder: Path | None) -> dict[str, Path]:
    """Returns the paths of the files of a set; a download must have the hash that its publisher prints, if any."""
    paths = {file: local_path(published, file, folder) for file in published.files}
    for file, path in paths.items():
        if folder is None and not path.exists():
            download(published.at + file, path)
        require(path.is_file(), f"--from {folder} has no file {path.name}, which {published.name} needs")
        if folder is None and file in published.sha256:
            actual, expected = digest(path), published.sha256[file]
            require(
                actual == expected,
                f"{path} has the SHA-256 {actual}, but {published.name} is made of the file with {expected}: remove "
                "it and repeat the command, or, if it is right, give it with --from",
            )
    return paths


def download(address: str, path: Path) -> None:
    """Downloads a file, and continues what an earlier command has begun."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("ab") as file:
            receive(address, file)
            file.flush()
            os.fsync(file.fileno())
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        if isinstance(error, HTTPError) and error.code == 416:  # the part is longer than the file
            part.unlink()
        raise UserError(
            f"{address} cannot be downloaded ({getattr(error, 'reason', '') or error}): the same command continues "
            "when the network works, and --from FOLDER takes copies of the files"
        ) from error
    part.replace(path)


def receive(address: str, file: BinaryIO) -> None:
    """Appends the rest of a download to a file, or replaces it if the server cannot continue."""
    start = file.tell()
    with urlopen(Request(address, headers={"Range": f"bytes={start}-"} if start else {}), timeout=TIMEOUT) as answer:
        require(answer.url.startswith("https:"), f"{address} leads to {answer.url}, which is not safe")
        if not (answer.headers.get("Content-Range") or "").startswith(f"bytes {start}-"):  # it sends everything
            start = file.seek(0)
            file.truncate()
        length = answer.headers.get("Content-Length")
        end = start + int(length) if length else None
        # disable=None: shown only on a terminal
        with tqdm(total=end, initial=start, desc=Path(file.name).stem, unit="B", unit_scale=True, disable=None) as bar:
            while block := answer.read(BLOCK):
                bar.update(file.write(block))
        require(end in (None, file.tell()), f"{address} ended early: the same command continues")
