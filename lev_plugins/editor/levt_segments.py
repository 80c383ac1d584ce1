"""Edits of segments of text with the graphs of a levt."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from math import log, log1p
from pathlib import Path
from typing import Any

from lev_plugins.editor.calibration import evidence
from lev_plugins.editor.folder import StoredIndex, whole_number
from lev_plugins.editor.onnx_refinement import GraphPolicies, Graphs
from lev_plugins.editor.options import EditOptions
from lev_plugins.editor.segments import BOUNDARIES, Origin, SegmentDecoder, dictionaries_of, sigmoid
from lev_plugins.editor.word_features import IntendedWordFeatures
from lev_plugins.edits.candidates import CAPITALISED, CASES, UPPERCASE, lexical_count, lower_case, word_shape
from lev_plugins.edits.options import FAIRSEQ_FLAGS, REFINEMENT_TASK_FLAGS, RefinementOptions
from lev_plugins.edits.refinement import Refiner, Sentence
from lev_plugins.text.edited import Edit
from lev_plugins.text.ids import BLANK, BOS, EOS, UNK, Rows, TokenDictionary, ids_of, with_unknown_ids
from lev_plugins.text.language import probability_of
from lev_plugins.text.lexicon import Lexicon
from lev_plugins.text.mark_bits import KEEP
from lev_plugins.text.protected import capitalised
from lev_plugins.text.rewrites import Rewrite, rewrites, split_by_word
from lev_plugins.text.segments import Segment, WordEdits
from lev_plugins.utils.model_folder import SEARCH_FLAGS, ModelConfig
from lev_plugins.utils.ranges import check_ranges

REFINEMENT_FLAGS = FAIRSEQ_FLAGS | REFINEMENT_TASK_FLAGS
# A sentence counts as foreign if two tests agree. The mean log(1 + count) of its words, without the rarest, is below
# MAX_FAMILIARITY (tested first, because it is fast), and its probability, by its letters, of being in the model's
# language is below MIN_PROBABILITY.
MAX_FAMILIARITY, MIN_PROBABILITY = 6.0, 0.03
MIN_ALTERNATIVE = log(0.01)  # log-probability from which another word for a placeholder is reported


class LevTSegments(SegmentDecoder):
    """Edits segments with a levt: the text is source and draft, or there is a draft of its own, which may have marks.

    The confidence of an edit is sigmoid(o + l), which is p(edit) / (p(edit) + p(leaving the text alone)) as far as the
    policies were queried. o: the log-odds of pi_del deleting each word that the edit deletes, added up; if it deletes
    none, the log-odds of pi_plh inserting anything in the slot that was opened first. l: the sum of log pi_tok of the
    words that it inserts. What a mark demands has infinite log-odds.
    """

    task, drafts = "text_editing", True
    language: str | None = None  # that of its training text, if the folder says it
    keep_bias = 0.0  # as in ``RefinementOptions``

    def __init__(self, folder: Path, config: ModelConfig, options: EditOptions) -> None:
        """
        folder: the model folder
        config: the contents of its config.json
        options: settings of decoding and computation
        """
        flags = {**config.task_flags, **options.given("keep_bias", *SEARCH_FLAGS)}
        settings = {name: value for name, value in flags.items() if name in REFINEMENT_FLAGS}
        check_ranges(Namespace(**settings))
        spells = bool(config.model_flags.get("spelling"))
        super().__init__(*dictionaries_of(folder, config), options.batch_tokens, spells)
        self.language = config.decoding.language if spells else None
        self.placeholder = self.words.size if config.model_flags.get("placeholder") == "plh" else UNK
        self.index = StoredIndex(self.words, folder, config) if spells else None
        self.lexicon = self.index.lexicon if self.index else None
        self.graphs = Graphs(folder, options.bits, self.words.size, self.placeholder, options.device)
        refinement: dict[str, Any] = {REFINEMENT_FLAGS[name]: value for name, value in settings.items()}
        positions = whole_number(config.model_flags, "max_target_positions")
        self.refiner = Refiner(RefinementOptions(**refinement), self.placeholder, positions)
        self.keep_bias = self.refiner.options.keep_bias

    def try_out(self) -> None:
        """Runs each graph once, with the last word of each dictionary."""
        refiner = Refiner(replace(self.refiner.options, max_iter=0), self.placeholder, self.refiner.max_tokens)
        draft, marks = [BOS, self.words.size - 1, self.placeholder, EOS], [0, KEEP, KEEP, 0]
        refiner.refine(self.policies([[BOS, self.source.size - 1, EOS]], []), [3], [draft], [marks])

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        self.warn_of_unknown(segments)
        results = self.map_in_batches(self.refine_segments, segments, sizes_of(segments))
        edits = (self.edits(segment, *result) for segment, result in zip(segments, results, strict=True))
        # after decoding, because only sentences with edits need the test
        return [[] if row and self.is_foreign(segment) else row for segment, row in zip(segments, edits, strict=True)]

    def is_foreign(self, segment: Segment) -> bool:
        """Returns whether a segment without a draft is in another language than the model's; then it stays as it is."""
        if self.language is None or segment.source is not None:
            return False
        words = [piece for piece in segment.pieces if sum(map(str.isalpha, piece)) > 1]
        familiarity = sorted(log1p(self.count(word)) for word in words)[1:]
        is_suspicious = sum(familiarity) < MAX_FAMILIARITY * len(familiarity)
        return is_suspicious and probability_of(self.language, segment.text) < MIN_PROBABILITY

    def count(self, piece: str) -> int:
        return super().count(piece) or lexical_count(piece, self.lexicon)

    def refine_segments(self, segments: list[Segment]) -> list[tuple[list[int], WordEdits]]:
        """Returns the tokens that each segment became, with </s>, and how."""
        sources, drafts, unknown = self.rows(segments)
        marks = [[*(segment.requests or [0] * (len(segment.pieces) + 1)), 0] for segment in segments]
        return [sentence.edits() for sentence in self.refine(sources, drafts, marks, unknown)]

    def rows(self, segments: list[Segment]) -> tuple[Rows, Rows, list[str]]:
        """Returns the sources and drafts of segments, and the unknown words in them."""
        unknown: dict[str, int] = {}

        def row(pieces: list[str], dictionary: TokenDictionary, spells: bool) -> list[int]:
            ids = ids_of(pieces, dictionary)
            if spells:
                spellings = [piece for i, piece in zip(ids, pieces, strict=True) if i == UNK]
                ids = with_unknown_ids(ids, spellings, unknown, self.words.size + 1)
            return [BOS, *ids, EOS]

        texts = (segment.pieces if segment.source is None else segment.source for segment in segments)
        sources = [row(pieces, self.source, self.spells) for pieces in texts]
        drafts = [row(segment.pieces, self.words, True) for segment in segments]
        return sources, drafts, list(unknown)

    def refine(self, sources: Rows, drafts: Rows, marks: Rows, unknown: list[str]) -> list[Sentence]:
        """Refines drafts, with boundaries; ``unknown`` are the words whose ids come after the placeholder."""
        return self.refiner.refine(self.policies(sources, unknown), map(len, sources), drafts, marks)

    def policies(self, sources: Rows, unknown: list[str]) -> GraphPolicies:
        spelling = None if self.index is None else IntendedWordFeatures(self.index, unknown)
        return GraphPolicies(self.graphs, sources, spelling)

    def edits(self, segment: Segment, tokens: list[int], record: WordEdits) -> list[Edit]:
        """Returns the edits of a segment that became ``tokens``, with </s>."""
        origin = [place - 1 if place > 0 else None for place in record.origin[:-1]]  # <s> of the draft is at 0
        pieces = self.pieces(segment, tokens[:-1], origin)
        if self.lexicon is not None and segment.source is None:
            self.correct_listed(segment, record, pieces, origin, self.lexicon)
        return [
            replace(
                self.edit(segment, record, pieces, origin, change),
                alternatives=tuple(self.alternatives(segment, record, pieces, origin, change)),
            )
            for change in word_changes(segment, pieces, origin)
        ]

    def correct_listed(
        self, segment: Segment, record: WordEdits, pieces: list[str], origin: Origin, lexicon: Lexicon
    ) -> None:
        """Writes the listed correction of each unknown misspelling that the model kept, or replaced by another word.

        Changes ``record``, ``pieces`` and ``origin`` in place. Of several corrections, the one that occurs most often
        in the training text is written. The log-odds of the edit are still the model's, of deleting the misspelling.
        """
        # the place in the output of each piece that was kept, and of the two ends
        kept_at = {-1: -1, len(segment.pieces): len(pieces)} | {o: i for i, o in enumerate(origin) if o is not None}
        for place, piece in enumerate(segment.pieces):
            if segment.requests and segment.requests[place + 1] & KEEP:  # the first request is that of <s>
                continue
            is_unknown = self.words.index(piece) < self.words.nspecial
            corrections = lexicon.corrections(lower_case(piece)) if is_unknown else []
            is_kept = place in kept_at
            i = kept_at[place] if is_kept else kept_at.get(place - 1, len(pieces)) + 1
            # replaced by one word: exactly one new word is between its two neighbours, which were kept
            is_replaced = not is_kept and kept_at.get(place + 1) == i + 1
            if not corrections or not (is_kept or is_replaced) or lower_case(pieces[i]) in corrections:
                continue
            pieces[i] = max((in_case_of(piece, correction) for correction in corrections), key=self.count)
            origin[i] = None
            record.log_probs[i], record.alternatives[i] = -log(len(corrections)), []  # each is as likely
            if is_kept:
                record.inserted_at[i] = record.deleted_at[place + 1] = 1
                # the log-odds of a kept word are raw; from those of a deleted one, --keep-bias has been subtracted
                record.deletion_log_odds[place + 1] -= self.keep_bias

    def alternatives(
        self, segment: Segment, record: WordEdits, pieces: list[str], origin: Origin, change: Rewrite
    ) -> Iterator[Edit]:
        """Yields the edits that put each of the other likely words in the only placeholder of a change."""
        places = [i for i in change.inserted if origin[i] is None]
        if len(places) != 1 or not record.alternatives:
            return
        (place,), span = places, (change.edit.start, change.edit.end)
        for word, log_prob in record.alternatives[place]:
            variant = [*pieces[:place], self.spelling(word), *pieces[place + 1 :]]
            if log_prob < MIN_ALTERNATIVE or variant == pieces:
                continue
            log_probs = [*record.log_probs[:place], log_prob, *record.log_probs[place + 1 :]]
            for variant_change in word_changes(segment, variant, origin):
                edit = variant_change.edit
                if variant_change.inserted == change.inserted and (edit.start, edit.end) == span:
                    yield self.edit(segment, replace(record, log_probs=log_probs), variant, origin, variant_change)

    def edit(self, segment: Segment, record: WordEdits, pieces: list[str], origin: Origin, change: Rewrite) -> Edit:
        """Returns the edit of a change, with its confidence and iteration."""
        deleted = [piece + 1 for piece in change.removed if piece not in origin]  # the record begins with <s>
        inserted = [i for i in change.inserted if origin[i] is None]
        iterations = [*(record.deleted_at[place] for place in deleted), *(record.inserted_at[i] for i in inserted)]
        odds = [record.deletion_log_odds[place] for place in deleted]
        if not odds:
            earliest = min(inserted, key=record.inserted_at.__getitem__)
            odds = [record.insertion_log_odds[earliest]]
        choice = sum(record.log_probs[i] for i in inserted)
        # calibrations were fitted with the least certain deletion, not with the sum
        features = evidence(segment, change, pieces, self.count, min(odds), choice)
        if self.is_listed(segment, change, pieces):
            features = features._replace(listed=1.0, affix=0.0)
        confidence = sigmoid(sum(odds) + choice)
        return replace(change.edit, confidence=confidence, iteration=max(iterations), evidence=features)

    def is_listed(self, segment: Segment, change: Rewrite, pieces: list[str]) -> bool:
        """Returns whether the lexicon has a change as the correction of a misspelling."""
        if self.lexicon is None or len(change.removed) != 1 or len(change.inserted) != 1:
            return False
        wrong, right = (
            lower_case(row[place]) for row, (place,) in ((segment.pieces, change.removed), (pieces, change.inserted))
        )
        return right in self.lexicon.corrections(wrong)


def in_case_of(piece: str, word: str) -> str:
    """Returns a word in small letters with the blank and the capitals of a piece.

    >>> in_case_of("▁Teh", "the"), in_case_of("TEH", "the"), in_case_of("▁tEh", "the")
    ('▁The', 'THE', '▁the')
    """
    blank, case = BLANK if piece.startswith(BLANK) else "", word_shape(piece) % CASES
    return blank + {CAPITALISED: capitalised, UPPERCASE: str.upper}.get(case, str)(word)


def sizes_of(segments: list[Segment]) -> list[int]:
    """Returns how many tokens a levt reads of each segment, or of its source if that is longer."""
    return [max(len(segment.pieces), len(segment.source or ())) + BOUNDARIES for segment in segments]


def word_changes(segment: Segment, pieces: list[str], origin: Origin) -> list[Rewrite]:
    """Returns what a model changed in a segment, word by word where it replaced several."""
    changes = rewrites(segment, pieces, origin)
    return [part for change in changes for part in split_by_word(segment, change, pieces, origin)]
