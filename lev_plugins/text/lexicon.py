"""A lexicon: words that exist, and misspellings with their corrections, as a file of one entry per line.

    backends
    definately,definitely
    yeild,yield,yields

An entry of one word is a word that exists, another one a misspelling with its corrections. All words are in small
letters. The file is compressed by gzip, and its lines are in the order of their first words, so a word is found by
bisection, without a table of all words in memory.
"""

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path

from lev_plugins.utils.errors import UserError, require

LEXICON = "lexicon.txt.gz"  # in a data folder and in a model folder
MAX_TEXT_BYTES = 1 << 26  # of the lines; an archive of a stranger may hold any number


class Lexicon:
    """The words of a lexicon.

    >>> lexicon = Lexicon.of_lines(["yield", "Backends", "yeild,yield", "teh,the"])
    >>> lexicon.corrections("yeild"), lexicon.corrections("yield"), lexicon.corrections("yie")
    (['yield'], [], [])
    >>> [lexicon.knows(word) for word in ("backends", "yield", "yeild", "yie")]
    [True, True, False, False]
    """

    def __init__(self, text: str) -> None:
        """``text``: the lines, each with a line break."""
        self.text = text

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> "Lexicon":
        """Reads lines in any order; of several for one word, the last counts."""
        entries = {line.partition(",")[0]: line for line in map(str.lower, lines) if line}
        return cls("".join(f"{entries[word]}\n" for word in sorted(entries)))

    @classmethod
    def read(cls, path: Path) -> "Lexicon":
        try:
            with gzip.open(path) as file:
                lines = file.read(MAX_TEXT_BYTES + 1)
            require(len(lines) <= MAX_TEXT_BYTES, f"{path} has more than {MAX_TEXT_BYTES:,} bytes of text: shorten it")
            return cls(lines.decode())
        except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
            raise UserError(f"{path} is not a lexicon, which is UTF-8 text compressed by gzip: {error}") from error

    def write(self, path: Path) -> None:
        path.write_bytes(gzip.compress(self.text.encode(), mtime=0))

    def entry(self, word: str) -> list[str]:
        """Returns the entry of a word in small letters: the word, and if it is a misspelling, its corrections."""
        low, high = 0, len(self.text)
        while low < high:
            start = self.text.rfind("\n", low, (low + high) // 2) + 1 or low
            end = self.text.find("\n", start, high)
            end = high if end < 0 else end
            entry = self.text[start:end].split(",")
            if entry[0] == word:
                return entry
            low, high = (end + 1, high) if entry[0] < word else (low, start)
        return []

    def knows(self, word: str) -> bool:
        return len(self.entry(word)) == 1

    def corrections(self, word: str) -> list[str]:
        """Returns the corrections of a misspelling."""
        return self.entry(word)[1:]
