"""Glossaries: terms and their translations.

A text has a term where its whole words are written as in the glossary, or with a capital at the start: not inflected,
and not in other capitals. Where terms overlap, the longest counts.
"""

from collections.abc import Iterable, Mapping, Sequence

import regex

from lev_plugins.text.edited import Edit, Edited, Span, Term, apply, require_text
from lev_plugins.text.marks import escape, parse_marks
from lev_plugins.text.protected import OwnWords, capitalised
from lev_plugins.utils.errors import at_line, require

DRAFT_MARK = regex.compile(r"(?<!\\)(?:\\\\)*+⟦[!~+-](?:\\.|[^\\⟧])*+⟧")
MASK_CHAR = "\n"  # hides a part of a draft


class Glossary:
    """Terms with their translations."""

    def __init__(self, terms: Mapping[str, str]) -> None:
        require(isinstance(terms, Mapping), f"a glossary must be a table of terms and translations: {terms!r:.60}")
        for text in [*terms, *terms.values()]:
            require_text(text, "term or translation")
            is_cell = bool(text.strip()) and not {"\t", "\n"} & {*text}
            require(is_cell, f"a term or translation must have no TAB or line feed, and not be empty: {text[:60]!r}")
        self.terms, self.sources = terms, OwnWords(terms)

    @classmethod
    def parse(cls, lines: Iterable[str], name: str) -> "Glossary":
        """Reads lines ``term TAB translation``; empty ones are skipped. Errors begin with the name.

        >>> Glossary.parse(["a\\tHut", "a\\tM"], "t.tsv")
        Traceback (most recent call last):
        lev_plugins.utils.errors.UserError: t.tsv, line 2: 'a' already has the translation 'Hut': leave one of them out
        """
        terms: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            columns = [column.strip() for column in line.split("\t")]
            if columns == [""]:
                continue
            with at_line(name, number):
                is_pair = len(columns) == 2 and all(columns)
                require(is_pair, f"must be a term, a TAB and its translation, but is {line[:60]!r}")
                OwnWords(columns)  # which refuses words that are too long
                translation = terms.setdefault(*columns)
                repeated = f"{columns[0]!r} already has the translation {translation!r}: leave one of them out"
                require(translation == columns[1], repeated)
        return cls(terms)

    def terms_in(self, source: str) -> list[Term]:
        """Returns the terms of a source, one for each time it has them.

        >>> [term.target for term in Glossary({"hat": "Hut", "red hat": "roter Hut"}).terms_in("Hat, red hat, hats")]
        ['Hut', 'roter Hut']
        """
        matches = longest_matches(self.sources, source)
        return [Term(word, self.terms[word], span) for span, word in matches]


def longest_matches(words: OwnWords, text: str) -> list[tuple[Span, str]]:
    """Returns where a text has these words, without overlaps: longer ones first, and then those on the left."""
    covered, matches = bytearray(len(text)), []
    for span, word in sorted(words.matches(text), key=lambda match: (match[0].start - match[0].end, match)):
        if not any(covered[span.start : span.end]):
            covered[span.start : span.end] = b"\1" * (span.end - span.start)
            matches.append((span, word))
    return sorted(matches)


def find_terms(terms: Sequence[Term], text: str) -> tuple[list[Span], list[Term]]:
    """Returns all places where a text has the translations of terms, and the terms whose translation it lacks.

    >>> find_terms([Term("hat", "Hut"), Term("cap", "Mütze")], "ein Hut")
    ([Span(start=4, end=7)], [Term(source='cap', target='Mütze', span=Span(start=0, end=0))])
    """
    matches = longest_matches(OwnWords(term.target for term in terms), text)
    targets, missing = [target for _, target in matches], []
    for term in terms:
        if term.target in targets:
            targets.remove(term.target)
        else:
            missing.append(term)
    return [span for span, _ in matches], missing


def mark_terms(draft: str, terms: Sequence[Term], kind: str) -> str:
    """Returns a draft, with or without marks, in which the translations of terms have marks.

    ``kind`` is that of the new marks: "!" or "~". Text that has a mark gets no other one.

    >>> mark_terms("ein Hut ⟦-Hut⟧", [Term("hat", "Hut"), Term("cap", "Mütze")], "!")
    'ein ⟦!Hut⟧ ⟦-Hut⟧'
    """
    text, marks = parse_marks(draft)
    line = draft if marks else escape(text)
    unmarked = DRAFT_MARK.sub(lambda match: MASK_CHAR * len(match[0]), line)
    spans = find_terms(terms, unmarked)[0]
    # a mark behind a backslash would be ordinary text
    edits = [Edit(*span, f"⟦{kind}{line[slice(*span)]}⟧") for span in spans if line[: span.start][-1:] != "\\"]
    return apply(line, edits)


def replacements(text: str, terms: Sequence[Term]) -> list[Edit]:
    """Returns the edits that replace terms of a text by their translations.

    >>> [edit.replacement for edit in replacements("Hat", [Term("hat", "cap", Span(0, 3))])]
    ['Cap']
    """
    edits = []
    for term in terms:
        has_capital = text[term.span.start].isupper() and not term.source[0].isupper()
        edits.append(Edit(*term.span, capitalised(term.target) if has_capital else term.target))
    return edits


def as_dict(edited: Edited) -> dict[str, object]:
    """Returns an edited text as ``Edited.as_dict`` does, with the terms of its source that a glossary has, if any."""
    missing = find_terms(edited.terms, edited.text)[1]
    terms = [{"source": t.source, "target": t.target, "used": t not in missing} for t in edited.terms]
    return edited.as_dict() | ({"terms": terms} if terms else {})
