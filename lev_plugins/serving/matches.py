"""Edits as the matches of LanguageTool's protocol.

Clients underline a match and offer its replacements. So an edit that only inserts or only deletes is widened by a
neighbouring word, because an empty match or replacement could not be shown. Applying all matches has the same result as
applying all edits.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rapidfuzz.distance import OSA

from lev_plugins.serving.annotated import Annotated, Utf16
from lev_plugins.text.edited import WORD, Edit, Edited, Span, parts_of
from lev_plugins.text.protected import Untouchable

CONTEXT_CHARS = 40  # on each side of a match
SENTENCE_CHARS = 250  # on each side of a match: a text without full stops is one long sentence
ELLIPSIS = "..."
MAX_WORD = 60  # letters of a word that counts as misspelt


class Rule(NamedTuple):
    """A kind of mistake, as LanguageTool's protocol describes it."""

    id: str
    issue: str
    category: str
    category_name: str
    description: str
    short: str
    type: str


SPELLING = Rule(
    *("LEV_SPELLING", "misspelling", "TYPOS", "Possible typo"),
    *("Possible spelling mistake", "Spelling mistake", "UnknownWord"),
)
GRAMMAR = Rule("LEV_GRAMMAR", "grammar", "GRAMMAR", "Grammar", "Possible mistake", "Possible mistake", "Other")
TYPOGRAPHY = Rule(
    *("LEV_TYPOGRAPHY", "typographical", "TYPOGRAPHY", "Typography"),
    *("Punctuation, capitals or blanks", "Typography", "Other"),
)


class Match(NamedTuple):
    """An edit as clients show it."""

    edit: Edit  # of the plain text, widened
    rule: Rule
    original: int  # where the edit starts in the original

    @property
    def message(self) -> str:
        return f"{self.rule.description} (confidence {self.edit.confidence:.0%})"


def matches(text: Annotated, edited: Edited) -> list[Match]:
    """Return a match for each edit that touches no markup."""
    results: list[Match] = []
    edits, untouchable = edited.edits, Untouchable(edited.protected)
    for i, edit in enumerate(edits):
        place = text.around(edit.start, edit.end)
        if place is None:
            continue
        start = max(place.start, results[-1].edit.end if results else 0)
        end = min(place.end, edits[i + 1].start if i + 1 < len(edits) else place.end)
        room = Span(start, end)
        alternatives = tuple(widened(text.plain, way, room, untouchable) for way in edit.alternatives)
        wide = replace(widened(text.plain, edit, room, untouchable), alternatives=alternatives)
        rule = rule_of(text.plain[edit.start : edit.end], edit.replacement)
        results.append(Match(wide, rule, place.original + wide.start - place.start))
    return results


def widened(text: str, edit: Edit, room: Span, protected: Untouchable) -> Edit:
    """Return the edit; if it only inserts or only deletes, with the word before it, or else the one after it.

    ``room``: the part of the text that the edit may cover

    >>> text = "I saw hat"
    >>> widened(text, Edit(6, 6, "a "), Span(0, 9), Untouchable([]))
    Edit(start=2, end=6, replacement='saw a ', confidence=1.0, iteration=1)
    >>> widened(text, Edit(2, 6, ""), Span(2, 9), Untouchable([]))
    Edit(start=2, end=9, replacement='hat', confidence=1.0, iteration=1)
    """
    if edit.start < edit.end and edit.replacement:
        return edit
    left = "".join(next_word(parts_of(text[room.start : edit.start])[::-1])[::-1])
    right = "".join(next_word(parts_of(text[edit.end : room.end])))
    options = [
        (left, replace(edit, start=edit.start - len(left), replacement=left + edit.replacement)),
        (right, replace(edit, end=edit.end + len(right), replacement=edit.replacement + right)),
    ]
    options = [(word, wide) for word, wide in options if word and not protected.touched_by(wide)]
    options.sort(key=lambda option: WORD.match(option[0].strip()) is None)  # words go before punctuation
    return options[0][1] if options else edit


def next_word(parts: list[str]) -> list[str]:
    """Return the parts up to the first one that is not blank; none if a line ends before it.

    >>> next_word([" ", "hat", " ", "a"]), next_word(["\\n", "hat"]), next_word([" "])
    ([' ', 'hat'], [], [])
    """
    place = next((i for i, part in enumerate(parts) if not part.isspace()), -1)
    word = parts[: place + 1]
    return [] if any(len(f".{part}.".splitlines()) > 1 for part in word) else word


# ---- what kind of mistake --------------------------------------------------------------------------------------------


def rule_of(original: str, replacement: str) -> Rule:
    """Return the kind of mistake that an edit repairs.

    >>> [rule_of(*pair).issue for pair in [("teh", "the"), ("go", "goes"), ("hat .", "Hat."), ("", ","), ("", "a ")]]
    ['misspelling', 'grammar', 'typographical', 'typographical', 'grammar']
    """
    if casefolded_letters(original) == casefolded_letters(replacement):
        return TYPOGRAPHY
    one_word = all(len(parts_of(text)) == 1 and WORD.match(text) for text in (original, replacement))
    return SPELLING if one_word and similar(original, replacement) else GRAMMAR


def casefolded_letters(text: str) -> str:
    """Return the text without case, blanks and punctuation."""
    return "".join(part for part in parts_of(text) if WORD.match(part)).casefold()


def similar(word: str, other_word: str) -> bool:
    """Return whether the words differ by at most one slip, and one more for every five letters.

    A slip is a letter inserted, deleted, replaced, or swapped with its neighbour.

    >>> similar("recieve", "receive"), similar("cat", "house")
    (True, False)
    """
    length = max(len(word), len(other_word))
    slips = 1 + length // 5
    return length <= MAX_WORD and OSA.distance(word.casefold(), other_word.casefold(), score_cutoff=slips) <= slips


# ---- JSON ------------------------------------------------------------------------------------------------------------


def as_dict(match: Match, text: Annotated, units: Utf16, sentences: Sequence[Span]) -> dict[str, Any]:
    """Return a match as an object of the protocol."""
    edit, rule, start = match
    end = start + edit.end - edit.start
    offset = units.before(start)
    category = {"id": rule.category, "name": rule.category_name}
    return {
        "message": match.message,
        "shortMessage": rule.short,
        "replacements": [{"value": way.replacement} for way in (edit, *edit.alternatives)],
        "offset": offset,
        "length": units.before(end) - offset,
        "context": context(text.original, start, end),
        "sentence": sentence_at(text.plain, sentences, edit),
        "type": {"typeName": rule.type},
        "rule": {"id": rule.id, "description": rule.description, "issueType": rule.issue, "category": category},
        "ignoreForIncompleteSentence": False,
        "contextForSureMatch": 0,
    }


def sentence_at(text: str, sentences: Sequence[Span], edit: Edit) -> str:
    """Return the first sentence that the edit touches; of a long one, only the text around the edit.

    >>> sentence_at("I has. He have.", [Span(0, 6), Span(7, 15)], Edit(10, 14, "has"))
    'He have.'
    """
    place = bisect_left(sentences, edit.start, key=lambda sentence: sentence.end)
    sentence = sentences[place] if place < len(sentences) else None
    if sentence is None or sentence.start > edit.end:  # between two sentences
        return text[edit.start : edit.end]
    return text[max(sentence.start, edit.start - SENTENCE_CHARS) : min(sentence.end, edit.end + SENTENCE_CHARS)]


def context(text: str, start: int, end: int) -> dict[str, Any]:
    """Return the text around a match on one line, and where the match is in it.

    >>> context("A 😀\\ntset", 4, 8)
    {'text': 'A 😀 tset', 'offset': 5, 'length': 4}
    """
    left = text[max(0, start - CONTEXT_CHARS) : start]
    if start > CONTEXT_CHARS:
        left = ELLIPSIS + left
    right = text[end : end + CONTEXT_CHARS]
    if end + CONTEXT_CHARS < len(text):
        right += ELLIPSIS
    line = re.sub(r"[\n\r\t]", " ", left + text[start:end] + right)
    units = Utf16(line)
    offset = units.before(len(left))
    return {"text": line, "offset": offset, "length": units.before(len(left) + end - start) - offset}
