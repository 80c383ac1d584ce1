"""The list of the user's own words, which may be a file."""

import threading
from collections.abc import Sequence
from pathlib import Path

from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.lines import read_lines
from lev_plugins.text.protected import MAX_WORD_CHARS, OwnWords
from lev_plugins.utils.errors import UserError, explain, require
from lev_plugins.utils.files import all_or_nothing

MAX_WORDS = 100_000


class WordList:
    """The user's own words, one per line of a file; without a file, they only last as long as the process."""

    def __init__(self, path: Path | None = None, words: Sequence[str] = ()) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.words = dict.fromkeys(words)
        self.protected = OwnWords(words)
        self.read()

    def read(self) -> None:
        """Reads the file again, as before every change: the user or another server may have written to it."""
        if self.path is not None:
            lines = read_lines(self.path) if self.path.exists() else []
            words = dict.fromkeys(word for line in lines if (word := line.strip()))
            if words != self.words:
                self.protected, self.words = OwnWords(words), words  # in this order: OwnWords may refuse them

    def add(self, word: str) -> bool:
        """Adds a word, and returns whether it was new."""
        word = word.strip(BYTE_ORDER_MARK)
        require(
            0 < len(word) <= MAX_WORD_CHARS, f"word must have 1 to {MAX_WORD_CHARS} characters, but has {len(word):,}"
        )
        require(len(word.split()) == 1 and word == word.strip(), "word must not contain blanks: add one at a time")
        with self.lock:
            self.read()
            require(len(self.words) < MAX_WORDS, f"the list has {MAX_WORDS:,} words and is full: delete some")
            return word not in self.words and self.save({**self.words, word: None})

    def delete(self, word: str) -> bool:
        """Deletes a word, and returns whether it was in the list."""
        word = word.strip(BYTE_ORDER_MARK)
        with self.lock:
            self.read()
            return word in self.words and self.save({entry: None for entry in self.words if entry != word})

    def save(self, words: dict[str, None]) -> bool:
        """Replaces the words, and returns True."""
        protected = OwnWords(words)
        if self.path is not None:
            try:
                with all_or_nothing(self.path) as file:
                    file.writelines(f"{word}\n".encode() for word in words)
            except OSError as error:
                raise UserError(
                    f"the list of words {self.path} cannot be written: {explain(error) or error}"
                ) from error
        self.words, self.protected = words, protected
        return True
