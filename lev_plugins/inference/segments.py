"""What all models that edit segments of text have in common, whatever computes them: torch or ONNX Runtime."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from math import exp, log
from typing import Any

import numpy as np
from rapidfuzz.distance import LCSseq

from lev_plugins.generators.refinement import Sentence
from lev_plugins.text.calibration import evidence, log_odds
from lev_plugins.text.edited import Edit
from lev_plugins.text.ids import BOS, EOS, UNK, Rows, ids_of, numbered
from lev_plugins.text.rewrites import UNKNOWN, Rewrite, by_word, rewrites
from lev_plugins.text.segments import Segment, WordEdits

logger = logging.getLogger(__name__)

BOUNDARIES = 2
MANY_UNKNOWN = 0.5  # of all tokens
LEAST = log(0.01)  # log-probability of a word that is offered beside the best one
LARGE = 700.0  # log-odds whose exponential is still a number


def batches(sizes: Any, indices: Iterable[int], max_tokens: int) -> Iterator[list[int]]:
    """Of similar sizes; what is longer than ``max_tokens`` is a batch by itself.

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


def in_batches(answer: Callable[[list[Any]], Iterable[Any]], items: Sequence[Any], sizes: Any, most: int) -> list[Any]:
    """What it answers to each of the items, of which at most ``most`` tokens are asked about together."""
    found: dict[int, Any] = {}
    for batch in batches(sizes, range(len(items)), most):
        found |= zip(batch, answer([items[i] for i in batch]), strict=True)
    return [found[i] for i in range(len(items))]


class SegmentDecoder:
    """What the kinds of ``SegmentModel`` share."""

    def __init__(self, dictionaries: Sequence[Any], limits: Sequence[int], max_tokens: int, spells: bool = False):
        """``dictionaries`` of source and target; ``limits``: their positions; ``spells``: the model is made for unknown
        words.
        """
        (self.source, self.words), self.max_tokens, self.spells = dictionaries, max_tokens, spells
        self.warned = spells
        self.longest, self.longest_output = min(limits) - BOUNDARIES, limits[-1]
        self.symbols: Collection[str] = {symbol for words in dictionaries for symbol in words.symbols[words.nspecial :]}

    def pieces(self, segment: Segment, written: list[int], origin: list[int | None]) -> list[str]:
        """A piece that was kept is spelt as in the segment, also where the dictionary does not know it."""
        places = zip(written, origin, strict=True)
        return [self.spelling(i) if place is None else segment.pieces[place] for i, place in places]

    def spelling(self, number: int) -> str:
        """Returns how a text spells a word that was written; special symbols count as unknown, and change nothing."""
        return self.words[number] if number >= self.words.nspecial else UNKNOWN

    def count(self, piece: str) -> int:
        """How often it occurs in the training text; 0 if the dictionary lacks it."""
        number = self.words.index(piece)
        return max(1, self.words.count[number]) if number >= self.words.nspecial else 0

    def warn_of_unknown(self, segments: list[Segment]) -> None:
        """Once: text with so many unknown words was most likely made by another tokeniser than the model's."""
        if self.warned:
            return
        pieces = [piece for segment in segments for piece in segment.pieces]
        unknown = sum(not self.count(piece) for piece in pieces)
        if unknown > MANY_UNKNOWN * len(pieces):
            self.warned = True
            logger.warning(
                f"{unknown:,} of the first {len(pieces):,} tokens are not in the model's dictionary: check that --bpe "
                "and its flags are those that its data was made with"
            )


class RefinedSegments(SegmentDecoder):
    """Segments through a levt: the text is source and draft, or there is a draft of its own, which may have marks.

    The confidence of an edit is p(edit) / (p(edit) + p(leaving the text alone)), as far as the policies were asked:
    the log-odds of deleting each word that it deletes, or where it deletes none, of inserting anything in its
    place; and the log-probabilities of the words that it inserts. What a mark asks for is certain.
    """

    task, drafts = "text_editing", True

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        self.warn_of_unknown(segments)
        sizes = [max(len(each.pieces), len(each.source or ())) + BOUNDARIES for each in segments]
        found = in_batches(self.refined, segments, sizes, self.max_tokens)
        return [self.edits(segment, *one) for segment, one in zip(segments, found, strict=True)]

    def refined(self, segments: list[Segment]) -> list[tuple[list[int], WordEdits]]:
        """Of each segment, what it became, with </s>, and how."""
        unknown: dict[str, int] = {}

        def row(pieces: list[str], words: Any, apart: bool) -> list[int]:
            ids = ids_of(pieces, words)
            spelt = [piece for i, piece in zip(ids, pieces, strict=True) if i == UNK]
            return [BOS, *(numbered(ids, spelt, unknown, self.words.size + 1) if apart else ids), EOS]

        read = (each.pieces if each.source is None else each.source for each in segments)
        sources = [row(pieces, self.source, self.spells) for pieces in read]
        drafts = [row(each.pieces, self.words, True) for each in segments]
        marks = [[*(each.requests or [0] * (len(each.pieces) + 1)), 0] for each in segments]
        return [sentence.edits() for sentence in self.refine(sources, drafts, marks, list(unknown))]

    def refine(self, sources: Rows, drafts: Rows, marks: Rows, unknown: list[str]) -> list[Sentence]:
        """Refines drafts, with boundaries; ``unknown`` are the words whose numbers come after the placeholder."""
        raise NotImplementedError

    def edits(self, segment: Segment, tokens: list[int], edits: WordEdits) -> list[Edit]:
        origin = [place - 1 if place > 0 else None for place in edits.origin[:-1]]  # <s> of the draft is at 0
        pieces = self.pieces(segment, tokens[:-1], origin)
        made = []
        for change in changes_of(segment, pieces, origin):
            others = tuple(self.others(segment, edits, pieces, origin, change))
            made.append(replace(self.judged(segment, edits, pieces, origin, change), others=others))
        return made

    def others(
        self, segment: Segment, edits: WordEdits, pieces: list[str], origin: list[int | None], change: Rewrite
    ) -> Iterator[Edit]:
        """What an edit that puts one word in would be with each of the other words that its hole was offered."""
        new, place = [i for i in change.written if origin[i] is None], (change.edit.start, change.edit.end)
        for word, choice in edits.offers[new[0]] if len(new) == 1 and edits.offers else ():
            other = [*pieces[: new[0]], self.spelling(word), *pieces[new[0] + 1 :]]
            chosen = [*edits.chosen[: new[0]], choice, *edits.chosen[new[0] + 1 :]]
            for found in changes_of(segment, other, origin) if choice >= LEAST and other != pieces else ():
                if found.written == change.written and (found.edit.start, found.edit.end) == place:
                    yield self.judged(segment, replace(edits, chosen=chosen), other, origin, found)

    def judged(
        self, segment: Segment, edits: WordEdits, pieces: list[str], origin: list[int | None], change: Rewrite
    ) -> Edit:
        """With its confidence and iteration."""
        gone = [piece + 1 for piece in change.given if piece not in origin]
        new = [i for i in change.written if origin[i] is None]
        iterations = [*(edits.died[place] for place in gone), *(edits.born[i] for i in new)]
        odds = [edits.deleted[place] for place in gone] or [edits.inserted[min(new, key=lambda i: edits.born[i])]]
        choice = sum(edits.chosen[i] for i in new)
        known = evidence(segment, change, pieces, self.count, min(odds), choice)
        share = share_of(sum(odds) + choice)
        return replace(change.edit, confidence=share, iteration=max(iterations), evidence=known)


class WrittenSegments(SegmentDecoder):
    """Segments through a model of ``text_correction``, which writes the corrected text from left to right.

    What it kept is found by a minimal alignment. The confidence of an edit is p(h) / (p(h) + p(h with this edit
    undone)), where p is the probability of a whole sentence under the model, by teacher forcing. For a sentence with
    one edit it is what --min-edit-confidence compares.
    """

    task, drafts = "text_correction", False

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        self.warn_of_unknown(segments)
        sources = [[*ids_of(segment.pieces, self.source), EOS] for segment in segments]
        given = [ids_of(segment.pieces, self.words) for segment in segments]
        rows = in_batches(self.written, sources, [*map(len, sources)], self.max_tokens)
        written = [[token for token in row if token not in (BOS, EOS)] for row in rows]
        origins = [told_apart(kept_of(*pair), *pair, UNK) for pair in zip(given, written, strict=True)]
        pieces = [self.pieces(*row) for row in zip(segments, written, origins, strict=True)]
        changes = [rewrites(*row) for row in zip(segments, pieces, origins, strict=True)]
        sure = self.shares(sources, given, written, changes)
        return [
            [self.judged(segment, row, change, next(sure)) for change in some]
            for segment, row, some in zip(segments, pieces, changes, strict=True)
        ]

    def written(self, sources: Rows) -> Rows:
        """All with </s>."""
        raise NotImplementedError

    def scored(self, sources: Rows, outputs: Rows) -> list[float]:
        """The log-probability of an output for each source, all with </s>."""
        raise NotImplementedError

    def judged(self, segment: Segment, pieces: list[str], change: Rewrite, share: float) -> Edit:
        known = evidence(segment, change, pieces, self.count, log_odds(share), 0.0)
        return replace(change.edit, confidence=share, evidence=known)

    def shares(
        self, sources: list[list[int]], given: list[list[int]], written: list[list[int]], changes: list[list[Rewrite]]
    ) -> Iterator[float]:
        """The confidence of each change, from the scores of each output, and of it without each change; 0 where that
        is too long for the model to say.
        """
        pairs: list[tuple[list[int], list[int]]] = []  # a source, and an output for it
        for source, old, new, some in zip(sources, given, written, changes, strict=True):
            undone = (new[: put.start] + old[gone.start : gone.stop] + new[put.stop :] for _, gone, put in some)
            pairs += [(source, [*output, EOS]) for output in (new, *undone) if some]
        fitting = [pair for pair in pairs if len(pair[1]) <= self.longest_output]
        sizes = [max(map(len, pair)) for pair in fitting]
        found = iter(in_batches(lambda some: self.scored(*zip(*some, strict=True)), fitting, sizes, self.max_tokens))
        scores = iter([next(found) if len(output) <= self.longest_output else None for _, output in pairs])
        for some in changes:
            whole = next(scores) if some else None
            for other in islice(scores, len(some)):
                share = 0.0 if whole is None or other is None else share_of(whole - other)
                yield float(np.float32(share))  # as calibrations were fitted


def kept_of(given: list[int], written: list[int]) -> list[int | None]:
    """Which token of ``given`` each one is that was written, as ``edits.expert.align`` has it.

    >>> kept_of([11, 12, 13], [12, 14, 13, 15])
    [1, None, 2, None]
    """
    origin: list[int | None] = [None] * len(written)
    # two ends that differ, and that no text has: rapidfuzz would first of all pair the tokens of a common end
    for block in LCSseq.editops([*written, -2], [*given, -3]).as_matching_blocks():
        origin[block.a : block.a + block.size] = range(block.b, block.b + block.size)
    return origin


def told_apart(origin: list[int | None], given: list[int], written: list[int], unknown: int) -> list[int | None]:
    """All unknown words have one id: of those between two known words, the ones in the most likely places were kept.

    Here the fourth word of ``a ? ? ? b`` in ``a x y ? b``, not its second:

    >>> told_apart([0, None, None, 1, 4], [5, 3, 3, 3, 6], [5, 8, 9, 3, 6], unknown=3)
    [0, None, None, 3, 4]
    """
    places = list(origin)
    known = [(here, there) for here, there in enumerate(origin) if there is not None and written[here] != unknown]
    for left, right in pairwise([(-1, -1), *known, (len(written), len(given))]):
        kept = [here for here in range(left[0] + 1, right[0]) if origin[here] is not None]
        free = np.array([there for there in range(left[1] + 1, right[1]) if given[there] == unknown])
        if kept:
            from scipy.optimize import linear_sum_assignment  # not at once: it takes as long as a small model

            here = np.array(kept)[:, None]
            moves = abs(free - left[1] - here + left[0]) + abs(right[1] - free - right[0] + here)
            costs = moves * len(given) ** 2 + np.arange(len(free))  # among the cheapest, the leftmost
            for row, column in zip(kept, sorted(linear_sum_assignment(costs)[1]), strict=True):
                places[row] = int(free[column])
    return places


def share_of(odds: float) -> float:
    return 1 / (1 + exp(-max(-LARGE, odds)))


def changes_of(segment: Segment, pieces: list[str], origin: list[int | None]) -> list[Rewrite]:
    whole = rewrites(segment, pieces, origin)
    return [change for each in whole for change in by_word(segment, each, pieces, origin)]
