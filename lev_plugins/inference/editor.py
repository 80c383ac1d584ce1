"""Text in, edited text out, with nothing else changed.

    editor = Editor.load("checkpoints/checkpoint_best.pt", "data")
    edited = editor.edit(["He go home. "])[0]
    edited.text, edited.edits           # "He goes home. ", (Edit(start=3, end=5, replacement="goes", ...),)

A text is cut into lines and sentences, each of which the model reads alone; what is too long for it is cut at a safe
place, and left as it is where there is none. Where a model writes <unk>, the text is left as it is, too. So is what no
corrector should touch (``text.protected``), and the user's own words.
"""

from __future__ import annotations

import threading
from argparse import Namespace
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lev_plugins import compatibility, model_folder
from lev_plugins.data.drafts import marks
from lev_plugins.edits.mark_bits import KEEP, SPAN
from lev_plugins.errors import at_line, require
from lev_plugins.inference.onnx_models import editor_of, light
from lev_plugins.json_schema import from_entries
from lev_plugins.onnx.folder import has_graphs
from lev_plugins.ranges import bounded
from lev_plugins.text.calibration import calibrated
from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.edited import Edit, Edited, Span, listed, require_text
from lev_plugins.text.form import Form
from lev_plugins.text.offsets import offsets_of
from lev_plugins.text.own_words import WordList
from lev_plugins.text.protected import Letters, OwnWords, kinds_of, letters_of, protected, united, untouched
from lev_plugins.text.segments import Segment, SegmentModel
from lev_plugins.text.sentences import bare, fitting, lines, sentences
from lev_plugins.text.tokenise import Tokeniser

MAX_TOKENS = 4096
RARE = "\ua9a0"  # a letter of Javanese, which only a model that reads bytes knows

Segments = list[tuple[int, Segment]]  # each with where it starts in the text


class Editor:
    """May be used from several threads; they take turns with the model."""

    def __init__(
        self,
        model: SegmentModel,
        tokeniser: Tokeniser,
        split: bool = True,
        language: str | None = None,
        min_confidence: float = 0.0,
        calibration: Mapping[str, float] | None = None,
        form: Form | None = None,
        edit_also: str = "",
        words: str | Path | None = None,
        kept: Path | None = None,
    ):
        """``split``: into sentences, not only into lines; ``language``: of the text, else guessed for each;
        ``min_confidence``: edits that are less sure than this are left out; ``calibration``: weights that make a
        confidence the share of edits that are right, in texts without drafts; ``form``: of its text;
        ``edit_also``: kinds of what is protected that are edited all the same, such as "numbers,symbols", or "all";
        ``words``: a file with words to leave alone; ``kept``: the one of the model folder, which holds as well.
        """
        bounded("--min-confidence", min_confidence, 0, 1)
        self.model, self.tokeniser, self.offsets = model, tokeniser, offsets_of(tokeniser.name, tokeniser.bpe)
        self.split, self.language, self.min_confidence = split, language, min_confidence
        self.calibration, self.form = calibration, form or Form()
        require(words is None or Path(words).is_file(), f"--words: there is no file {words}")
        self.edit_also, self.words = kinds_of(edit_also), WordList(None if words is None else Path(words))
        self.kept, self.lock = WordList(kept).protected, threading.Lock()

    @classmethod
    def load(
        cls,
        path: str | Path,
        data: str | Path | None = None,
        bpe: Namespace | None = None,
        device: str = "cpu",
        search: dict[str, Any] | None = None,
        overrides: dict[str, Any] | None = None,
        cpu_int8: bool = False,
        backbone: str | Path | None = None,
        max_tokens: int = MAX_TOKENS,
        **options: Any,
    ) -> Editor:
        """``path``: a model folder, whose own settings hold where others are not given, or a checkpoint.

        ``data``: the folder with its dictionaries, and ``backbone``: the one from import-pretrained, if they have moved
        since the training; ``bpe``: as fairseq builds it, by default the sentencepiece model in ``data``, if any;
        ``search``: decoding flags of fairseq; ``overrides``: flags of the task, such as ``{"keep_bias": 1.0}``;
        ``cpu_int8``: products in 8 bits; ``max_tokens``: in a batch of the model; ``options``: those of the class.
        """
        folder = model_folder.read_kind(path, model_folder.EDITOR, data=data, backbone=backbone, bpe=bpe)
        if folder is not None:
            overrides = {**folder.decoding.overrides, **(overrides or {})}
            search = {**folder.decoding.search, **(search or {})}
            options = {"calibration": folder.calibration, **folder.decoding.options, **options}
            if model_folder.KEPT in folder.files:
                options["kept"] = Path(path) / model_folder.KEPT
        changed, search = overrides or {}, search or {}
        model: Any
        by_graphs = folder and device == "cpu" and has_graphs(path) and editor_of(folder, {*changed, *search})
        if folder and by_graphs:
            model = light(by_graphs, Path(path), folder, {**changed, **search}, 8 if cpu_int8 else 32, max_tokens)
            tokeniser = Tokeniser(folder.bpe(Path(path)))
        else:
            compatibility.require_training()
            from lev_plugins.inference.decoder import segment_model

            changed = {**changed, "cpu_int8": cpu_int8, **model_folder.moved_folders(data, backbone)}
            model, tokeniser = segment_model(Path(path), folder, changed, bpe, search, device, max_tokens)
        written = folder.form if folder else {}  # older folders do not say it
        form = from_entries(Form, written, f"{path}: form") if written else form_of(model.words)
        return cls(model, tokeniser, **options, form=form)

    def edit(
        self,
        texts: Sequence[str],
        drafts: Sequence[str | None] | None = None,
        languages: Sequence[str | None] | None = None,
        words: Sequence[Iterable[OwnWords]] | None = None,
        first_line: int = 1,
    ) -> list[Edited]:
        """What is edited is the text, or its draft where it has one: that may have marks, and is not cut.

        ``languages``: of each text without a draft, such as "de"; None: that of the editor. ``words``: for each text,
        more words to leave alone. ``first_line`` numbers the texts in messages.
        """
        given: dict[str, list[Any]] = {"texts": listed("texts", texts)}
        count = len(given["texts"])
        for name, values, none in (("drafts", drafts, None), ("languages", languages, None), ("words", words, ())):
            given[name] = [none] * count if values is None else listed(name, values)
            require(len(given[name]) == count, f"there are {count:,} texts, but {len(given[name]):,} {name}")
        whole = []
        for number, row in enumerate(zip(*given.values(), strict=True), first_line):
            with at_line("the input", number):
                whole.append(self.segments(*row))
        self.form.check([edited.original for edited, _ in whole])
        waiting = [segment for _, segments in whole for _, segment in segments]
        with self.lock:
            decoded = iter(self.model.decode(waiting) if waiting else [])
        results = []
        for (edited, segments), draft in zip(whole, given["drafts"], strict=True):
            edits = [self.placed(edit, start, edited.original) for start, _ in segments for edit in next(decoded)]
            made = untouched(replace(edited, edits=tuple(edits)))
            made = calibrated(made, self.calibration) if draft is None and self.calibration else made
            results.append(made.sure(self.min_confidence))
        return results

    def segments(
        self, text: str, draft: str | None, language: str | None, words: Iterable[OwnWords]
    ) -> tuple[Edited, Segments]:
        """The text as it is, and what the model reads of it."""
        for part in (text, "" if draft is None else draft):
            require_text(part)
        if draft is not None:
            require(self.model.drafts, "drafts are for a levt: a model of text_correction edits the text itself")
            require(language is None, "languages are for texts without drafts: leave them out")
            edited, segments = self.segment_of_draft(text, draft)
            return replace(edited, protected=self.own_words(edited.original, words)), segments
        spans = sentences(text, language or self.language) if self.split else lines(text)
        made: dict[str, Segment] = {}

        def fits(part: str) -> bool:
            made[part] = Segment(self.form.read(part), self.offsets)
            return len(made[part].pieces) <= self.model.longest

        parts = [part for span in spans for part in fitting(text, span, fits)]
        looks = protected(text, self.knows, None if text.isascii() else self.letters, self.edit_also)
        alone = united([*looks, *self.own_words(text, words)])
        segments = [(start, copy(made[text[start:end]])) for start, end in parts]
        for start, segment in segments if self.model.drafts else ():
            segment.requests = keeping(segment, start, alone)
        return Edited(text, sentences=tuple(spans), protected=tuple(alone)), segments

    def own_words(self, text: str, words: Iterable[OwnWords]) -> tuple[Span, ...]:
        return tuple(span for some in (self.words.protected, self.kept, *words) for span in some.spans(text))

    def knows(self, word: str) -> bool:
        pieces = self.tokeniser.pieces(self.form.read(word))
        return len(pieces) == 1 and pieces[0] in self.model.symbols

    @cached_property
    def letters(self) -> Letters | None:
        """Those of the dictionary; None: all."""
        known = all(piece in self.model.symbols for piece in self.tokeniser.pieces(RARE))
        return None if known else letters_of(self.model.symbols)

    def segment_of_draft(self, source: str, draft: str) -> tuple[Edited, Segments]:
        """The draft without its marks, and all of it as one segment."""
        plain, _ = marks.parse_marks(draft)
        start, end = next(bare(plain, 0, len(plain)), Span(0, 0))
        source, draft = (self.form.read(text).removeprefix(BYTE_ORDER_MARK) for text in (source, draft))
        segment = Segment(self.form.read(plain[start:end]), self.offsets, self.tokeniser.pieces(source))
        for what, pieces in (("source", segment.source), ("draft", segment.pieces)):
            require(
                len(pieces or []) <= self.model.longest,
                f"a {what} has {len(pieces or []):,} tokens, but the model takes at most {self.model.longest:,}: "
                "shorten it, or edit without drafts, where long texts are cut",
            )
        # last, because its time grows with the tokens times the marks
        pieces, requests = marks.tokenize(draft, self.tokeniser.encode)
        require(segment.pieces == pieces, f"the draft {draft!r} is not split as its text without marks: leave them out")
        segment.requests = requests
        return Edited(plain), [(start, segment)]

    def placed(self, edit: Edit, start: int, text: str) -> Edit:
        """An edit of a segment that begins at ``start``, as an edit of the text, in its form."""
        first, end = edit.start + start, edit.end + start
        new = self.form.write(text[first:end], edit.replacement, text)
        others = tuple(self.placed(other, start, text) for other in edit.others)
        return replace(edit, start=first, end=end, replacement=new, others=others)


def keeping(segment: Segment, start: int, spans: Sequence[Span]) -> list[int] | None:
    """The requests that keep the pieces in these spans of a text, in which the segment begins at ``start``."""
    first = bisect_right(spans, start, key=lambda span: span.end)
    waiting = deque(enumerate(spans[first : bisect_left(spans, (start + len(segment.text),))], start=1))
    requests = [0]
    for unit in segment.units:
        while waiting and waiting[0][1].end <= start + unit.start:
            waiting.popleft()
        inside = waiting and waiting[0][1].start < start + unit.end
        requests += [KEEP + waiting[0][0] * SPAN if inside else 0] * len(unit.pieces)
    return requests if any(requests) else None


def form_of(words: Any) -> Form:
    """What a dictionary of fairseq shows."""
    pieces = slice(words.nspecial, None)
    return Form.of(dict(zip(words.symbols[pieces], words.count[pieces], strict=True)))
