"""Text in, edited text out, with nothing else changed.

    editor = Editor.load("checkpoints/checkpoint_best.pt", "data")
    edited = editor.edit(["He go home. "])[0]
    edited.text, edited.edits           # "He goes home. ", (Edit(start=3, end=5, replacement="goes", ...),)

A text is cut into lines and sentences, each of which the model reads alone; what is too long for it is cut at a safe
place, and left as it is where there is none. Where a model writes <unk>, the text is left as it is, too.
"""

from __future__ import annotations

import logging
import threading
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from fairseq.utils import split_paths

from lev_plugins import model_folder
from lev_plugins.data.drafts import marks
from lev_plugins.errors import require
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.inference.load_model import Loaded, places
from lev_plugins.inference.refinement import Refining
from lev_plugins.inference.segment import Passage, Written
from lev_plugins.inference.seq2seq import Writing
from lev_plugins.models.levt import LevT
from lev_plugins.ranges import bounded
from lev_plugins.tasks.text_correction import TextCorrectionTask
from lev_plugins.text.control import BYTE_ORDER_MARK, require_encodable
from lev_plugins.text.edit_extraction import Rewrite, rewrites
from lev_plugins.text.edited import Edit, Edited, moved
from lev_plugins.text.offsets import offsets_of
from lev_plugins.text.sentences import Span, bare, fitting, lines, sentences
from lev_plugins.text.tokenise import MODEL, Tokeniser, ids_of

logger = logging.getLogger(__name__)

MAX_TOKENS = 4096
BOUNDARIES = 2
MANY_UNKNOWN = 0.5  # of all tokens


class Editor:
    """May be used from several threads; they take turns with the model."""

    def __init__(
        self,
        decoder: CheckpointDecoder,
        tokeniser: Tokeniser,
        max_tokens: int = MAX_TOKENS,
        split: bool = True,
        language: str | None = None,
        min_confidence: float = 0.0,
    ):
        """``split``: into sentences, not only into lines; ``language``: of the text, else guessed for each;
        ``min_confidence``: edits that are less sure than this are left out.
        """
        self.decoder, self.tokeniser, self.max_tokens = decoder, tokeniser, max_tokens
        bounded("--min-confidence", min_confidence, 0, 1)
        self.min_confidence = min_confidence
        self.split, self.language = split, language
        self.offsets = offsets_of(tokeniser)
        kind = Refining if isinstance(decoder.models[0], LevT) else Writing
        self.system: Refining | Writing = kind(decoder)
        limits = decoder.max_positions if isinstance(decoder.max_positions, tuple) else (decoder.max_positions,)
        self.longest = min(limits) - BOUNDARIES
        self.lock = threading.Lock()
        self.warned = False

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
        **options: Any,
    ) -> Editor:
        """``path``: a model folder, whose own settings hold where others are not given, or a checkpoint.

        ``data``: the folder with its dictionaries, and ``backbone``: the one from import-pretrained, if they have moved
        since the training; ``bpe``: as fairseq builds it, by default the sentencepiece model in ``data``, if any;
        ``search``: decoding flags of fairseq; ``overrides``: flags of the task, such as ``{"keep_bias": 1.0}``;
        ``cpu_int8``: products in 8 bits; ``options``: those of the class.
        """
        folder = model_folder.read_kind(path, model_folder.EDITOR, data=data, backbone=backbone, bpe=bpe)
        changed = {**(overrides or {}), "cpu_int8": cpu_int8, **places(data, backbone)}
        if folder is not None:
            bpe = folder.bpe(Path(path))
            changed = {**folder.decoding.overrides, **changed}
            search = {**folder.decoding.search, **(search or {})}
            options = {**folder.decoding.options, **options}
        decoder = CheckpointDecoder([Path(path)], changed, search or {}, device)
        require_editor(decoder.loaded, path)
        return cls(decoder, Tokeniser(bpe if folder else tokeniser_of(decoder.task, bpe)), **options)

    # ---- from texts to sentences and back ----------------------------------------------------------------------------

    def edit(
        self,
        texts: Sequence[str],
        drafts: Sequence[str] | None = None,
        languages: Sequence[str | None] | None = None,
    ) -> list[Edited]:
        """What is edited is the text, or its draft where there are drafts: these may have marks, and are not cut.

        ``languages``: of each text, such as "de"; None: that of the editor.
        """
        require(languages is None or drafts is None, "languages are for texts without drafts: leave them out")
        languages = [None] * len(texts) if languages is None else languages
        require(len(languages) == len(texts), f"there are {len(texts):,} texts, but {len(languages):,} languages")
        for text in [*texts, *(drafts or [])]:
            require_encodable(text)
        if drafts is not None:
            require(self.system.drafts, "drafts are for a levt: a model of text_correction edits the text itself")
            require(len(drafts) == len(texts), f"there are {len(texts):,} texts, but {len(drafts):,} drafts")
        given = (
            [self.of_draft(*pair) for pair in zip(texts, drafts, strict=True)]
            if drafts is not None
            else [self.of_text(*pair) for pair in zip(texts, languages, strict=True)]
        )
        jobs = [(i, start, passage) for i, (_, parts) in enumerate(given) for start, passage in parts]
        edits: list[list[Edit]] = [[] for _ in given]
        for (i, start, _), found in zip(jobs, self.edits_of([passage for *_, passage in jobs]), strict=True):
            edits[i] += moved(found, start)
        whole = (Edited(text, tuple(found)) for (text, _), found in zip(given, edits, strict=True))
        return [edited.sure(self.min_confidence) for edited in whole]

    def of_text(self, text: str, language: str | None = None) -> tuple[str, list[tuple[int, Passage]]]:
        """The text itself, and its sentences with their places."""
        spans = sentences(text, language or self.language) if self.split else lines(text)
        parts = [part for span in spans for part in fitting(text, span, self.fits)]
        return text, [(start, self.passage(text[start:end])) for start, end in parts]

    def passage(self, text: str) -> Passage:
        return Passage(text, self.offsets.units(text))

    def fits(self, text: str) -> bool:
        return len(self.passage(text).pieces) <= self.longest

    def of_draft(self, source: str, draft: str) -> tuple[str, list[tuple[int, Passage]]]:
        """The draft without its marks, and all of it as one sentence."""
        plain, _ = marks.parse_marks(draft)
        start, end = next(bare(plain, 0, len(plain)), Span(0, 0))
        units = self.offsets.units(plain[start:end])
        given = self.tokeniser.pieces(source.removeprefix(BYTE_ORDER_MARK))
        for what, length in (("source", len(given)), ("draft", sum(len(unit.pieces) for unit in units))):
            require(
                length <= self.longest,
                f"a {what} has {length:,} tokens, but the model takes at most {self.longest:,}: shorten it, or edit "
                "without drafts, where long texts are cut",
            )
        # last, because its time grows with the tokens times the marks
        pieces, asked = marks.tokenize(draft.removeprefix(BYTE_ORDER_MARK), self.tokeniser.encode)
        passage = Passage(plain[start:end], units, given, asked)
        require(passage.pieces == pieces, f"the draft {draft!r} is not cut as its text without marks: leave them out")
        return plain, [(start, passage)]

    # ---- the model -------------------------------------------------------------------------------------------------

    def edits_of(self, given: list[Passage]) -> list[list[Edit]]:
        found: list[list[Edit]] = [[] for _ in given]
        self.warn_of_unknown(given)
        if given:
            with self.lock, torch.no_grad():
                for i, edits in self.decoded(given):
                    found[i] = edits
        return found

    def warn_of_unknown(self, given: list[Passage]) -> None:
        """Once: text with so many unknown words was most likely cut by another tokeniser than the model's.

        A model with spelling-aware words is made for unknown words.
        """
        if getattr(self.decoder.task, "spelling_buckets", None):
            return
        words = self.decoder.task.target_dictionary
        ids = [i for passage in given for i in ids_of(passage.pieces, words)]
        unknown = ids.count(words.unk())
        if not self.warned and unknown > MANY_UNKNOWN * len(ids):
            self.warned = True
            logger.warning(
                f"{unknown:,} of the first {len(ids):,} tokens are not in the model's dictionary: check that --bpe and "
                "its flags are those that its data was made with"
            )

    def decoded(self, given: list[Passage]) -> Iterator[tuple[int, list[Edit]]]:
        best = list(self.decoder.best(self.system.dataset(given), range(len(given)), self.max_tokens))
        those, hypotheses = [given[i] for i, _ in best], [hypothesis for _, hypothesis in best]
        written = self.system.written(those, hypotheses)
        changed = [self.rewritten(*pair) for pair in zip(those, written, strict=True)]
        judged = self.system.judge(those, hypotheses, written, changed)
        for (i, _), some, sure in zip(best, changed, judged, strict=True):
            yield i, list(judged_edits(some, sure))

    def rewritten(self, passage: Passage, written: Written) -> list[Rewrite]:
        found = rewrites(passage.text, passage.units, written.pieces, written.origin, self.offsets)
        unknown = self.decoder.task.target_dictionary.unk()
        new = [i == unknown and place is None for i, place in zip(written.ids, written.origin, strict=True)]
        return [each for each in found if not any(new[each.written.start : each.written.stop])]


def require_editor(loaded: Loaded, path: str | Path) -> None:
    model, task = loaded.models[0], loaded.task
    require(
        isinstance(model, LevT) or isinstance(task, TextCorrectionTask),
        f"{path} is of --task {task.name} with --arch {model.__class__.__name__}: text is edited by a levt or a model "
        "of text_correction",
    )


def tokeniser_of(task: Any, bpe: Namespace | None) -> Namespace | None:
    """What was given, or the sentencepiece model that was learned with the data of a checkpoint, if any."""
    learned = Path(split_paths(task.cfg.data)[0], MODEL)
    if bpe is None and learned.is_file():
        return Namespace(bpe="sentencepiece", sentencepiece_model=str(learned))
    return bpe


def judged_edits(found: list[Rewrite], sure: Iterable[tuple[float, int]]) -> Iterator[Edit]:
    for rewrite, (confidence, iteration) in zip(found, sure, strict=True):
        yield replace(rewrite.edit, confidence=confidence, iteration=iteration)
