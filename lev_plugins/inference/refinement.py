"""Segments through a levt: the text is source and draft, or there is a draft of its own, which may have marks.

The confidence of an edit is p(edit) / (p(edit) + p(leaving the text alone)), as far as the policies were asked: the
log-odds of deleting each word that it deletes, or where it deletes none, of inserting anything in its place; and the
log-probabilities of the words that it inserts. What a mark asks for is certain.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from fairseq.data.data_utils import collate_tokens
from fairseq.utils import move_to_cuda

from lev_plugins.data.words import BatchWords, UnknownWords
from lev_plugins.generators.canvas import WordEdits
from lev_plugins.inference.decoder import BOUNDARIES, CheckpointDecoder, SegmentDecoder, batches
from lev_plugins.text.edit_extraction import Decoded, Rewrite, Segment, rewrites
from lev_plugins.text.edited import Edit


class Refinement(SegmentDecoder):
    task, drafts = "text_editing", True

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int):
        super().__init__(decoder, max_tokens)
        decoder.generator.options = replace(decoder.generator.options, retain_history=True)  # with it, the record

    def decode(self, segments: list[Segment]) -> list[Decoded]:
        self.warn_of_unknown(segments)
        sources = [segment.pieces if segment.source is None else segment.source for segment in segments]
        longest = (max(len(source), len(own.pieces)) for source, own in zip(sources, segments, strict=True))
        sizes = [size + BOUNDARIES for size in longest]
        decoded: dict[int, Decoded] = {}
        for batch in batches(sizes, range(len(segments)), self.max_tokens):
            hypotheses = self.refined([sources[i] for i in batch], [segments[i] for i in batch])
            decoded |= {i: self.decoded(segments[i], best) for i, (best, *_) in zip(batch, hypotheses, strict=True)}
        return [decoded[i] for i in range(len(segments))]

    def refined(self, sources: list[list[str]], segments: list[Segment]) -> list[list[dict]]:
        task, words = self.decoder.task, self.words
        numbers, bos = UnknownWords(words.size, words.unk()), torch.tensor([words.bos()])
        drafts = [words.draft(segment.pieces, segment.requests or ()) for segment in segments]
        rows = [task.source_row(source) for source in sources]
        ids = [row.ids if task.word_index is None else numbers.rows(row) for row in rows]
        net_input = {
            "src_tokens": collate_tokens(
                [torch.cat([bos, row]) for row in ids], words.pad(), left_pad=task.cfg.left_pad_source
            ),
            "draft": collate_tokens([numbers.rows(draft) for draft in drafts], words.pad()),
            "requests": collate_tokens([draft.requests for draft in drafts], 0),
        }
        if task.word_index is not None:
            net_input["words"] = BatchWords.of(numbers.spelt, task.word_index)
        words.printed = numbers.spelt
        sample = {"net_input": move_to_cuda(net_input, self.decoder.device)}
        return self.decoder.generator.generate(self.decoder.models, sample)

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
