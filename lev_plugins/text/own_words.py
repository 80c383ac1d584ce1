"""The user's own words, which no edit may touch."""

import threading
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any
from unicodedata import normalize

from lev_plugins.errors import UserError, explain, require
from lev_plugins.files import all_or_nothing
from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.edited import Span, parts_of
from lev_plugins.text.lines import read_lines

MOST_WORDS = 100_000
LONGEST = 200  # characters
END = None  # in a tree of parts


class Protected:
    """
    >>> [text[a:b] for text in ["Tehran, teh tehs"] for a, b in Protected(["teh", "Tehran,"]).spans(text)]
    ['Tehran,', 'teh']
    """

    def __init__(self, words: Iterable[str]):
        self.next: dict[Any, Any] = {}  # a tree: the parts that may follow a part; END: here ends a word
        for word in words:
            require(
                len(word) <= LONGEST, f"a word must have at most {LONGEST} characters, but {word[:20]!r}... has more"
            )
            for spelling in (word, word[:1].upper() + word[1:]):  # as at the start of a sentence
                node = self.next
                for part in parts_of(spelling.strip()):
                    node = node.setdefault(normalize("NFC", part), {})
                node[END] = {}

    def spans(self, text: str) -> list[Span]:
        """Where they are, as whole words; of those that begin at one place, the longest."""
        if not self.next:
            return []
        parts = parts_of(text)
        places = [0, *accumulate(map(len, parts))]
        composed = [normalize("NFC", part) for part in parts]  # macOS writes letters and their accents apart
        ends = [self.end(composed, i) for i in range(len(parts))]
        return [Span(places[i], places[end]) for i, end in enumerate(ends) if end > i]

    def end(self, parts: Sequence[str], start: int) -> int:
        """Behind the longest word that begins with the part ``start``; ``start`` if none does."""
        node, found = self.next, start
        for i in range(start, len(parts)):
            if parts[i] not in node:
                break
            node = node[parts[i]]
            if END in node:
                found = i + 1
        return found


class WordList:
    """The user's own words, one per line of a file; without a file, they are forgotten at the end."""

    def __init__(self, path: Path | None = None):
        self.path = path
        self.lock = threading.Lock()
        self.words: dict[str, None] = {}
        self.protected = Protected(())
        self.read()

    def read(self) -> None:
        """Again before every change: the user, or another server, may have written to the file."""
        if self.path is not None:
            lines = read_lines(self.path) if self.path.exists() else []
            words = dict.fromkeys(word for line in lines if (word := line.strip()))
            if words != self.words:
                self.protected, self.words = Protected(words), words  # in this order: the first may be refused

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
        protected = Protected(words)
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
