"""What all models that edit segments of text have in common, whatever computes them: torch or ONNX Runtime."""

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from math import exp, log
from typing import Any

from lev_plugins.text.calibration import evidence
from lev_plugins.text.edited import Decoded, Edit, Rewrite, Segment, WordEdits, by_word, rewrites

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


class SegmentDecoder:
    """What the kinds of ``SegmentModel`` share."""

    task: str
    drafts: bool

    def __init__(self, dictionaries: Sequence[Any], limits: Sequence[int], max_tokens: int, any_words: bool = False):
        """``dictionaries`` of source and target; ``limits``: their positions, or one for both; ``any_words``: the model
        is made for unknown words.
        """
        self.words, self.max_tokens, self.warned = dictionaries[-1], max_tokens, any_words
        self.longest, self.longest_output = min(limits) - BOUNDARIES, limits[-1]
        self.symbols: Collection[str] = {symbol for words in dictionaries for symbol in words.symbols[words.nspecial :]}

    def pieces(self, segment: Segment, written: list[int], origin: list[int | None]) -> list[str]:
        """A piece that was kept is spelt as in the segment, also where the dictionary does not know it."""
        return [
            self.words[i] if place is None else segment.pieces[place] for i, place in zip(written, origin, strict=True)
        ]

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

    def decode(self, segments: list[Segment]) -> list[Decoded]:
        self.warn_of_unknown(segments)
        sources = [segment.pieces if segment.source is None else segment.source for segment in segments]
        longest = (max(len(source), len(own.pieces)) for source, own in zip(sources, segments, strict=True))
        sizes = [size + BOUNDARIES for size in longest]
        decoded: dict[int, Decoded] = {}
        for batch in batches(sizes, range(len(segments)), self.max_tokens):
            found = self.refined([sources[i] for i in batch], [segments[i] for i in batch])
            decoded |= {i: self.decoded(segments[i], *one) for i, one in zip(batch, found, strict=True)}
        return [decoded[i] for i in range(len(segments))]

    def refined(self, sources: list[list[str]], segments: list[Segment]) -> list[tuple[list[int], WordEdits]]:
        """Of each segment, what it became, with </s>, and how."""
        raise NotImplementedError

    def decoded(self, segment: Segment, tokens: list[int], edits: WordEdits) -> Decoded:
        origin = [place - 1 if place > 0 else None for place in edits.origin[:-1]]  # <s> of the draft is at 0
        pieces = self.pieces(segment, tokens[:-1], origin)
        made = []
        for change in changes_of(segment, pieces, origin):
            others = tuple(self.others(segment, edits, pieces, origin, change))
            made.append(replace(self.judged(segment, edits, pieces, origin, change), others=others))
        return Decoded(pieces, origin, made)

    def others(
        self, segment: Segment, edits: WordEdits, pieces: list[str], origin: list[int | None], change: Rewrite
    ) -> Iterator[Edit]:
        """What an edit that puts one word in would be with each of the other words that its hole was offered."""
        new, place = [i for i in change.written if origin[i] is None], (change.edit.start, change.edit.end)
        for word, choice in edits.offers[new[0]] if len(new) == 1 and edits.offers else ():
            other = [*pieces[: new[0]], self.words[word], *pieces[new[0] + 1 :]]
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
        share = 1 / (1 + exp(-max(-LARGE, sum(odds) + choice)))
        return replace(change.edit, confidence=share, iteration=max(iterations), evidence=known)


def changes_of(segment: Segment, pieces: list[str], origin: list[int | None]) -> list[Rewrite]:
    whole = rewrites(segment, pieces, origin)
    return [change for each in whole for change in by_word(segment, each, pieces, origin)]
