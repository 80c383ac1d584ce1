"""Segments through a model of ``text_correction``, which writes the corrected text from left to right.

What it kept is found by a minimal alignment (``edits.align``). The confidence of an edit is
p(h) / (p(h) + p(h with this edit undone)), where p is the probability of a whole sentence under the model, by teacher
forcing. For a sentence with one edit it is what --min-edit-confidence compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from fairseq.data.data_utils import collate_tokens
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from lev_plugins.edits import align
from lev_plugins.generators.keeping import preference, scored
from lev_plugins.inference.decoder import SegmentDecoder
from lev_plugins.text.edit_extraction import Decoded, Rewrite, Segment, rewrites
from lev_plugins.text.edited import Edit
from lev_plugins.text.tokenise import ids_of

BATCH = 64  # sentences that are aligned, or scored, together


class Seq2Seq(SegmentDecoder):
    task, drafts = "text_correction", False

    def decode(self, segments: list[Segment]) -> list[Decoded]:
        self.warn_of_unknown(segments)
        sources = [self.decoder.task.source_row(segment.pieces) for segment in segments]
        given = [ids_of(segment.pieces, self.words) for segment in segments]
        hypotheses = self.hypotheses(sources, [len(row) for row in sources])
        written = [self.decoder.plain(hypothesis["tokens"].tolist())[:-1] for hypothesis in hypotheses]
        origins = self.origins(given, written)
        pieces = [self.pieces(*row) for row in zip(segments, written, origins, strict=True)]
        changes = [rewrites(*row) for row in zip(segments, pieces, origins, strict=True)]
        edits = self.judged(sources, given, written, changes)
        return [Decoded(*row) for row in zip(pieces, origins, edits, strict=True)]

    def origins(self, given: list[list[int]], written: list[list[int]]) -> list[list[int | None]]:
        """Which token of ``given`` each one is that was ``written``."""
        pad = self.words.pad()
        origins: list[list[int | None]] = [list(range(len(row))) for row in given]
        changed = [i for i, (old, new) in enumerate(zip(given, written, strict=True)) if old != new]
        for start in range(0, len(changed), BATCH):
            some = changed[start : start + BATCH]
            old, new = (collate_tokens([torch.tensor([*side[i], pad]) for i in some], pad) for side in (given, written))
            for i, kept, matched in zip(some, *align(old, new, pad), strict=True):
                places = iter(kept.nonzero()[:, 0].tolist())
                origin = [next(places) if same else None for same in matched[: len(written[i])].tolist()]
                origins[i] = told_apart(origin, given[i], written[i], self.words.unk())
        return origins

    @torch.no_grad()
    def judged(
        self, sources: list[Tensor], given: list[list[int]], written: list[list[int]], changes: list[list[Rewrite]]
    ) -> list[list[Edit]]:
        """The edits with their confidence, from the scores of each output, and of it without each edit; 0 where that
        is too long for the model to say.
        """
        rows: list[tuple[int, list[int]]] = []  # the number of a source, and an output for it
        for i, (old, new, some) in enumerate(zip(given, written, changes, strict=True)):
            rows += [(i, new)] * bool(some)
            for _, gone, inserted in some:
                rows.append((i, new[: inserted.start] + old[gone.start : gone.stop] + new[inserted.stop :]))
        scores = self.scores(sources, rows)
        edits = []
        for some in changes:
            whole = next(scores) if some else None
            others = [next(scores) for _ in some]
            sure = [preference(whole, other) if whole and other else 0.0 for other in others]
            edits.append([replace(each.edit, confidence=share) for each, share in zip(some, sure, strict=True)])
        return edits

    def scores(self, sources: list[Tensor], rows: list[tuple[int, list[int]]]) -> Iterator[dict[str, Any] | None]:
        """Of each output for the source with its number; None if it is too long."""
        task = self.decoder.task
        pad, fitting = task.source_dictionary.pad(), [row for row in rows if len(row[1]) < self.longest_output]
        found: list[dict[str, Any]] = []
        for start in range(0, len(fitting), BATCH):
            some = fitting[start : start + BATCH]
            tokens = collate_tokens([sources[i] for i, _ in some], pad, left_pad=task.cfg.left_pad_source)
            tokens = tokens.to(self.decoder.device)
            sample = {"net_input": {"src_tokens": tokens, "src_lengths": tokens.ne(pad).sum(1)}}
            outputs = [torch.tensor([*row, self.words.eos()]) for _, row in some]
            found += scored(self.decoder.models, sample, outputs, self.words)
        scores = iter(found)
        return (next(scores) if len(row) < self.longest_output else None for _, row in rows)


def told_apart(origin: list[int | None], given: list[int], written: list[int], unknown: int) -> list[int | None]:
    """All unknown words have one id: of those between two known words, the ones in the most likely places were kept.

    Here the fourth word of ``a ? ? ? b`` in ``a x y ? b``, not its second:

    >>> told_apart([0, None, None, 1, 4], [5, 3, 3, 3, 6], [5, 8, 9, 3, 6], unknown=3)
    [0, None, None, 3, 4]
    """
    places = list(origin)
    known = [(here, there) for here, there in enumerate(origin) if there is not None and written[here] != unknown]
    left = -1, -1
    for right in [*known, (len(written), len(given))]:
        kept = [here for here in range(left[0] + 1, right[0]) if origin[here] is not None]
        free = np.array([there for there in range(left[1] + 1, right[1]) if given[there] == unknown])
        if kept:
            here = np.array(kept)[:, None]
            moves = abs(free - left[1] - here + left[0]) + abs(right[1] - free - right[0] + here)
            costs = moves * len(given) ** 2 + np.arange(len(free))  # among the cheapest, the leftmost
            for row, column in zip(kept, sorted(linear_sum_assignment(costs)[1]), strict=True):
                places[row] = int(free[column])
        left = right
    return places
