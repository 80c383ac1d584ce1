"""Puts the terms of a glossary into a draft: a mark protects those that it has, and those that it lacks are added.

A missing term goes before a word, after the last one, or in place of one to three words. The model reads the draft with
the term in each of these places, and the one in which it would edit the text least is best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import regex
from rapidfuzz.distance import OSA

from lev_plugins.data.drafts.marks import Mark, parse_marks, with_marks
from lev_plugins.text.edited import UNSPACED, Edit, Edited, Span, Term, apply, follow
from lev_plugins.text.glossary import find_terms, in_place

MAX_REPLACED = 3  # words that a term may replace
MAX_CANDIDATES, MAX_READINGS = 120, 480  # places that the model compares for a term, and for all terms of a draft
SIMILARITY_BONUS = 5.0  # in nats, for a term in place of words that are spelt like it
CHUNK = regex.compile(rf"(?V1)[{UNSPACED}]\p{{M}}*+|[[^\s]--[{UNSPACED}]]+")
UNSPACED_SIGN = regex.compile(rf"(?V1)[{UNSPACED}]")
INNER = regex.compile(r"\P{P}(?:.*\P{P})?", regex.S)

Fits = Callable[[list[str]], Sequence[float]]  # returns how little a model would edit each text


class TermDraft(NamedTuple):
    """A text or draft with the terms of its source."""

    original: str  # before the terms were put into it, without marks
    edits: Sequence[Edit]  # that put them into it
    text: str
    marks: Sequence[Mark]  # also of the terms
    spans: Sequence[Span]  # of the terms that no edit may touch
    terms: Sequence[Term]

    @property
    def line(self) -> str:
        """The text with its marks."""
        return with_marks(self.text, self.marks)

    def followed_by(self, edited: Edited) -> Edited:
        """Returns the edits of the original: those of the terms, and those of the text."""
        return replace(follow(self.original, self.edits, edited), terms=tuple(self.terms))


def with_replaced_terms(
    text: str, terms: Sequence[tuple[Span, Term]], protected: Sequence[Span], kind: str
) -> TermDraft:
    """Replaces terms in their source, but not a part of something that is protected, such as an address."""
    terms = [
        (span, term)
        for span, term in terms
        if not any(overlap(span, other) and not covers(span, other) for other in protected)
    ]
    edits = [Edit(*span, in_place(text, span.start, term.target)) for span, term in terms]
    return put_terms(text, [], [], edits, kind, [term for _, term in terms])


def with_terms(draft: str, terms: Sequence[Term], kind: str, fits: Fits) -> TermDraft:
    """Puts the terms of a source into its draft, which may have marks.

    kind: of the marks of the terms
    fits: scores the drafts by the model
    """
    text, marks = parse_marks(draft)
    spans = list[Span]()
    present, missing = find_terms(terms, text)
    for span, term in present:
        touching = [mark for mark in marks if overlap(span, mark)]
        if all(mark.kind == "!" and covers(mark, span) for mark in touching):
            spans.append(span)
            marks += [] if touching else [Mark(kind, *span)]
        else:  # its words do not all stay
            missing.append(term)
    limit = max(1, min(MAX_CANDIDATES, MAX_READINGS // max(1, len(missing))))
    proposals = [(which, edit) for which, term in enumerate(missing) for edit in candidates(text, marks, term)[:limit]]
    scores = fits([apply(text, [edit]) for _, edit in proposals]) if proposals else []
    ranked = sorted(zip(scores, proposals, strict=True), key=lambda row: -row[0] - similarity(text, row[1][1]))
    chosen: dict[int, Edit] = {}  # for each missing term
    for _, (which, edit) in ranked:
        others = chosen.values()
        if which not in chosen and edit not in others and not any(overlap(edit, other) for other in others):
            chosen[which] = edit
    for which, term in enumerate(missing):  # more terms than places
        chosen.setdefault(which, candidates(text, marks, term)[0])
    edits = sorted(chosen.values())
    if edits and not text:
        edits[-1] = replace(edits[-1], replacement=edits[-1].replacement.rstrip())
    return put_terms(text, marks, spans, edits, kind, terms)


def candidates(text: str, marks: Sequence[Mark], term: Term) -> list[Edit]:
    """Returns the edits that put a term into a text without changing marked words, those at its likely place first.

    >>> edits = candidates("ein rotes Haus .", [Mark("!", 0, 3)], Term("hat", "Hut", place=0.5))
    >>> [apply("ein rotes Haus .", [edit]) for edit in edits]
    ['ein Hut .', 'ein Hut Haus .', 'ein rotes Hut Haus .', 'ein Hut rotes Haus .', 'ein rotes Hut .', \
'ein rotes Haus Hut .', 'ein rotes Haus Hut .', 'Hut ein rotes Haus .']
    """
    words = list(inner_words(text))
    plain = [word for word in words if INNER.search(text[word.start : word.end])]
    edits = [Edit(at, at, term.target + blank(text, at)) for at, _ in words]
    edits += [Edit(at, at, blank(text, at) + term.target) for _, at in plain[-1:]]
    for count in range(1, MAX_REPLACED + 1):
        for run in (plain[i : i + count] for i in range(len(plain) - count + 1)):
            if not any(text[left.end : right.start].strip() for left, right in pairwise(run)):  # no punctuation
                edits.append(Edit(run[0].start, run[-1].end, term.target))
    free = [edit for edit in edits if not any(overlap(edit, mark) for mark in marks)] or [Edit(0, 0, f"{term.target} ")]
    free.sort(key=lambda edit: abs(edit.start + edit.end - 2 * term.place * len(text)))
    return free


def inner_words(text: str) -> Iterator[Span]:
    """Yields the words of a text without the punctuation around them, and punctuation between blanks.

    >>> text = '("ein Hut .'
    >>> [text[start:end] for start, end in inner_words(text)]
    ['ein', 'Hut', '.']
    """
    for chunk in CHUNK.finditer(text):
        inner = INNER.search(chunk[0]) or regex.search(r".+", chunk[0])
        yield Span(chunk.start() + inner.start(), chunk.start() + inner.end())


def blank(text: str, place: int) -> str:
    """Returns what separates a further word from the one at this place: nothing in Chinese, for example."""
    return "" if UNSPACED_SIGN.search(text[max(0, place - 1) : place + 1]) else " "


def similarity(text: str, edit: Edit) -> float:
    """Returns what a term gains in place of words that are spelt like it, such as an inflected form."""
    return SIMILARITY_BONUS * OSA.normalized_similarity(text[edit.start : edit.end].lower(), edit.replacement.lower())


def overlap(span: Span | Edit | Mark, other: Span | Edit | Mark) -> bool:
    """Returns whether two places have a character in common, or one is inside the other.

    >>> overlap(Span(0, 3), Span(2, 4)), overlap(Span(2, 2), Span(0, 3)), overlap(Span(3, 3), Span(0, 3))
    (True, True, False)
    """
    return span.start < other.end and other.start < span.end


def covers(span: Span | Mark, other: Span) -> bool:
    return span.start <= other.start and other.end <= span.end


def put_terms(
    text: str,
    marks: Sequence[Mark],
    spans: Sequence[Span],
    edits: Sequence[Edit],
    kind: str,
    terms: Sequence[Term] = (),
) -> TermDraft:
    """Returns a text after edits that put terms into it; it has marks, and some terms at ``spans`` already.

    >>> put_terms("ein Haus", [Mark("-", 4, 8)], [], [Edit(4, 4, "Hut ")], "!").line
    'ein ⟦!Hut⟧ ⟦-Haus⟧'
    """

    def shift(place: int) -> int:
        return sum(len(edit.replacement) - (edit.end - edit.start) for edit in edits if edit.end <= place)

    all_marks = [Mark(mark.kind, mark.start + shift(mark.start), mark.end + shift(mark.start)) for mark in marks]
    all_spans = [Span(start + shift(start), end + shift(start)) for start, end in spans]
    grown = 0  # by the edits so far
    for edit in edits:
        target = edit.replacement.strip()
        start = edit.start + grown + edit.replacement.index(target)
        all_spans.append(Span(start, start + len(target)))
        all_marks.append(Mark(kind, *all_spans[-1]))
        grown += len(edit.replacement) - (edit.end - edit.start)
    return TermDraft(text, edits, apply(text, edits), all_marks, all_spans if kind == "!" else [], terms)
