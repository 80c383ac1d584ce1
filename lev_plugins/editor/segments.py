"""Edits of segments of text by any model, whether torch or ONNX Runtime computes it."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, log
from typing import TypeVar

import numpy as np
from rapidfuzz.distance import LCSseq

from lev_plugins.editor.calibration import evidence, log_odds
from lev_plugins.edits.refinement import Sentence
from lev_plugins.text.edited import Edit
from lev_plugins.text.ids import BOS, EOS, UNK, ExtendedDictionary, Rows, TokenDictionary, ids_of, with_unknown_ids
from lev_plugins.text.rewrites import UNKNOWN, Rewrite, rewrites, split_by_word
from lev_plugins.text.segments import Segment, WordEdits

logger = logging.getLogger(__name__)

BOUNDARIES = 2  # <s> and </s>
SUSPICIOUS_UNKNOWN = 0.5  # share of unknown tokens from which the tokeniser is most likely not the model's
MIN_ALTERNATIVE = log(0.01)  # log-probability from which another word for a placeholder is reported
MAX_EXPONENT = 700.0  # exp of it is still finite

Item = TypeVar("Item")
Result = TypeVar("Result")
Origin = list[int | None]  # for each token of an output, its place in the input; None: it is new


def batches(sizes: Sequence[int] | Mapping[int, int], indices: Iterable[int], max_tokens: int) -> Iterator[list[int]]:
    """Yields batches of indices with similar sizes; what is longer than ``max_tokens`` is a batch by itself.

    >>> list(batches([3, 9, 2, 4], range(4), max_tokens=8))
    [[2, 0], [3], [1]]
    """
    batch: list[int] = []
    for index in sorted(indices, key=sizes.__getitem__):
        if batch and sizes[index] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


class SegmentDecoder:
    """The part of a ``SegmentModel`` that does not depend on how it writes."""

    task: str
    drafts: bool

    def __init__(
        self, dictionaries: Sequence[TokenDictionary], limits: Sequence[int], max_tokens: int, spells: bool = False
    ) -> None:
        """
        dictionaries: those of source and target
        limits: the positions that the model has for each of the two
        max_tokens: the size of a batch
        spells: the model reads and writes words that its dictionary lacks
        """
        (self.source, self.words), self.max_tokens, self.spells = dictionaries, max_tokens, spells
        self.warned = spells
        self.longest, self.longest_output = min(limits) - BOUNDARIES, limits[-1]
        self.symbols: Collection[str] = {symbol for words in dictionaries for symbol in words.symbols[words.nspecial :]}

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        """Returns the edits of each segment."""
        raise NotImplementedError

    def map_in_batches(
        self, function: Callable[[list[Item]], Iterable[Result]], items: Sequence[Item], sizes: Sequence[int]
    ) -> list[Result]:
        """Applies a function of lists to all items, in batches of at most ``max_tokens``."""
        results: dict[int, Result] = {}
        for batch in batches(sizes, range(len(items)), self.max_tokens):
            results |= zip(batch, function([items[i] for i in batch]), strict=True)
        return [results[i] for i in range(len(items))]

    def pieces(self, segment: Segment, tokens: list[int], origin: Origin) -> list[str]:
        """Spells an output; tokens from the segment are spelt as there, even if the dictionary lacks them."""
        places = zip(tokens, origin, strict=True)
        return [self.spelling(i) if place is None else segment.pieces[place] for i, place in places]

    def spelling(self, token: int) -> str:
        """Spells a token of the output; a special symbol counts as unknown, so it changes nothing."""
        return self.words[token] if token >= self.words.nspecial else UNKNOWN

    def count(self, piece: str) -> int:
        """Returns how often a piece occurs in the training text; 0 if the dictionary lacks it."""
        token = self.words.index(piece)
        return max(1, self.words.count[token]) if token >= self.words.nspecial else 0

    def warn_of_unknown(self, segments: list[Segment]) -> None:
        """Warns, once, of text with so many unknown pieces that it was most likely cut by another tokeniser."""
        if self.warned:
            return
        pieces = [piece for segment in segments for piece in segment.pieces]
        unknown = sum(not self.count(piece) for piece in pieces)
        if unknown > SUSPICIOUS_UNKNOWN * len(pieces):
            self.warned = True
            logger.warning(
                f"{unknown:,} of the first {len(pieces):,} tokens are not in the model's dictionary: check that --bpe "
                "and its flags are those that its data was made with"
            )


class LevTSegments(SegmentDecoder):
    """Segments through a levt: the text is source and draft, or there is a draft of its own, which may have marks.

    The confidence of an edit is p(edit) / (p(edit) + p(leaving the text alone)), as far as the policies were queried:
    it adds up the log-odds of deleting each word that it deletes, or where it deletes none, of inserting anything in
    its place; and the log-probabilities of the words that it inserts. What a mark demands is certain.
    """

    task, drafts = "text_editing", True
    words: ExtendedDictionary

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        self.warn_of_unknown(segments)
        results = self.map_in_batches(self.refine_segments, segments, sizes_of(segments))
        return [self.edits(segment, *result) for segment, result in zip(segments, results, strict=True)]

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
        raise NotImplementedError

    def edits(self, segment: Segment, tokens: list[int], edits: WordEdits) -> list[Edit]:
        """Returns the edits of a segment that became ``tokens``, with </s>."""
        origin = [place - 1 if place > 0 else None for place in edits.origin[:-1]]  # <s> of the draft is at 0
        pieces = self.pieces(segment, tokens[:-1], origin)
        return [
            replace(
                self.edit(segment, edits, pieces, origin, change),
                alternatives=tuple(self.alternatives(segment, edits, pieces, origin, change)),
            )
            for change in word_changes(segment, pieces, origin)
        ]

    def alternatives(
        self, segment: Segment, edits: WordEdits, pieces: list[str], origin: Origin, change: Rewrite
    ) -> Iterator[Edit]:
        """Yields the edits that put each of the other likely words in the only placeholder of a change."""
        places = [i for i in change.inserted if origin[i] is None]
        if len(places) != 1 or not edits.alternatives:
            return
        (place,), span = places, (change.edit.start, change.edit.end)
        for word, log_prob in edits.alternatives[place]:
            variant = [*pieces[:place], self.spelling(word), *pieces[place + 1 :]]
            if log_prob < MIN_ALTERNATIVE or variant == pieces:
                continue
            log_probs = [*edits.log_probs[:place], log_prob, *edits.log_probs[place + 1 :]]
            for variant_change in word_changes(segment, variant, origin):
                edit = variant_change.edit
                if variant_change.inserted == change.inserted and (edit.start, edit.end) == span:
                    yield self.edit(segment, replace(edits, log_probs=log_probs), variant, origin, variant_change)

    def edit(self, segment: Segment, edits: WordEdits, pieces: list[str], origin: Origin, change: Rewrite) -> Edit:
        """Returns the edit of a change, with its confidence and iteration."""
        deleted = [piece + 1 for piece in change.removed if piece not in origin]
        inserted = [i for i in change.inserted if origin[i] is None]
        iterations = [*(edits.deleted_at[place] for place in deleted), *(edits.inserted_at[i] for i in inserted)]
        odds = [edits.deletion_log_odds[place] for place in deleted]
        if not odds:
            earliest = min(inserted, key=edits.inserted_at.__getitem__)
            odds = [edits.insertion_log_odds[earliest]]
        choice = sum(edits.log_probs[i] for i in inserted)
        return replace(
            change.edit,
            confidence=sigmoid(sum(odds) + choice),
            iteration=max(iterations),
            evidence=evidence(segment, change, pieces, self.count, min(odds), choice),
        )


class Seq2SeqSegments(SegmentDecoder):
    """Segments through a model of ``text_correction``, which writes the corrected text from left to right.

    A minimal alignment says which tokens were kept. The confidence of an edit is p(h) / (p(h) + p(h with this edit
    undone)), where p is the probability of a whole sentence under the model, by teacher forcing. For a sentence with
    one edit it is what --min-edit-confidence compares.
    """

    task, drafts = "text_correction", False

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        self.warn_of_unknown(segments)
        sources = [[*ids_of(segment.pieces, self.source), EOS] for segment in segments]
        inputs = [ids_of(segment.pieces, self.words) for segment in segments]
        rows = self.map_in_batches(self.write, sources, [*map(len, sources)])
        outputs = [[token for token in row if token not in (BOS, EOS)] for row in rows]
        origins = [resolve_unknown(align_output(*pair), *pair, UNK) for pair in zip(inputs, outputs, strict=True)]
        pieces = [self.pieces(*row) for row in zip(segments, outputs, origins, strict=True)]
        changes = [rewrites(*row) for row in zip(segments, pieces, origins, strict=True)]
        confidences = self.confidences(sources, inputs, outputs, changes)
        return [
            [self.edit(segment, row, change, next(confidences)) for change in changes_of_segment]
            for segment, row, changes_of_segment in zip(segments, pieces, changes, strict=True)
        ]

    def write(self, sources: Rows) -> Rows:
        """Returns the output for each source, all with </s>."""
        raise NotImplementedError

    def score(self, sources: Rows, outputs: Rows) -> list[float]:
        """Returns the log-probability of an output for each source, all with </s>."""
        raise NotImplementedError

    def edit(self, segment: Segment, pieces: list[str], change: Rewrite, confidence: float) -> Edit:
        features = evidence(segment, change, pieces, self.count, log_odds(confidence), 0.0)
        return replace(change.edit, confidence=confidence, evidence=features)

    def confidences(self, sources: Rows, inputs: Rows, outputs: Rows, changes: list[list[Rewrite]]) -> Iterator[float]:
        """Yields the confidence of each change; 0 where the output without it is too long for the model."""
        pairs: list[tuple[list[int], list[int]]] = []  # sources, each with an output: as written, and without a change
        places: list[tuple[int, int]] = []  # for each change, where ``pairs`` has the output with it, and without it
        for source, tokens, output, changes_of_segment in zip(sources, inputs, outputs, changes, strict=True):
            undone = [
                output[: inserted.start] + tokens[removed.start : removed.stop] + output[inserted.stop :]
                for _, removed, inserted in changes_of_segment
            ]
            places += [(len(pairs), len(pairs) + number) for number in range(1, len(undone) + 1)]
            pairs += [(source, [*row, EOS]) for row in (output, *undone) if changes_of_segment]
        short = [place for place, (_, output) in enumerate(pairs) if len(output) <= self.longest_output]
        short_pairs = [pairs[place] for place in short]
        sizes = [max(map(len, pair)) for pair in short_pairs]
        values = self.map_in_batches(lambda batch: self.score(*zip(*batch, strict=True)), short_pairs, sizes)
        scores = dict(zip(short, values, strict=True))
        for whole, without in places:
            share = sigmoid(scores[whole] - scores[without]) if {whole, without} <= scores.keys() else 0.0
            yield float(np.float32(share))  # the precision that calibrations are fitted with


def sizes_of(segments: list[Segment]) -> list[int]:
    """Returns how many tokens a levt reads of each segment, or of its source if that is longer."""
    return [max(len(segment.pieces), len(segment.source or ())) + BOUNDARIES for segment in segments]


def align_output(source: list[int], target: list[int]) -> Origin:
    """Returns the place in ``source`` of each token of ``target``, as ``edits.expert.align`` does.

    >>> align_output([11, 12, 13], [12, 14, 13, 15])
    [1, None, 2, None]
    """
    origin: Origin = [None] * len(target)
    # rapidfuzz pairs a common end first: two different ends that no text has prevent that
    for block in LCSseq.editops([*target, -2], [*source, -3]).as_matching_blocks():
        origin[block.a : block.a + block.size] = range(block.b, block.b + block.size)
    return origin


def resolve_unknown(origin: Origin, source: list[int], target: list[int], unknown: int) -> Origin:
    """Returns the alignment with other pairs of unknown words: those that are nearest in position.

    All unknown words have the same id, so an alignment may pair the wrong ones. Between two known words, the aligned
    unknown words of the target are paired with those of the source that are nearest in position, counted from both
    known words. Where ``a ? ? ? b`` became ``a x y ? b``, the ``?`` is the fourth word of the source, not the second:

    >>> resolve_unknown([0, None, None, 1, 4], [5, 3, 3, 3, 6], [5, 8, 9, 3, 6], unknown=3)
    [0, None, None, 3, 4]
    """
    resolved = list(origin)
    anchors = [(here, there) for here, there in enumerate(origin) if there is not None and target[here] != unknown]
    for start, end in pairwise([(-1, -1), *anchors, (len(target), len(source))]):
        rows = [here for here in range(start[0] + 1, end[0]) if origin[here] is not None]
        if not rows:
            continue
        from scipy.optimize import linear_sum_assignment  # not at once: it takes as long as a small model

        free = np.array([there for there in range(start[1] + 1, end[1]) if source[there] == unknown])
        here = np.array(rows)[:, None]
        moves = abs(free - start[1] - here + start[0]) + abs(end[1] - free - end[0] + here)
        # a move costs more than any sum of columns, which decide only between equal moves, for the leftmost words
        costs = moves * len(source) ** 2 + np.arange(len(free))
        for row, column in zip(rows, sorted(linear_sum_assignment(costs)[1]), strict=True):
            resolved[row] = int(free[column])
    return resolved


def sigmoid(log_odds: float) -> float:
    return 1 / (1 + exp(-max(-MAX_EXPONENT, log_odds)))


def word_changes(segment: Segment, pieces: list[str], origin: Origin) -> list[Rewrite]:
    """Returns what a model changed in a segment, word by word where it replaced several."""
    changes = rewrites(segment, pieces, origin)
    return [part for change in changes for part in split_by_word(segment, change, pieces, origin)]
