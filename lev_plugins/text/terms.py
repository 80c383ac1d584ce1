"""Puts the terms of a glossary into a draft: marks protect those that it has, and those that it lacks are added.

A missing term goes before or after a word, or in place of one or two words. The model reads the draft with the term
in each of these places, and the one in which it would edit the text least is best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import regex
from rapidfuzz.distance import OSA

from lev_plugins.text.edited import UNSPACED, Edit, Span, Term, apply
from lev_plugins.text.glossary import find_terms
from lev_plugins.text.marks import MARKED, escape, parse_marks

MAX_REPLACED = 2  # words that a term may replace
MAX_PLACES = 16  # for a term, those nearest to its place in the source
MAX_READ = 20_000  # characters that the model reads to compare the places of all missing terms of a draft
SIMILARITY_BONUS = 10.0  # in nats, for a term in place of words that are spelt like it
DRAFT_MARK = regex.compile(r"(?<!\\)(?:\\\\)*+⟦([!~+-])((?:\\.|[^\\⟧])*+)⟧")
PLACE_WORD = regex.compile(rf"(?V1)[{UNSPACED}]\p{{M}}*+|[\w--[{UNSPACED}]](?:[\S--[{UNSPACED}]]*[\w--[{UNSPACED}]])?")
UNSPACED_SIGN = regex.compile(rf"(?V1)[{UNSPACED}]")
MASK_CHAR = "\n"  # hides a part of a draft


def with_terms(
    draft: str, terms: Sequence[Term], kind: str, fits: Callable[[list[str]], Sequence[float]]
) -> tuple[str, list[Edit]]:
    """Returns a draft with its terms, and the edits of the draft without marks that put in those that it lacks.

    draft: with or without marks
    terms: those of its source
    kind: of the marks of the terms: "!" or "~"
    fits: returns the log-probability of each text needing no edit

    >>> with_terms("ein Haus", [Term("hat", "Hut"), Term("house", "Haus")], "!", lambda texts: [-len(t) for t in texts])
    ('⟦!Hut⟧ ⟦!Haus⟧', [Edit(start=0, end=3, replacement='Hut', confidence=1.0, iteration=1)])
    """
    line, edits = draft if MARKED.search(draft) else escape(plain(draft)), list[Edit]()
    places = places_for_term(DRAFT_MARK.sub(lambda match: MASK_CHAR * len(match[0]), line))
    present, missing = find_terms(terms, DRAFT_MARK.sub(hide_mark, line))
    marked = {
        span for match in DRAFT_MARK.finditer(line) for span in present if match.start() < span.start < match.end()
    }
    unmarked = (span for span in present if span not in marked and not is_after_slash(line, span))
    marks = [Edit(*span, f"⟦{kind}{line[slice(*span)]}⟧") for span in unmarked]
    for term in missing:
        middle, mark = 2 * term.place * len(line), f"⟦{kind}{escape(term.target)}⟧"
        obstacles: list[Span | Edit] = [*edits, *present]
        nearest_first = sorted(places, key=lambda place: abs(sum(place) - middle))
        free = (place for place in nearest_first if not any(overlap(place, obstacle) for obstacle in obstacles))
        count = max(1, min(MAX_PLACES, MAX_READ // len(missing) // max(1, len(line))))
        options = [edit_at(line, place, mark) for place in islice(free, count)]
        # a draft without words has no places
        options = options or [Edit(0, 0, f"{mark} " if line.strip() or edits else mark)]
        scores = fits([plain(apply(line, in_order([edit, *edits]))) for edit in options])
        gains = [OSA.normalized_similarity(line[e.start : e.end].lower(), term.target.lower()) for e in options]
        best = max(range(len(options)), key=lambda i: scores[i] + SIMILARITY_BONUS * gains[i])
        edits.insert(0, options[best])
    spans = (Span(*(len(plain(line[:place])) for place in (edit.start, edit.end))) for edit in in_order(edits))
    of_plain = [Edit(*span, plain(edit.replacement)) for span, edit in zip(spans, in_order(edits), strict=True)]
    return apply(line, in_order([*edits, *marks])), of_plain


def places_for_term(text: str) -> list[Span]:
    """Returns the places before and after the words of a text, and those of one or two words.

    >>> places_for_term("a b.")
    [Span(start=0, end=0), Span(start=0, end=1), Span(start=0, end=3), Span(start=1, end=1), Span(start=2, end=2), \
Span(start=2, end=3), Span(start=3, end=3)]
    """
    words = [Span(*match.span()) for match in PLACE_WORD.finditer(text)]
    places = {Span(place, place) for word in words for place in word}
    for i, word in enumerate(words):
        for behind in words[i : i + MAX_REPLACED]:
            if not PLACE_WORD.sub("", text[word.start : behind.end]).strip(
                " \t\u00a0"
            ):  # neither punctuation nor hidden
                places.add(Span(word.start, behind.end))
    return sorted(place for place in places if not is_after_slash(text, place))


def edit_at(text: str, place: Span, term: str) -> Edit:
    """Returns the edit that puts a term into a place of a text, with blanks unless its script has none."""
    if UNSPACED_SIGN.search(text[max(0, place.start - 1) : place.end + 1]):
        return Edit(*place, term if UNSPACED_SIGN.search(term) else f" {term} ")
    if place.start < place.end:
        return Edit(*place, term)
    return Edit(*place, f"{term} " if PLACE_WORD.match(text, place.start) else f" {term}")


def hide_mark(match: regex.Match[str]) -> str:
    """Hides a mark: what is in it may not stay, unless the mark is hard."""
    inside = match[2] if match[1] == "!" else MASK_CHAR * len(match[2])
    return MASK_CHAR * (match.start(2) - match.start()) + inside + MASK_CHAR


def is_after_slash(text: str, place: Span) -> bool:
    """Returns whether a mark in this place would be ordinary text."""
    return text[: place.start].endswith("\\")


def plain(line: str) -> str:
    return parse_marks(line)[0]


def overlap(place: Span, obstacle: Span | Edit) -> bool:
    return place.start < obstacle.end and obstacle.start < place.end


def in_order(edits: Sequence[Edit]) -> list[Edit]:
    return sorted(edits, key=lambda edit: (edit.start, edit.end))
