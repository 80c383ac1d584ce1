"""Text in, edited text out, with nothing else changed.

    editor = Editor.load("models/en")
    edited = editor.edit(["He go home. "])[0]
    edited.text, edited.edits           # "He goes home. ", (Edit(start=3, end=5, replacement="goes", ...),)

A text is cut into lines and sentences, and the model reads each of them alone. What is too long for the model is cut
at a comma or a blank, and stays as it is where there is neither. Text also stays as it is where the model writes
<unk>, where no corrector should touch it (``text.protected``), and in the user's own words.
"""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from lev_plugins.editor.calibration import calibrate, recurring_words, with_recurring
from lev_plugins.editor.known_words import KnownWords, style_of
from lev_plugins.editor.levt_segments import LevTSegments
from lev_plugins.editor.options import EditOptions, EditRequest
from lev_plugins.editor.own_words import WordList
from lev_plugins.editor.seq2seq_segments import Seq2SeqSegments
from lev_plugins.editor.session import after_trial
from lev_plugins.text import marks
from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.edited import Edit, Edited, Span, as_list, follow, require_text, spans_after
from lev_plugins.text.glossary import Glossary, mark_terms, replacements
from lev_plugins.text.ids import TokenDictionary
from lev_plugins.text.lines import read_lines
from lev_plugins.text.mark_bits import KEEP, SPAN
from lev_plugins.text.offsets import offsets_of
from lev_plugins.text.protected import (
    Letters,
    OwnWords,
    Untouchable,
    letters_of,
    merge_spans,
    parse_kinds,
    protected_spans,
    without_protected,
)
from lev_plugins.text.segments import Segment, SegmentModel
from lev_plugins.text.sentences import lines, sentences, split_to_fit, stripped_span
from lev_plugins.text.text_style import TextStyle
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import at_line, require

UNUSUAL_LETTER = "\ua9a0"  # of Javanese: only a model that reads bytes has pieces for it

Segments = list[tuple[int, Segment]]  # each with where it starts in the text


class TextParts(NamedTuple):
    """A text of a request, in the parts that the model reads."""

    edited: Edited  # the text after the edits of terms, without any of the model
    segments: Segments
    original: str  # before the edits of terms
    edits_of_terms: tuple[Edit, ...]
    min_confidence: float


class Editor:
    """Edits texts with a model; several threads may use it, and take turns with the model."""

    def __init__(
        self,
        model: SegmentModel,
        tokeniser: Tokeniser,
        options: EditOptions = EditOptions(),
        form: TextStyle | None = None,
        calibration: Mapping[str, float] | None = None,
        words_of_model: Path | None = None,
        dials: Mapping[str, float] | None = None,
    ) -> None:
        """
        model: finds the edits of a segment
        tokeniser: cuts text into the pieces that the model reads
        options: which edits are kept, and how texts are cut; those of decoding have been applied to the model
        form: how the model's text is written, such as without capitals
        calibration: weights that turn the confidence of an edit into the share of such edits that are right, for
            texts without drafts
        words_of_model: the model folder's file of words that no edit may touch, besides those of the options
        dials: the values of min_confidence that have names, ``model_folder.DIALS``
        """
        self.model, self.tokeniser, self.offsets = model, tokeniser, offsets_of(tokeniser.name, tokeniser.bpe)
        self.split, self.language, self.dials = options.split, options.language, dials or {}
        self.min_confidence = self.min_confidence_of(options.min_confidence or 0.0, "--min-confidence")
        self.calibration, self.form = calibration if options.calibrated else None, form or TextStyle()
        self.edit_also = parse_kinds(options.edit_also or "")
        words = options.words
        if isinstance(words, (str, Path)):
            require(Path(words).is_file(), f"--words: there is no file {words}")
            words = WordList(Path(words))
        elif not isinstance(words, WordList):
            words = WordList(words=as_list("words", words or ()))
        self.words, self.words_of_model = words, WordList(words_of_model)
        glossary, self.term_mark = options.glossary or {}, "~" if options.soft_glossary else "!"
        if isinstance(glossary, (str, Path)):
            glossary = Glossary.parse(read_lines(Path(glossary)), f"--glossary {glossary}")
        self.glossary = as_glossary(glossary)
        require(
            options.document is None or Path(options.document).is_file(),
            f"--document: there is no file {options.document}",
        )
        document = "" if options.document is None else "\n".join(read_lines(Path(options.document)))
        self.recurring = recurring_words(document, sentences(document, self.language))
        self.knows, self.lexicon = KnownWords(self.tokeniser, self.form, model.symbols, model.lexicon), model.lexicon
        self.lock = threading.Lock()

    @classmethod
    def load(cls, path: str | Path, options: EditOptions = EditOptions()) -> "Editor":
        """Loads a model folder.

        path: a model folder with graphs
        options: settings, which go before those of the folder
        """
        options.check()
        folder, config = Path(path), model_folder.read_kind(path, model_folder.EDITOR)
        options.check_for(config.task)
        options = options.over(config.decoding)
        decoder = LevTSegments if config.task == LevTSegments.task else Seq2SeqSegments
        model = after_trial(decoder(folder, config, options), folder)
        form = style_of(folder, config)
        words = folder / model_folder.KEPT if model_folder.KEPT in config.files else None
        return cls(model, Tokeniser(config.bpe(folder)), options, form, config.calibration, words, config.dials)

    def min_confidence_of(self, value: float | str, what: str = "min_confidence") -> float:
        """Returns a number as it is, and the name of a dial as its value; ``what`` names the flag in messages."""
        return model_folder.confidence_of(what, value, self.dials)

    def with_model(self, model: SegmentModel) -> "Editor":
        """Returns an editor with the same settings and words, but another model, such as one with a cache."""
        editor = copy(self)
        editor.model = model
        return editor

    def of_document(self, document: str) -> "Editor":
        """Returns an editor for the parts of a document: unknown words that recur in it are less often typos."""
        editor = copy(self)
        editor.recurring = recurring_words(document, sentences(document, self.language))
        return editor

    def edit(
        self, texts: Sequence[str | EditRequest], drafts: Sequence[str | None] | None = None, first_line: int = 1
    ) -> list[Edited]:
        """Edits each text, or its draft where it has one.

        texts: strings, or requests that say more about a text
        drafts: for each text, None or a draft, as in ``EditRequest``
        first_line: the number of the first text in messages
        """
        requests = requests_of(texts, drafts)
        parts = []
        for number, request in enumerate(requests, first_line):
            with at_line("the input", number):
                parts.append(self.prepare(request))
        self.form.check([part.edited.original for part in parts])
        segments = [segment for part in parts for _, segment in part.segments]
        with self.lock:
            decoded = iter(self.model.decode(segments) if segments else [])
        edits = [[next(decoded) for _ in part.segments] for part in parts]
        return [self.result(*row) for row in zip(requests, parts, edits, strict=True)]

    def prepare(self, request: EditRequest) -> TextParts:
        """Puts the terms of a request into its text, and cuts that into segments."""
        text, draft, words = request.text, request.draft, as_list("words", request.words)
        require_text(text)
        require_text("" if draft is None else draft, "draft")
        minimum = self.min_confidence_of(
            self.min_confidence if request.min_confidence is None else request.min_confidence
        )
        glossary = self.glossary if request.glossary is None else as_glossary(request.glossary)
        original, edits_of_terms, terms = text, tuple[Edit, ...](), glossary.terms_in(text)
        if terms:
            if draft is None:
                translated = Edited(text, tuple(replacements(text, terms)))
                translated = without_protected(translated, [*self.untouchable(text, words), *request.protected])
                text, edits_of_terms = translated.text, translated.edits
                protected, places = (
                    spans and spans_after(spans, edits_of_terms) for spans in (request.protected, request.places)
                )
                request = replace(request, protected=protected or (), places=places)
            else:
                draft = mark_terms(draft, terms, self.term_mark)
            words = [*words, OwnWords(term.target for term in terms if self.term_mark == "!")]
        edited, segments = self.segments(replace(request, text=text, draft=draft, words=words))
        return TextParts(replace(edited, terms=tuple(terms)), segments, original, edits_of_terms, minimum)

    def result(self, request: EditRequest, part: TextParts, edits_of_segments: list[list[Edit]]) -> Edited:
        """Returns the text of a request with the edits of its segments."""
        edited, pairs = part.edited, zip(part.segments, edits_of_segments, strict=True)
        edits = [self.edit_of_text(edit, start, edited.original) for (start, _), edits in pairs for edit in edits]
        edited = without_protected(replace(edited, edits=tuple(edits)))
        if request.draft is None:  # edits of drafts keep the model's own confidences, also where a dial limits them
            edited = with_recurring(edited, self.recurring | recurring_words(edited.original, edited.sentences))
            edited = calibrate(edited, self.calibration) if self.calibration else edited
        edited = edited.without_unsure(part.min_confidence)
        return follow(part.original, part.edits_of_terms, edited) if part.edits_of_terms else edited

    def segments(self, request: EditRequest) -> tuple[Edited, Segments]:
        """Returns the text or the draft without edits, and the segments of it that the model edits."""
        text, draft, language, words = request.text, request.draft, request.language, request.words
        if draft is not None:
            require(self.model.drafts, "drafts are for a levt: a model of text_correction edits the text itself")
            require(language is None, "languages are for texts without drafts: leave them out")
            edited, segments = self.segment_of_draft(text, draft)
            return replace(edited, protected=self.own_words(edited.original, words)), segments
        spans = sentences(text, language or self.language) if self.split else lines(text)
        if request.places is not None:
            places = Untouchable(request.places)  # here, the places to edit: only its test for overlaps is used
            spans = [span for span in spans if places.touched_by(span)]
        cut: dict[str, Segment] = {}

        def is_short_enough(part: str) -> bool:
            cut[part] = Segment(self.form.read(part), self.offsets)
            return len(cut[part].pieces) <= self.model.longest

        parts = [part for span in spans for part in split_to_fit(text, span, is_short_enough)]
        untouchable = merge_spans([*self.untouchable(text, words), *request.protected])
        segments = [(start, copy(cut[text[start:end]])) for start, end in parts]
        if self.model.drafts:
            for start, segment in segments:
                segment.requests = keep_requests(segment, start, untouchable)
        return Edited(text, sentences=tuple(spans), protected=tuple(untouchable)), segments

    def untouchable(self, text: str, words: Iterable[OwnWords | str]) -> list[Span]:
        """Returns what no edit of a text without a draft may touch."""
        by_looks = protected_spans(text, self.is_ordinary, None if text.isascii() else self.letters, self.edit_also)
        return merge_spans([*by_looks, *self.own_words(text, words)])

    def is_ordinary(self, word: str) -> bool:
        """Returns whether a word is known, or known to be a misspelling."""
        return self.knows(word) or (self.lexicon is not None and bool(self.lexicon.corrections(word.lower())))

    def own_words(self, text: str, words: Iterable[OwnWords | str]) -> tuple[Span, ...]:
        more = (word if isinstance(word, OwnWords) else OwnWords([word]) for word in words)
        lists = (self.words.protected, self.words_of_model.protected, *more)
        return tuple(span for own_words in lists for span in own_words.spans(text))

    @cached_property
    def letters(self) -> Letters | None:
        """The letters of the dictionary; None: it can spell all."""
        spells_all = all(piece in self.model.symbols for piece in self.tokeniser.pieces(UNUSUAL_LETTER))
        return None if spells_all else letters_of(self.model.symbols)

    def segment_of_draft(self, source: str, draft: str) -> tuple[Edited, Segments]:
        """Returns the draft without its marks, and all of it as one segment."""
        plain, _ = marks.parse_marks(draft)
        start, end = (stripped_span(plain, 0, len(plain)) or [Span(0, 0)])[0]
        source, draft = (self.form.read(text).removeprefix(BYTE_ORDER_MARK) for text in (source, draft))
        segment = Segment(self.form.read(plain[start:end]), self.offsets, self.tokeniser.pieces(source))
        for name, pieces in (("source", segment.source), ("draft", segment.pieces)):
            require(
                len(pieces or []) <= self.model.longest,
                f"a {name} has {len(pieces or []):,} tokens, but the model takes at most {self.model.longest:,}: "
                "shorten it, or edit without drafts, where long texts are cut",
            )
        # after the check of the lengths, because its time grows with the tokens times the marks
        pieces, requests = marks.tokenize(draft, self.tokeniser.encode)
        require(segment.pieces == pieces, f"the draft {draft!r} is not split as its text without marks: leave them out")
        segment.requests = requests
        return Edited(plain), [(start, segment)]

    def edit_of_text(self, edit: Edit, offset: int, text: str) -> Edit:
        """Moves an edit of the segment that begins at ``offset`` to its place in the text, written as the text is."""
        start, end = edit.start + offset, edit.end + offset
        replacement = self.form.write(text[start:end], edit.replacement, text)
        alternatives = tuple(self.edit_of_text(alternative, offset, text) for alternative in edit.alternatives)
        return replace(edit, start=start, end=end, replacement=replacement, alternatives=alternatives)


def requests_of(texts: Sequence[str | EditRequest], drafts: Sequence[str | None] | None = None) -> list[EditRequest]:
    """Returns texts, each perhaps with a draft, as requests.

    >>> [request.draft for request in requests_of(["a", EditRequest("b", "c")])]
    [None, 'c']
    """
    requests = [text if isinstance(text, EditRequest) else EditRequest(text) for text in as_list("texts", texts)]
    if drafts is None:
        return requests
    drafts = as_list("drafts", drafts)
    require(len(drafts) == len(requests), f"there are {len(requests):,} texts, but {len(drafts):,} drafts")
    return [replace(request, draft=draft) for request, draft in zip(requests, drafts, strict=True)]


def as_glossary(terms: Mapping[str, str] | Glossary) -> Glossary:
    return terms if isinstance(terms, Glossary) else Glossary(terms)


def keep_requests(segment: Segment, start: int, spans: Sequence[Span]) -> list[int] | None:
    """Returns the requests that keep all pieces that overlap a span of the text; None: no piece does.

    There is one request per piece (``text.mark_bits``), after that of <s>, which is 0.

    segment: begins at ``start`` in the text
    spans: sorted, without overlaps
    """
    end, requests = attrgetter("end"), [0]
    # the end as a tuple of one number, which comes before every span that begins there
    inside = spans[bisect_right(spans, start, key=end) : bisect_left(spans, (start + len(segment.text),))]
    for unit in segment.units:
        place = bisect_right(inside, start + unit.start, key=end)
        is_inside = place < len(inside) and inside[place].start < start + unit.end
        requests += [KEEP + (place + 1) * SPAN if is_inside else 0] * len(unit.pieces)
    return requests if any(requests) else None


def form_of(words: TokenDictionary) -> TextStyle:
    """Reads from a dictionary of fairseq how the texts were written that it was made of."""
    pieces = slice(words.nspecial, None)
    return TextStyle.of(dict(zip(words.symbols[pieces], words.count[pieces], strict=True)))
