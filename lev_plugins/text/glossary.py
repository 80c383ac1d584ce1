"""Glossaries: terms, and the translations that an edited text must have for them.

A term counts where the source has it as whole words, as it is written in the glossary or with a capital at the start of
a sentence; not inflected, and not in other capitals. Where two terms overlap, the longer one counts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lev_plugins.errors import at_line, require
from lev_plugins.text.edited import WORD, Edited, Span, Term
from lev_plugins.text.lines import read_lines
from lev_plugins.text.protected import OwnWords, capitalised

SENTENCE_ENDS = frozenset(".!?:…\u3002\uff01\uff1f\n")


class Glossary:
    """Terms with their translations."""

    def __init__(self, terms: Mapping[str, str], soft: bool = False) -> None:
        """
        terms: the translation of each term
        soft: a model may change the translations where it is sure
        """
        self.terms, self.soft, self.mark = terms, soft, "~" if soft else "!"
        self.sources = OwnWords(terms)

    @classmethod
    def read(cls, path: Path, soft: bool = False) -> Glossary:
        require(path.is_file(), f"--glossary: there is no file {path}")
        return cls.parse(read_lines(path), str(path), soft)

    @classmethod
    def parse(cls, lines: Iterable[str], name: str, soft: bool = False) -> Glossary:
        """Reads lines ``source term TAB target term``; empty ones are skipped. Errors begin with the name.

        >>> Glossary.parse(["hat\\tHut", "hat\\tMütze"], "terms.tsv")
        Traceback (most recent call last):
        lev_plugins.errors.UserError: terms.tsv, line 2: 'hat' already has the translation 'Hut': leave one of them out
        """
        terms: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            with at_line(name, number):
                columns = [column.strip() for column in line.split("\t")]
                if columns == [""]:
                    continue
                shape = "must be a term, a TAB and its translation, but is"
                require(len(columns) == 2 and all(columns), f"{shape} {line[:60]!r}")
                source, target = columns
                before = terms.setdefault(source, target)
                require(before == target, f"{source!r} already has the translation {before!r}: leave one of them out")
                OwnWords(columns)  # which refuses words that are too long
        return cls(terms, soft)

    def terms_in(self, source: str) -> list[tuple[Span, Term]]:
        """Returns the terms of a source with their places, one for each time it has them.

        >>> glossary = Glossary({"hat": "Hut", "red hat": "roter Hut"})
        >>> [term.target for _, term in glossary.terms_in("Hat, red hat, hats, that hat")]
        ['Hut', 'roter Hut', 'Hut']
        """
        matches = longest_matches(self.sources, source)
        return [(span, Term(word, self.terms[word], sum(span) / 2 / len(source))) for span, word in matches]


def longest_matches(words: OwnWords, text: str) -> list[tuple[Span, str]]:
    """Returns where a text has these words, without overlaps: longer ones first, and then those on the left."""
    covered, chosen = bytearray(len(text)), []
    for span, word in sorted(words.matches(text), key=lambda match: (match[0].start - match[0].end, match)):
        first_letters = {unicodedata.normalize("NFC", form)[:1] for form in (text[span.start : span.end], word)}
        is_exact_or_first = len(first_letters) == 1 or begins_sentence(text, span.start)
        if is_exact_or_first and not any(covered[span.start : span.end]):
            covered[span.start : span.end] = b"\1" * (span.end - span.start)
            chosen.append((span, word))
    return sorted(chosen)


def begins_sentence(text: str, place: int) -> bool:
    """Returns whether a word at this place is the first of a text or sentence.

    >>> [begins_sentence("(It) is. So", place) for place in (1, 5, 9)]
    [True, False, True]
    """
    start = place
    while start and not WORD.match(text[start - 1]):
        start -= 1
    return start == 0 or not SENTENCE_ENDS.isdisjoint(text[start:place])


def find_terms(terms: Sequence[Term], text: str) -> tuple[list[tuple[Span, Term]], list[Term]]:
    """Returns the terms whose translations a text has, with their places, and the terms whose translation it lacks.

    >>> find_terms([Term("hat", "Hut"), Term("cap", "Mütze"), Term("hat", "Hut")], "ein Hut")
    ([(Span(start=4, end=7), Term(source='hat', target='Hut', place=0.0))], \
[Term(source='cap', target='Mütze', place=0.0), Term(source='hat', target='Hut', place=0.0)])
    """
    places: dict[str, list[Span]] = {}
    for span, target in longest_matches(OwnWords(term.target for term in terms), text):
        places.setdefault(target, []).append(span)
    present, missing = [], []
    for term in terms:
        if places.get(term.target):
            present.append((places[term.target].pop(0), term))
        else:
            missing.append(term)
    return present, missing


def as_dict(edited: Edited) -> dict[str, object]:
    """Returns an edited text as ``Edited.as_dict`` does, with the terms of its source that a glossary has, if any."""
    _, missing = find_terms(edited.terms, edited.text)
    terms = [{"source": t.source, "target": t.target, "used": t not in missing} for t in edited.terms]
    return edited.as_dict() | ({"terms": terms} if terms else {})


def in_place(text: str, place: int, target: str) -> str:
    """Returns a translation as it is written at this place of a text: with a capital, if the sentence begins so.

    >>> [in_place("Ein rotes Haus. Es", place, "hut") for place in (0, 4, 16)]
    ['Hut', 'hut', 'Hut']
    """
    is_capital = text[place : place + 1].isupper() and begins_sentence(text, place)
    return capitalised(target) if is_capital and target.islower() else target
