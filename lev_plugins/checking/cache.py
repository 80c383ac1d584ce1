"""The words of files and the edits of their typos, kept from one run to the next.

An entry depends on the model and its settings, the path and text of a file, and which of its unknown words are words
of the project. A cache that is damaged or cannot be written costs time, and nothing else.
"""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from lev_plugins.checking.prose import FileWords
from lev_plugins.text.edited import Edit
from lev_plugins.utils.errors import UserError
from lev_plugins.utils.files import all_or_nothing


def cache_path(settings: object) -> Path:
    """Returns where the cache of a run in this folder is; ``settings``: all that decides, besides the files."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # unchanged where nobody has a home
    key = hashlib.sha256(repr((os.getcwd(), settings)).encode(errors="surrogatepass")).hexdigest()
    return Path(home) / "lev-plugins" / "check" / f"{key[:32]}.json"


class Cache:
    """The words and the edits that earlier runs computed."""

    def __init__(self, path: Path | None) -> None:
        """path: the file; None: there is none, and nothing is kept"""
        self.path = path
        self.old_words, self.words = dict[str, FileWords](), dict[str, FileWords]()
        self.old_edits, self.edits = dict[str, list[Edit]](), dict[str, list[Edit]]()
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            if path is not None:
                entries = json.loads(path.read_bytes())
                self.old_words = {name: FileWords(*words) for name, words in entries["words"].items()}
                self.old_edits = {key: [*map(read_edit, edits)] for key, edits in entries["edits"].items()}

    def words_of(self, digest: str) -> FileWords | None:
        """Returns the words of a file with these bytes."""
        if digest in self.old_words:
            self.words[digest] = self.old_words[digest]
        return self.words.get(digest)

    def edits_of(self, key: str) -> list[Edit] | None:
        if key in self.old_edits:
            self.edits[key] = self.old_edits[key]
        return self.edits.get(key)

    def save(self, keep_others: bool) -> None:
        """Writes the entries that this run used; ``keep_others``: and those of other files."""
        more_words, more_edits = (self.old_words, self.old_edits) if keep_others else ({}, {})
        all_words, all_edits = {**more_words, **self.words}, {**more_edits, **self.edits}
        if self.path is None or (all_words == self.old_words and all_edits == self.old_edits):
            return
        words = {name: words._replace(code=sorted(words.code)) for name, words in all_words.items()}
        edits = {key: [*map(written, edits)] for key, edits in all_edits.items()}
        with suppress(OSError, UserError), all_or_nothing(self.path) as file:
            file.write(json.dumps({"words": words, "edits": edits}, ensure_ascii=False).encode())


def written(edit: Edit) -> list[object]:
    """
    >>> edit = Edit(0, 3, "the", 0.9, alternatives=(Edit(0, 3, "tea", 0.1),))
    >>> read_edit(written(edit)) == edit
    True
    """
    return [edit.start, edit.end, edit.replacement, edit.confidence, [*map(written, edit.alternatives)]]


def read_edit(entries: list[Any]) -> Edit:
    start, end, replacement, confidence, alternatives = entries
    return Edit(start, end, replacement, confidence, alternatives=tuple(map(read_edit, alternatives)))
