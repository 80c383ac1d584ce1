"""The list of the user's own words, which may be a file."""

import threading
from pathlib import Path

from lev_plugins.errors import UserError, explain, require
from lev_plugins.files import all_or_nothing
from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.lines import read_lines
from lev_plugins.text.protected import LONGEST, OwnWords

MOST_WORDS = 100_000


class WordList:
    """The user's own words, one per line of a file; without a file, they are forgotten at the end."""

    def __init__(self, path: Path | None = None):
        self.path = path
        self.lock = threading.Lock()
        self.words: dict[str, None] = {}
        self.protected = OwnWords(())
        self.read()

    def read(self) -> None:
        """Again before every change: the user, or another server, may have written to the file."""
        if self.path is not None:
            lines = read_lines(self.path) if self.path.exists() else []
            words = dict.fromkeys(word for line in lines if (word := line.strip()))
            if words != self.words:
                self.protected, self.words = OwnWords(words), words  # in this order: the first may be refused

    def add(self, word: str) -> bool:
        """Was it new?"""
        word = word.strip(BYTE_ORDER_MARK)
        require(0 < len(word) <= LONGEST, f"word must have 1 to {LONGEST} characters, but has {len(word):,}")
        require(len(word.split()) == 1 and word == word.strip(), "word must not contain blanks: add one at a time")
        with self.lock:
            self.read()
            require(len(self.words) < MOST_WORDS, f"the list has {MOST_WORDS:,} words and is full: delete some")
            return word not in self.words and self.save({**self.words, word: None})

    def delete(self, word: str) -> bool:
        """Was it there?"""
        word = word.strip(BYTE_ORDER_MARK)
        with self.lock:
            self.read()
            return word in self.words and self.save({each: None for each in self.words if each != word})

    def save(self, words: dict[str, None]) -> bool:
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
