"""Text in, edited text out, with nothing else changed.

    editor = Editor.load("checkpoints/checkpoint_best.pt", "data")
    edited = editor.edit(["He go home. "])[0]
    edited.text, edited.edits           # "He goes home. ", (Edit(start=3, end=5, replacement="goes", ...),)

A text is cut into lines and sentences, and the model reads each of them alone. What is too long for the model is cut
at a comma or a blank, and stays as it is where there is neither. Text also stays as it is where the model writes
<unk>, where no corrector should touch it (``text.protected``), and in the user's own words.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from lev_plugins.editor.calibration import calibrate, recurring_words, with_recurring
from lev_plugins.editor.folder import has_graphs
from lev_plugins.editor.onnx_models import load_onnx_editor
from lev_plugins.editor.options import EditOptions
from lev_plugins.editor.own_words import WordList
from lev_plugins.editor.segments import LevTSegments, SegmentDecoder
from lev_plugins.text import marks
from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.edited import Edit, Edited, Span, Term, as_list, follow, require_text
from lev_plugins.text.glossary import Glossary, replacements
from lev_plugins.text.ids import TokenDictionary
from lev_plugins.text.lines import read_lines
from lev_plugins.text.mark_bits import KEEP, SPAN
from lev_plugins.text.offsets import offsets_of
from lev_plugins.text.protected import (
    Letters,
    OwnWords,
    letters_of,
    merge_spans,
    parse_kinds,
    protected_spans,
    without_protected,
)
from lev_plugins.text.segments import Segment, SegmentModel
from lev_plugins.text.sentences import lines, sentences, split_to_fit, stripped_span
from lev_plugins.text.terms import with_terms
from lev_plugins.text.text_style import TextStyle
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.utils import compatibility, model_folder
from lev_plugins.utils.errors import at_line, require
from lev_plugins.utils.json_schema import from_entries
from lev_plugins.utils.ranges import bounded

UNUSUAL_LETTER = "\ua9a0"  # of Javanese: only a model that reads bytes has pieces for it

Value = TypeVar("Value")
Segments = list[tuple[int, Segment]]  # each with where it starts in the text


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
    ) -> None:
        """
        model: finds the edits of a segment
        tokeniser: cuts text into the pieces that the model reads
        options: which edits are kept, and how texts are cut; those of decoding have been applied to the model
        form: how the model's text is written, such as without capitals
        calibration: weights that turn the confidence of an edit into the share of such edits that are right, for
            texts without drafts
        words_of_model: the model folder's file of words that no edit may touch, besides those of the options
        """
        self.model, self.tokeniser, self.offsets = model, tokeniser, offsets_of(tokeniser.name, tokeniser.bpe)
        self.split, self.language, self.min_confidence = options.split, options.language, options.min_confidence or 0.0
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
        self.glossary = glossary if isinstance(glossary, Glossary) else Glossary(glossary)
        require(
            options.document is None or Path(options.document).is_file(),
            f"--document: there is no file {options.document}",
        )
        document = "" if options.document is None else "\n".join(read_lines(Path(options.document)))
        self.recurring = recurring_words(document, sentences(document, self.language))
        self.lock = threading.Lock()

    @classmethod
    def load(cls, path: str | Path, data: str | Path | None = None, options: EditOptions = EditOptions()) -> Editor:
        """Loads a model folder or a checkpoint.

        path: a model folder, or a checkpoint of a levt or of any model of text_correction
        data: for a checkpoint, the folder with its dictionaries, if it has moved since the training
        options: settings, which go before those of the model folder
        """
        options.check()
        moved = {"data": data, "backbone": options.backbone, "bpe": options.bpe}
        folder = model_folder.read_kind(path, model_folder.EDITOR, **moved)
        if folder:
            options.check_for(folder.task)
        options = options if folder is None else options.over(folder.decoding)
        model: SegmentDecoder | None = None
        if folder and options.device == "cpu" and has_graphs(path):
            model = load_onnx_editor(Path(path), folder, options)
        if folder and model:
            tokeniser = Tokeniser(folder.bpe(Path(path)))
        else:
            compatibility.require_training()
            from lev_plugins.export import decoder

            model, tokeniser = decoder.load_torch_editor(Path(path), folder, data, options)
        if folder is None:
            options.check_for(model.task)
            return cls(model, tokeniser, options, form_of(model.words))
        # older folders do not store the form
        form = from_entries(TextStyle, folder.form, f"{path}: form") if folder.form else form_of(model.words)
        words = Path(path) / model_folder.KEPT if model_folder.KEPT in folder.files else None
        return cls(model, tokeniser, options, form, folder.calibration, words)

    def with_model(self, model: SegmentModel) -> Editor:
        """Returns an editor with the same settings and words, but another model, such as one with a cache."""
        editor = copy(self)
        editor.model = model
        return editor

    def of_document(self, document: str) -> Editor:
        """Returns an editor for the parts of a document: unknown words that recur in it are less often typos."""
        editor = copy(self)
        editor.recurring = recurring_words(document, sentences(document, self.language))
        return editor

    def edit(
        self,
        texts: Sequence[str],
        drafts: Sequence[str | None] | None = None,
        languages: Sequence[str | None] | None = None,
        words: Sequence[Iterable[OwnWords | str]] | None = None,
        first_line: int = 1,
        min_confidence: float | None = None,
        glossaries: Sequence[Glossary | None] | None = None,
    ) -> list[Edited]:
        """Edits each text, or its draft where it has one.

        texts: what is edited, or the sources of the drafts
        drafts: for each text, None or a draft, which may have marks and is not cut into sentences
        languages: for each text without a draft, a code such as "de"; None: that of the options
        words: for each text, more words that no edit may touch
        first_line: the number of the first text in messages
        min_confidence: leaves out edits that are less sure than this; None: that of the options
        glossaries: for each text, the terms that must become their translations; None: those of the options
        """
        texts = as_list("texts", texts)
        count = len(texts)
        drafts = one_per_text("drafts", drafts, count, None)
        languages = one_per_text("languages", languages, count, None)
        words = one_per_text("words", words, count, ())
        glossaries = one_per_text("glossaries", glossaries, count, None)
        parts = []
        for number, row in enumerate(zip(texts, drafts, languages, words, glossaries, strict=True), first_line):
            with at_line("the input", number):
                text, draft, language, own_words, glossary = row
                for string in (text, "" if draft is None else draft):
                    require_text(string)
                original = text if draft is None else marks.parse_marks(draft)[0]
                edits_of_terms, terms = list[Edit](), (glossary or self.glossary).terms_in(text)
                if terms:
                    text, draft, edits_of_terms = self.with_terms(text, draft, own_words, terms)
                    own_words = [*own_words, OwnWords(term.target for term in terms if self.term_mark == "!")]
                edited, segments = self.segments(text, draft, language, own_words)
                parts.append((replace(edited, terms=tuple(terms)), segments, original, edits_of_terms))
        self.form.check([edited.original for edited, *_ in parts])
        every = [segment for _, segments, *_ in parts for _, segment in segments]
        with self.lock:
            decoded = iter(self.model.decode(every) if every else [])
        minimum = self.min_confidence if min_confidence is None else min_confidence
        bounded("min_confidence", minimum, 0, 1)
        results = []
        for (edited, segments, original, edits_of_terms), draft in zip(parts, drafts, strict=True):
            edits = [self.edit_of_text(edit, start, edited.original) for start, _ in segments for edit in next(decoded)]
            edited = without_protected(replace(edited, edits=tuple(edits)))
            if draft is None:
                recurring = self.recurring | recurring_words(edited.original, edited.sentences)
                edited = with_recurring(edited, recurring)
                edited = calibrate(edited, self.calibration) if self.calibration else edited
            edited = edited.without_unsure(minimum)
            results.append(follow(original, edits_of_terms, edited) if edits_of_terms else edited)
        return results

    def with_terms(
        self, text: str, draft: str | None, words: Iterable[OwnWords | str], terms: list[Term]
    ) -> tuple[str, str | None, list[Edit]]:
        """Returns a text and its draft after the edits that put terms into the draft, or else into the text itself."""
        if draft is None:
            edited = without_protected(Edited(text, tuple(replacements(text, terms))), self.untouchable(text, words))
            return edited.text, None, [*edited.edits]
        if not isinstance(self.model, LevTSegments):
            return text, draft, []
        model, source = self.model, self.tokeniser.pieces(self.form.read(text).removeprefix(BYTE_ORDER_MARK))

        def fits(texts: list[str]) -> list[float]:
            stripped = (self.form.read(text.strip().removeprefix(BYTE_ORDER_MARK)) for text in texts)
            segments = [Segment(text, self.offsets, source) for text in stripped]
            if max(len(pieces) for pieces in (source, *(segment.pieces for segment in segments))) > model.longest:
                return [0.0] * len(segments)  # ``segments`` refuses it
            with self.lock:
                return model.fits(segments)

        return text, *with_terms(draft, terms, self.term_mark, fits)

    def segments(
        self, text: str, draft: str | None, language: str | None, words: Iterable[OwnWords | str]
    ) -> tuple[Edited, Segments]:
        """Returns the text or the draft without edits, and the segments of it that the model edits."""
        if draft is not None:
            require(self.model.drafts, "drafts are for a levt: a model of text_correction edits the text itself")
            require(language is None, "languages are for texts without drafts: leave them out")
            edited, segments = self.segment_of_draft(text, draft)
            return replace(edited, protected=self.own_words(edited.original, words)), segments
        spans = sentences(text, language or self.language) if self.split else lines(text)
        cut: dict[str, Segment] = {}

        def is_short_enough(part: str) -> bool:
            cut[part] = Segment(self.form.read(part), self.offsets)
            return len(cut[part].pieces) <= self.model.longest

        parts = [part for span in spans for part in split_to_fit(text, span, is_short_enough)]
        untouchable = self.untouchable(text, words)
        segments = [(start, copy(cut[text[start:end]])) for start, end in parts]
        if self.model.drafts:
            for start, segment in segments:
                segment.requests = keep_requests(segment, start, untouchable)
        return Edited(text, sentences=tuple(spans), protected=tuple(untouchable)), segments

    def untouchable(self, text: str, words: Iterable[OwnWords | str]) -> list[Span]:
        """Returns what no edit of a text without a draft may touch."""
        by_looks = protected_spans(text, self.knows, None if text.isascii() else self.letters, self.edit_also)
        return merge_spans([*by_looks, *self.own_words(text, words)])

    def own_words(self, text: str, words: Iterable[OwnWords | str]) -> tuple[Span, ...]:
        more = (word if isinstance(word, OwnWords) else OwnWords([word]) for word in as_list("words", words))
        lists = (self.words.protected, self.words_of_model.protected, *more)
        return tuple(span for own_words in lists for span in own_words.spans(text))

    def knows(self, word: str) -> bool:
        """Returns whether a word is a single piece of a dictionary."""
        pieces = self.tokeniser.pieces(self.form.read(word))
        return len(pieces) == 1 and pieces[0] in self.model.symbols

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


def one_per_text(name: str, values: Iterable[Value] | None, count: int, default: Value) -> list[Value]:
    """Returns the values, of which there must be one for each text, or the default for each."""
    if values is None:
        return [default] * count
    values = as_list(name, values)
    require(len(values) == count, f"there are {count:,} texts, but {len(values):,} {name}")
    return values


def keep_requests(segment: Segment, start: int, spans: Sequence[Span]) -> list[int] | None:
    """Returns the requests that keep the pieces inside the spans of a text; None: no piece is inside one.

    There is one request, with the bits of ``edits.mark_bits``, for each piece, after a first one for <s>.

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
