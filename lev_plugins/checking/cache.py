"""The words of files and which of them had no typos, kept from one run to the next.

What decides is the model with its settings, the bytes of a file, and which of its unknown words are words of the
project. A cache that is damaged or cannot be written costs time, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from lev_plugins.checking.prose import FileWords
from lev_plugins.utils.errors import UserError
from lev_plugins.utils.files import all_or_nothing


def cache_path(settings: object) -> Path:
    """Returns where the cache of a run in this folder is; ``settings``: all that decides, besides the files."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    key = hashlib.sha256(repr((os.getcwd(), settings)).encode(errors="surrogatepass")).hexdigest()
    return Path(home) / "lev-plugins" / "check" / f"{key[:32]}.json"


class Cache:
    """What an earlier run found out; ``save`` keeps what this run asked for."""

    def __init__(self, path: Path | None) -> None:
        """path: the file; None: there is none, and nothing is kept"""
        self.path = path
        self.old_words, self.old_clean = dict[str, FileWords](), set[str]()
        self.words, self.clean = dict[str, FileWords](), set[str]()
        with suppress(OSError, ValueError, TypeError, KeyError):
            if path is not None:
                entries = json.loads(path.read_bytes())
                self.old_words = {digest: FileWords(*words) for digest, words in entries["words"].items()}
                self.old_clean = set(entries["clean"])

    def words_of(self, digest: str) -> FileWords | None:
        """Returns the words of a file with these bytes."""
        if digest in self.old_words:
            self.words[digest] = self.old_words[digest]
        return self.words.get(digest)

    def is_clean(self, key: str) -> bool:
        if key in self.old_clean:
            self.clean.add(key)
        return key in self.clean

    def save(self) -> None:
        if self.path is None or (self.words == self.old_words and self.clean == self.old_clean):
            return
        words = {digest: (words.known, words.unknown, sorted(words.code)) for digest, words in self.words.items()}
        with suppress(OSError, UserError), all_or_nothing(self.path) as file:
            file.write(json.dumps({"words": words, "clean": sorted(self.clean)}, ensure_ascii=False).encode())


def clean_key(digest: str, project: Iterable[str]) -> str:
    """Returns the key of a file without typos.

    digest: that of its bytes
    project: the words of the project among its unknown words
    """
    return hashlib.sha256("\n".join([digest, *sorted(project)]).encode()).hexdigest()
