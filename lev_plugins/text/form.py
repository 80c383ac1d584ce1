"""How the text of a model is written: apostrophes, capitals, blanks before punctuation. Its dictionary shows it.

Text of another form is brought into that of the model, character by character, and its edits back. Blanks cannot be:
text with other ones is edited as it is, with a warning.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from rapidfuzz.distance import OSA

from lev_plugins.text.rewrites import NEAR

logger = logging.getLogger(__name__)

TYPEWRITTEN = str.maketrans("\u2019\u2018\u201c\u201d", "''\"\"")
RARE = 0.02  # share of the words with typographic apostrophes, where they count as absent
MANY = 100  # words of a dictionary that can show something
BLANKS = ("▁", "Ġ", " ")  # how pieces say that there is a blank before them
SIGNS = (",", ".")
ENOUGH = 2  # marks in the way of tokenisers, or of people, for a warning: one is a matter of style
JOINED = re.compile(r"\w(?:[,!?](?=\s)|[.!?]$)", re.MULTILINE)  # punctuation at a word, as people write it
APART = re.compile(r"\w [,.!?](?=\s|$)", re.MULTILINE)  # with a blank before it, as tokenisers write it
OTHER_FORM = (  # of a text, for a model whose own is without such blanks, or with them
    "the text has blanks before its punctuation, but this model was trained on text without, so its edits may be "
    "wrong: join them first (in Python with sacremoses' MosesDetokenizer, for example)",
    "the text has no blanks before its punctuation, but this model was trained on tokenised text, so its edits may be "
    "wrong: tokenise it first, or use a model that was trained on plain text",
)


@dataclass(frozen=True)
class Form:
    straight: bool = False  # apostrophes and quotes are those of typewriters
    lower: bool = False  # without capitals
    apart: bool | None = None  # with blanks before punctuation; None: not known

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> "Form":
        """``counts``: the pieces of a dictionary, and how often each occurs.

        >>> Form.of({"▁the": 50, ",": 30, "▁Don't": 3, "▁,": 1})
        Form(straight=True, lower=False, apart=False)
        >>> Form.of({"the": 50, ",": 30, ".": 30, "n't": 3}).apart
        True
        >>> Form.of({"▁the": 1, ",": 1, "▁,": 1}).apart  # that of a pre-trained model, which counts nothing
        """
        typed = sum(count for piece, count in counts.items() if "'" in piece)
        typographic = sum(count for piece, count in counts.items() if "\u2019" in piece)
        words = [piece for piece in counts if any(map(str.isalpha, piece))]
        whole = any(len(word) > 2 and counts[word] for word in words)  # rather than letters
        whole = whole and len(set(counts.values())) > 1
        blank = next((mark for mark in BLANKS if any(piece[:1] == mark and len(piece) > 1 for piece in counts)), "")
        joined = sum(counts.get(sign, 0) for sign in SIGNS)
        apart = sum(counts.get(blank + sign, 0) for sign in SIGNS)
        if not blank:  # words between blanks
            joined = sum(counts[word] for word in words if word.endswith(SIGNS))
        return cls(
            straight=typographic < RARE * typed,
            lower=len(words) >= MANY and all(word == word.lower() for word in words),
            apart=apart > joined if (apart or joined) and whole else None,
        )

    def read(self, text: str) -> str:
        """The text as the model knows it, of the same length.

        >>> Form(straight=True, lower=True).read("It\u2019s Me")
        "it's me"
        """
        if self.straight:
            text = text.translate(TYPEWRITTEN)
        if self.lower:
            text = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
        return text

    def write(self, old: str, new: str, text: str) -> str:
        """What the model wrote instead of ``old``, as it is written in ``text``.

        >>> Form(straight=True, lower=True).write("Dont", "don't", "Dont. It\u2019s me.") == "Don\u2019t"
        True
        """
        if self.straight and "\u2019" in text and "'" not in text:
            new = new.replace("'", "\u2019")
        words, others = old.split(" "), new.split(" ")
        if len(words) == len(others):
            new = " ".join(map(self.cased, words, others))
        return new

    def cased(self, word: str, other: str) -> str:
        """A misspelt word keeps its capitals, also where the dictionary has the right one without.

        >>> [Form().cased(*words) for words in (("Abuot", "about"), ("About", "about"), ("Abuot", "on"))]
        ['About', 'about', 'on']
        """
        near = other.islower() and NEAR < OSA.normalized_similarity(word.lower(), other) < 1
        return in_case_of(word, other) if self.lower or near else other

    def check(self, texts: Sequence[str]) -> None:
        """Warns, once, of text whose punctuation is all written in the other way, such as a tokenised file."""
        counts = [sum(len(sign.findall(text)) for text in texts) for sign in (JOINED, APART)]
        if self.apart is not None and not counts[self.apart] and counts[not self.apart] >= ENOUGH:
            warn_once(OTHER_FORM[self.apart])


@cache
def warn_once(message: str) -> None:
    logger.warning(message)


def in_case_of(word: str, other: str) -> str:
    """
    >>> [in_case_of(word, "the") for word in ("Teh", "TEH", "teh", "tEh", "I")]
    ['The', 'THE', 'the', 'the', 'The']
    """
    if word.isupper() and len(word) > 1:
        return other.upper()
    return other[:1].upper() + other[1:] if word[:1].isupper() else other
