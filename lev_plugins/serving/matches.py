"""Edits as the matches of LanguageTool's protocol.

A match shows what it is about. So an edit that only inserts, or only deletes, is widened to the word beside it: what
clients underline and offer is then a word, never nothing. Applying all matches gives what the edits give.
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

AROUND = 40  # characters of context on each side
CUT = "..."
LONGEST_AROUND = 250  # ... of a sentence, which a text without full stops does not end
LONGEST = 60  # letters of a word that may be misspelt


class Rule(NamedTuple):
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
    edit: Edit  # of the plain text, widened
    rule: Rule
    original: int  # where the edit starts in the original

    @property
    def message(self) -> str:
        return f"{self.rule.description} (confidence {self.edit.confidence:.0%})"


def matches(text: Annotated, edited: Edited) -> list[Match]:
    """Edits that touch markup are left out."""
    found: list[Match] = []
    edits, own = edited.edits, Untouchable(edited.protected)
    for i, edit in enumerate(edits):
        place = text.around(edit.start, edit.end)
        if place is None:
            continue
        first = max(place.start, found[-1].edit.end if found else 0)
        last = min(place.end, edits[i + 1].start if i + 1 < len(edits) else place.end)
        old = text.plain[edit.start : edit.end]
        room = Span(first, last)
        shown = widened(text.plain, edit, room, own)
        shown = replace(shown, others=tuple(widened(text.plain, other, room, own) for other in edit.others))
        found.append(Match(shown, rule_of(old, edit.replacement), place.original + shown.start - place.start))
    return found


def widened(text: str, edit: Edit, room: Span, protected: Untouchable) -> Edit:
    """With the word before it or else after it, if it only inserts or only deletes.

    >>> text = "I saw hat"
    >>> widened(text, Edit(6, 6, "a "), Span(0, 9), Untouchable([]))
    Edit(start=2, end=6, replacement='saw a ', confidence=1.0, iteration=1)
    >>> widened(text, Edit(2, 6, ""), Span(2, 9), Untouchable([]))
    Edit(start=2, end=9, replacement='hat', confidence=1.0, iteration=1)
    """
    if edit.start < edit.end and edit.replacement:
        return edit
    before = "".join(next_word(parts_of(text[room.start : edit.start])[::-1])[::-1])
    after = "".join(next_word(parts_of(text[edit.end : room.end])))
    ways = [
        (before, replace(edit, start=edit.start - len(before), replacement=before + edit.replacement)),
        (after, replace(edit, end=edit.end + len(after), replacement=edit.replacement + after)),
    ]
    able = [(word, way) for word, way in ways if word and not protected.touched_by(way)]
    letters = [way for word, way in able if WORD.match(word.strip())]
    return next(iter([*letters, *(way for _, way in able)]), edit)


def next_word(parts: list[str]) -> list[str]:
    """Up to the first that is not blank, in the same line.

    >>> next_word([" ", "hat", " ", "a"]), next_word(["\\n", "hat"]), next_word([" "])
    ([' ', 'hat'], [], [])
    """
    place = next((i for i, part in enumerate(parts) if not part.isspace()), None)
    found = [] if place is None else parts[: place + 1]
    return [] if any(len(f".{part}.".splitlines()) > 1 for part in found) else found


# ---- what kind of mistake --------------------------------------------------------------------------------------------


def rule_of(old: str, new: str) -> Rule:
    """
    >>> [rule_of(*pair).issue for pair in [("teh", "the"), ("go", "goes"), ("hat .", "Hat."), ("", ","), ("", "a ")]]
    ['misspelling', 'grammar', 'typographical', 'typographical', 'grammar']
    """
    if bare_letters(old) == bare_letters(new):
        return TYPOGRAPHY
    if len(parts_of(old)) == len(parts_of(new)) == 1 and WORD.match(old) and WORD.match(new) and close(old, new):
        return SPELLING
    return GRAMMAR


def bare_letters(text: str) -> str:
    return "".join(part for part in parts_of(text) if WORD.match(part)).casefold()


def close(one: str, other: str) -> bool:
    """At most one slip (a letter inserted, deleted, replaced, or swapped with its neighbour), and one more for every
    five letters.

    >>> close("recieve", "receive"), close("cat", "house")
    (True, False)
    """
    length = max(len(one), len(other))
    most = 1 + length // 5
    return length <= LONGEST and OSA.distance(one.casefold(), other.casefold(), score_cutoff=most) <= most


# ---- JSON ------------------------------------------------------------------------------------------------------------


def as_dict(match: Match, text: Annotated, units: Utf16, sentences: Sequence[Span]) -> dict[str, Any]:
    edit, rule, start = match
    end = start + edit.end - edit.start
    offset = units.before(start)
    category = {"id": rule.category, "name": rule.category_name}
    return {
        "message": match.message,
        "shortMessage": rule.short,
        "replacements": [{"value": way.replacement} for way in (edit, *edit.others)],
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
    """The first that the edit touches; of a long one, only what is around the edit.

    >>> sentence_at("I has. He have.", [Span(0, 6), Span(7, 15)], Edit(10, 14, "has"))
    'He have.'
    """
    place = bisect_left(sentences, edit.start, key=lambda sentence: sentence.end)
    found = sentences[place] if place < len(sentences) else None
    if found is None or found.start > edit.end:  # between two sentences
        return text[edit.start : edit.end]
    return text[max(found.start, edit.start - LONGEST_AROUND) : min(found.end, edit.end + LONGEST_AROUND)]


def context(text: str, start: int, end: int) -> dict[str, Any]:
    """
    >>> context("A 😀\\ntset", 4, 8)
    {'text': 'A 😀 tset', 'offset': 5, 'length': 4}
    """
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    before = (CUT if first else "") + text[first:start]
    after = text[end:last] + (CUT if last < len(text) else "")
    shown = re.sub(r"[\n\r\t]", " ", before + text[start:end] + after)
    units, last = Utf16(shown), len(before) + end - start
    offset = units.before(len(before))
    return {"text": shown, "offset": offset, "length": units.before(last) - offset}
