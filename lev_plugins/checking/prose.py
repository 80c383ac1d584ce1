"""The prose of a file for an editor, and the words of a project, which are no typos."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import regex
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from lev_plugins.editor.options import EditRequest
from lev_plugins.text.documents.document import Paragraph, reading_view, rest
from lev_plugins.text.edited import Edit, Span
from lev_plugins.text.lexicon import Lexicon
from lev_plugins.text.protected import Untouchable, merge_spans
from lev_plugins.text.sentences import primary

WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*+(?:['\u2019]\p{L}[\p{L}\p{M}]*+)*+")
PLAIN = regex.compile(r"[\p{L}\p{M}\p{N}'\u2019., -]*+")  # what a replacement may have
GENITIVE = regex.compile(r"['\u2019][sS]?$")
CODE_WORD = regex.compile(r"\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}++|\p{L}")  # of fooBar: foo, Bar
HTML_COMMENT = regex.compile(r"<!--(?s:.{0,5000}?)-->")  # what it says is no code
OUTNUMBERED = 10  # an unknown word that recurs is a typo if a known one a letter away is so many times as frequent
CACHED_WORDS = 100_000  # whose lookups are kept; a server sees ever new ones
CACHED_EDITORS = 16  # of a server
MIN_LETTERS = 4  # of a word that another one can outnumber

Knows = Callable[[str], bool]


class FileWords(NamedTuple):
    """The words of a file, in small letters."""

    known: Mapping[str, int] = {}  # how often its prose has each that the editor knows
    unknown: Mapping[str, int] = {}  # how often its prose has each that it does not know
    code: Collection[str] = ()  # of all else in the file, those that it does not know


class Prose:
    """The prose of a file.

    >>> from lev_plugins.text.documents.document import Part, paragraph
    >>> text = "# Teh etcd\\nrun_etcd()  # Etcd's port\\n"
    >>> paragraphs = [paragraph(text, [Part(2, 10)]), paragraph(text, [Part(25, 36)])]
    >>> prose = Prose(text, paragraphs, {"run", "port"}.__contains__)
    >>> prose.words.unknown, prose.words.code
    (Counter({'etcd': 2, 'teh': 1}), frozenset({'etcd'}))
    >>> prose.request(words_of_project([prose.words])).places
    [Span(start=2, end=5)]
    """

    def __init__(
        self,
        text: str,
        paragraphs: Iterable[Paragraph],
        knows: Knows,
        ignored: Iterable[Span] = (),
        language: str | None = None,
        has_code: bool = True,
    ) -> None:
        """
        text: the whole file
        paragraphs: those that the reader of its format yields, in any order
        knows: whether the editor knows a word
        ignored: spans that comments exclude
        language: that of the editor, if it has one; paragraphs of other languages are left out
        has_code: whether what is not prose is code, whose words are no typos
        """
        self.text, self.ignored = text, [*ignored]
        self.paragraphs = list[Paragraph]()
        for entry in sorted((entry for entry in paragraphs if entry.parts), key=lambda entry: entry.parts):
            # in a file with errors, one thing may be read as two
            apart = not self.paragraphs or self.paragraphs[-1].parts[-1].end <= entry.parts[0].start
            if apart and is_of(entry, language):
                self.paragraphs.append(entry)
        spans = [Span(start, end) for entry in self.paragraphs for start, end, prose in entry.parts if prose]
        matches = [match for start, end in spans for match in WORD.finditer(text, start, end)]
        self.unknown = [(Span(*match.span()), base_of(match[0])) for match in matches if not knows(match[0])]
        known = Counter(base_of(match[0]) for match in matches if knows(match[0]))
        outside = rest(spans, len(text)) if has_code else []
        pieces = (HTML_COMMENT.sub("", text[start:end]) for start, end in outside)
        code = {word for piece in pieces for word in words_of_code(piece)}
        unknown = Counter(word for _, word in self.unknown)
        self.words = FileWords(known, unknown, frozenset(word for word in code if not knows(word)))

    def request(self, project: Collection[str], whole: bool = False) -> EditRequest:
        """Returns what an editor is asked about this file.

        project: words of the project, which stay as they are
        whole: all sentences are edited, and not only those with a word that may be a typo
        """
        ignored = Untouchable(self.ignored)
        project_spans = [span for span, word in self.unknown if word in project]
        places = [span for span, word in self.unknown if word not in project and not ignored.touched_by(span)]
        marked = Untouchable(places)
        view = reading_view(self.text, [entry for entry in self.paragraphs if whole or has_any(entry, marked)])
        protected = merge_spans([*view.protected, *self.ignored, *project_spans])
        return EditRequest(view.text, protected=protected, places=None if whole else places)

    def edits(self, edits: Iterable[Edit]) -> list[Edit]:
        """Returns the edits that are inside one part of prose, and add no sign that a format could give a meaning.

        The same goes for their alternatives.
        """
        prose = (Span(part.start, part.end) for entry in self.paragraphs for part in entry.parts if part.prose)
        outside = Untouchable(rest(prose, len(self.text)))

        def harmless(edits: Iterable[Edit]) -> Iterator[Edit]:
            return (edit for edit in edits if PLAIN.fullmatch(edit.replacement) and not outside.touched_by(edit))

        fitting = self.fitting(harmless(edits))
        return [replace(edit, alternatives=tuple(harmless(edit.alternatives))) for edit in fitting]

    def fitting(self, edits: Iterable[Edit]) -> Iterator[Edit]:
        """Yields the edits that make no paragraph longer than there is room."""
        limited = [entry for entry in self.paragraphs if entry.room is not None]
        starts, rooms = [entry.parts[0].start for entry in limited], [entry.room or 0 for entry in limited]
        for edit in edits:
            place = bisect_right(starts, edit.start) - 1
            if place >= 0 and edit.start < limited[place].parts[-1].end:
                growth = len(edit.replacement) - (edit.end - edit.start)
                if growth > rooms[place]:
                    continue
                rooms[place] -= growth
            yield edit


def is_of(paragraph: Paragraph, language: str | None) -> bool:
    return None in (paragraph.language, language) or primary(paragraph.language or "") == primary(language or "")


def has_any(paragraph: Paragraph, places: Untouchable) -> bool:
    return places.touched_by(Span(paragraph.parts[0].start, paragraph.parts[-1].end))


@lru_cache(CACHED_WORDS)
def base_of(word: str) -> str:
    """Returns a word in small letters, without the ending of a genitive.

    >>> base_of("Etcd's"), base_of("DON'T")
    ('etcd', "don't")
    """
    return GENITIVE.sub("", word).lower()


@lru_cache(CACHED_EDITORS)
def knows_of(dictionary: Knows) -> Knows:
    """Returns the function that says whether an editor knows a word, which may have capitals of the sentence.

    dictionary: whether the editor knows a word as it is written
    """

    @lru_cache(CACHED_WORDS)
    def knows(word: str) -> bool:
        # one letter is a symbol
        return len(word) == 1 or any(map(dictionary, {word, GENITIVE.sub("", word), word.lower(), base_of(word)}))

    return knows


def words_of_code(text: str) -> set[str]:
    """Returns the words that names in code are made of, in small letters.

    >>> sorted(words_of_code("run_fooBar(HTTPServer2)"))
    ['bar', 'foo', 'foobar', 'http', 'httpserver', 'run', 'server']
    """
    names = set(regex.findall(r"\p{L}++", text))
    return {word.lower() for name in names for word in (name, *CODE_WORD.findall(name))}


def words_of_project(files: Collection[FileWords], lexicon: Lexicon | None = None) -> set[str]:
    """Returns the unknown words that code has, or that recur: most likely they are names and terms.

    A word that recurs is a typo all the same if the lexicon lists it as one, or where another one is much more frequent
    from which it differs by a letter.

    >>> files = [FileWords(Counter(receive=20), Counter(etcd=2, recieve=1, teh=1), frozenset({"fooz"}))]
    >>> sorted(words_of_project([*files, FileWords(Counter(), Counter(recieve=1), frozenset())]))
    ['etcd', 'fooz']
    >>> words_of_project([FileWords(unknown=Counter(etcd=2, teh=2))], Lexicon.of_lines(["teh,the"]))
    {'etcd'}
    """
    known, unknown, code = Counter[str](), Counter[str](), set[str]()
    for file in files:
        known.update(file.known)
        unknown.update(file.unknown)
        code.update(file.code)
    recurring = [word for word, count in unknown.items() if count > 1 and word not in code]
    if lexicon is not None:
        recurring = [word for word in recurring if not lexicon.corrections(word)]
    return {*code, *recurring} - outnumbered(recurring, unknown, known)


def outnumbered(words: Iterable[str], counts: Counter[str], known: Counter[str]) -> set[str]:
    """Returns those of the words that are rare beside a known word from which they differ by a letter."""
    rare = [word for word in words if len(word) >= MIN_LETTERS]
    frequent = [word for word, count in known.items() if count > OUTNUMBERED]
    near = cdist(rare, frequent, scorer=OSA.distance, score_cutoff=1, dtype=np.uint8) <= 1
    pairs = ((rare[i], frequent[j]) for i, j in zip(*np.nonzero(near), strict=True))
    # slips hardly ever change the first letter of a word, but names often put one before a word, such as `ctypes`
    return {word for word, other in pairs if word[0] == other[0] and known[other] >= OUTNUMBERED * counts[word]}
