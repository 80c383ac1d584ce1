"""Segments through a levt: the text is source and draft, or there is a draft of its own, which may have marks.

The confidence of an edit is p(edit) / (p(edit) + p(leaving the text alone)), as far as the policies were asked: the
log-odds of deleting each word that it deletes, or where it deletes none, of inserting anything in its place; and the
log-probabilities of the words that it inserts. What a mark asks for is certain.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from lev_plugins.generators.canvas import WordEdits
from lev_plugins.inference.decoder import CheckpointDecoder, SegmentDecoder
from lev_plugins.text.edit_extraction import Decoded, Rewrite, Segment, rewrites
from lev_plugins.text.edited import Edit


class Refinement(SegmentDecoder):
    task, drafts = "text_editing", True

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int):
        super().__init__(decoder, max_tokens)
        decoder.generator.options = replace(decoder.generator.options, retain_history=True)  # with it, the record

    def decode(self, segments: list[Segment]) -> list[Decoded]:
        self.warn_of_unknown(segments)
        rows = []
        for segment in segments:
            source = self.decoder.task.source_row(segment.pieces if segment.source is None else segment.source)
            draft = self.words.draft(segment.pieces, segment.requests or [0] * (len(segment.pieces) + 1))
            rows.append((source, draft))
        hypotheses = self.hypotheses(rows, [len(source.ids) + 1 for source, _ in rows])
        return [self.decoded(*pair) for pair in zip(segments, hypotheses, strict=True)]

    def decoded(self, segment: Segment, hypothesis: dict) -> Decoded:
        edits: WordEdits = hypothesis["edits"]
        origin = [place - 1 if place > 0 else None for place in edits.origin[:-1]]  # <s> of the draft is at 0
        pieces = self.pieces(segment, hypothesis["tokens"].tolist()[:-1], origin)
        return Decoded(pieces, origin, [judged(edits, origin, change) for change in rewrites(segment, pieces, origin)])


def judged(edits: WordEdits, origin: list[int | None], change: Rewrite) -> Edit:
    """With its confidence and iteration.

    >>> gone = {"died": [0, 0, 1], "deleted": [0.0, 0.0, 1.1]}
    >>> edits = WordEdits(origin=[1, -1], born=[0, 2], inserted=[0.0, 3.0], chosen=[0.0, -0.1], **gone)
    >>> edit = judged(edits, [0, None], Rewrite(Edit(1, 2, "x"), range(1, 2), range(1, 2)))
    >>> round(edit.confidence, 3), edit.iteration
    (0.731, 2)
    """
    gone = [piece + 1 for piece in change.given if piece not in origin]
    new = [i for i in change.written if origin[i] is None]
    iterations = [*(edits.died[place] for place in gone), *(edits.born[i] for i in new)]
    if gone:
        odds = sum(edits.deleted[place] for place in gone)
    else:
        odds = edits.inserted[min(new, key=lambda i: edits.born[i])]
    odds += sum(edits.chosen[i] for i in new)
    return replace(change.edit, confidence=float(torch.tensor(odds).sigmoid()), iteration=max(iterations))
