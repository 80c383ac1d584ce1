"""``--bpe words``: every run of letters and digits and every sign is a token; ▁ stands for the blank before it."""

from collections.abc import Iterator
from dataclasses import dataclass

import regex
from fairseq.data.encoders import register_bpe
from fairseq.dataclass import FairseqDataclass

BLANK = "▁"
# and digits: w8rd is one word; vowel signs, accents of their own and joiners go on with a word
LETTERS = r"[\p{L}\p{N}][\p{L}\p{N}\p{M}\u200c\u200d]*"
WORD = regex.compile(rf"{LETTERS}(?:['\u2019]{LETTERS})*|[^\s\x1c-\x1f]")  # white space as str.split has it


@dataclass
class WordsConfig(FairseqDataclass):
    pass


@register_bpe("words", dataclass=WordsConfig)
class Words:
    """Signs are tokens of their own, so that a word is the same before a comma and before a blank.

    >>> Words().encode("Don't (ever) go."), Words().decode("▁Don't ▁( ever ) ▁go .")
    ("▁Don't ▁( ever ) ▁go .", "Don't (ever) go.")
    """

    def __init__(self, *args: object) -> None:
        pass

    def encode(self, x: str) -> str:
        """As with sentencepiece, the first word has a blank before it."""
        return " ".join(piece for piece, _ in words_with_places(x.strip()))

    def decode(self, x: str) -> str:
        return x.replace(" ", "").replace(BLANK, " ").strip()


def words_with_places(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The first word, and each after white space, begins with ▁.

    >>> list(words_with_places("a cat."))
    [('▁a', (0, 1)), ('▁cat', (2, 5)), ('.', (5, 6))]
    >>> [word for word, _ in words_with_places("हिन्दी में")]
    ['▁हिन्दी', '▁में']
    """
    end = -1
    for found in WORD.finditer(text):
        yield f"{BLANK}{found[0]}" if found.start() > end else found[0], found.span()
        end = found.end()
