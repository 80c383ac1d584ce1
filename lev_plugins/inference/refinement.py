"""Passages through a levt: the text is source and draft, or there is a draft of its own, which may have marks.

The confidence of an edit is p(edit) / (p(edit) + p(leaving the text alone)), as far as the policies were asked: the
log-odds of deleting each word that it deletes, or where it deletes none, of inserting anything in its place; and the
log-probabilities of the words that it inserts. What a mark asks for is certain.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from fairseq.data import FairseqDataset

from lev_plugins.generators.record import WordEdits
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.inference.segment import Passage, Written, written_for
from lev_plugins.text.edit_extraction import Rewrite


class Refining:
    drafts = True

    def __init__(self, decoder: CheckpointDecoder):
        self.task = decoder.task
        decoder.generator.options = replace(decoder.generator.options, retain_history=True)  # with it, the record

    def dataset(self, passages: list[Passage]) -> FairseqDataset:
        target, rows = self.task.target_dictionary, []
        for passage in passages:
            pieces = passage.pieces if passage.source is None else passage.source
            draft = target.draft(passage.pieces, passage.requests or [0] * (len(passage.pieces) + 1))
            rows.append((self.task.source_row(pieces), draft))
        return self.task.build_dataset_for_inference(rows, [len(row) + 1 for row, _ in rows])

    def written(self, passages: list[Passage], hypotheses: list[dict]) -> list[Written]:
        self.task.target_dictionary.return_borrowed()
        return [self.one(*pair) for pair in zip(passages, hypotheses, strict=True)]

    def one(self, passage: Passage, hypothesis: dict) -> Written:
        edits: WordEdits = hypothesis["edits"]
        ids = hypothesis["tokens"].tolist()[:-1]
        origin = [place - 1 if place > 0 else None for place in edits.origin[:-1]]  # <s> of the draft is at 0
        return written_for(passage, ids, origin, self.task.target_dictionary)

    def judge(
        self,
        passages: list[Passage],
        hypotheses: list[dict],
        written: list[Written],
        rewrites: list[list[Rewrite]],
    ) -> list[list[tuple[float, int]]]:
        """Confidence and iteration of each rewrite."""
        zipped = zip(hypotheses, written, rewrites, strict=True)
        return [[judged(h["edits"], w.origin, each) for each in found] for h, w, found in zipped]


def judged(edits: WordEdits, origin: list[int | None], rewrite: Rewrite) -> tuple[float, int]:
    """
    >>> gone = {"died": [0, 0, 1], "deleted": [0.0, 0.0, 1.1]}
    >>> edits = WordEdits(origin=[1, -1], born=[0, 2], inserted=[0.0, 3.0], chosen=[0.0, -0.1], **gone)
    >>> from lev_plugins.text.edited import Edit
    >>> confidence, iteration = judged(edits, [0, None], Rewrite(Edit(1, 2, "x"), range(1, 2), range(1, 2)))
    >>> round(confidence, 3), iteration
    (0.731, 2)
    """
    gone = [piece + 1 for piece in rewrite.given if piece not in origin]
    new = [i for i in rewrite.written if origin[i] is None]
    iterations = [*(edits.died[place] for place in gone), *(edits.born[i] for i in new)]
    if gone:
        odds = sum(edits.deleted[place] for place in gone)
    else:
        odds = edits.inserted[min(new, key=lambda i: edits.born[i])]
    odds += sum(edits.chosen[i] for i in new)
    return float(torch.tensor(odds).sigmoid()), max(iterations)
