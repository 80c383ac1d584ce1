"""How the training text of a model was written: apostrophes, capitals, blanks before punctuation.

The dictionary shows it. Text of another style is converted character by character before the model reads it, and the
edits are converted back. Blanks are not converted: text with other blanks is edited as it is, with a warning.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from rapidfuzz.distance import OSA

from lev_plugins.text.rewrites import SIMILAR

logger = logging.getLogger(__name__)

APOSTROPHES = "\u2019\u02bc"  # U+02BC is the apostrophe of Ukrainian as Unicode has it
TO_STRAIGHT = str.maketrans(f"{APOSTROPHES}\u2018\u201c\u201d", "'''\"\"")
MAX_CURLY = 0.02  # share of apostrophes that are curly in text with straight ones
MIN_WORDS = 100  # words that a dictionary must have to show that all are in lower case
BLANK_MARKS = ("▁", "Ġ", " ")  # how pieces say that there is a blank before them
PUNCTUATION = (",", ".")
MIN_MISMATCHES = 2  # of punctuation, for a warning: a single one is a matter of taste
JOINED = re.compile(r"\w(?:[,!?](?=\s)|[.!?]$)", re.MULTILINE)  # punctuation right behind a word, as people write it
APART = re.compile(r"\w [,.!?](?=\s|$)", re.MULTILINE)  # punctuation behind a blank, as tokenisers write it
WARNINGS = {  # by the ``spaced_punctuation`` of the model
    False: "the text has blanks before its punctuation, but this model was trained on text without, so its edits may "
    "be wrong: join them first (in Python with sacremoses' MosesDetokenizer, for example)",
    True: "the text has no blanks before its punctuation, but this model was trained on tokenised text, so its edits "
    "may be wrong: tokenise it first, or use a model that was trained on plain text",
}


@dataclass(frozen=True)
class TextStyle:
    """The style of a model's text; config.json stores it as ``text_style``."""

    straight_quotes: bool = False  # apostrophes and quotes are straight
    lowercase: bool = False  # all letters are small
    spaced_punctuation: bool | None = None  # there are blanks before punctuation; None: unknown

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> "TextStyle":
        """Reads the style from the pieces of a dictionary, and how often each occurs.

        >>> TextStyle.of({"▁the": 50, ",": 30, "▁Don't": 3, "▁,": 1})
        TextStyle(straight_quotes=True, lowercase=False, spaced_punctuation=False)
        >>> TextStyle.of({"the": 50, ",": 30, ".": 30, "n't": 3}).spaced_punctuation
        True
        >>> TextStyle.of({"▁the": 1, ",": 1, "▁,": 1}).spaced_punctuation  # of a pre-trained model, which has no counts
        """
        straight = sum(count for piece, count in counts.items() if "'" in piece)
        curly = sum(count for piece, count in counts.items() if not set(APOSTROPHES).isdisjoint(piece))
        words = [piece for piece in counts if any(map(str.isalpha, piece))]
        has_words = any(len(word) > 2 and counts[word] for word in words)  # rather than letters
        has_counts = len(set(counts.values())) > 1
        blank = next(
            (mark for mark in BLANK_MARKS if any(piece[:1] == mark and len(piece) > 1 for piece in counts)), ""
        )
        joined = sum(counts.get(sign, 0) for sign in PUNCTUATION)
        separate = sum(counts.get(blank + sign, 0) for sign in PUNCTUATION)
        if not blank:  # pieces are what stands between blanks
            joined = sum(counts[word] for word in words if word.endswith(PUNCTUATION))
        return cls(
            straight_quotes=curly < MAX_CURLY * straight,
            lowercase=len(words) >= MIN_WORDS and all(word == word.lower() for word in words),
            spaced_punctuation=separate > joined if (separate or joined) and has_words and has_counts else None,
        )

    def read(self, text: str) -> str:
        """Converts a text to the style of the model; its length stays the same.

        >>> TextStyle(straight_quotes=True, lowercase=True).read("It\u2019s Me")
        "it's me"
        """
        if self.straight_quotes:
            text = text.translate(TO_STRAIGHT)
        if self.lowercase:
            text = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
        return text

    def write(self, original: str, replacement: str, text: str) -> str:
        """Converts what the model wrote in place of ``original`` to the style of ``text``.

        >>> style = TextStyle(straight_quotes=True, lowercase=True)
        >>> style.write("Dont", "don't", "Dont. It\u2019s me.") == "Don\u2019t"
        True
        >>> style.write("\u043f\u02bc", "'", "\u02bc") == "\u02bc"  # the apostrophe of the text
        True
        """
        curly = next((sign for sign in APOSTROPHES if sign in text), None)
        if self.straight_quotes and curly and "'" not in text:
            replacement = replacement.replace("'", curly)
        originals, replacements = original.split(" "), replacement.split(" ")
        if len(originals) == len(replacements):
            return " ".join(map(self.with_capitals, originals, replacements))
        return replacement

    def with_capitals(self, word: str, replacement: str) -> str:
        """Keeps the capitals of a misspelt word, also if the dictionary has the right word in small letters alone.

        >>> [TextStyle().with_capitals(*words) for words in (("Abuot", "about"), ("About", "about"), ("Abuot", "on"))]
        ['About', 'about', 'on']
        """
        is_spelling = replacement.islower() and SIMILAR < OSA.normalized_similarity(word.lower(), replacement) < 1
        return in_case_of(word, replacement) if self.lowercase or is_spelling else replacement

    def check(self, texts: Sequence[str]) -> None:
        """Warns, once, of texts whose punctuation is all written in the other way, as in a tokenised file."""
        if self.spaced_punctuation is None:
            return
        patterns = {False: JOINED, True: APART}  # by ``spaced_punctuation``
        counts = {style: sum(len(p.findall(text)) for text in texts) for style, p in patterns.items()}
        if not counts[self.spaced_punctuation] and counts[not self.spaced_punctuation] >= MIN_MISMATCHES:
            warn_once(WARNINGS[self.spaced_punctuation])


@cache
def warn_once(message: str) -> None:
    logger.warning(message)


def in_case_of(word: str, replacement: str) -> str:
    """Writes a replacement with the capitals of a word.

    >>> [in_case_of(word, "the") for word in ("Teh", "TEH", "teh", "tEh", "I")]
    ['The', 'THE', 'the', 'the', 'The']
    """
    if word.isupper() and len(word) > 1:
        return replacement.upper()
    return replacement[:1].upper() + replacement[1:] if word[:1].isupper() else replacement
