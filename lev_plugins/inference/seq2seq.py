"""Passages through a model of ``text_correction``, which writes the corrected text from left to right.

What it kept is found by a minimal alignment (``edits.align``). The confidence of an edit is
p(h) / (p(h) + p(h with this edit undone)), where p is the probability of a whole sentence under the model, by teacher
forcing. For a sentence with one edit it is what --min-edit-confidence compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from fairseq.data import FairseqDataset
from fairseq.data.data_utils import collate_tokens

from lev_plugins.edits import align
from lev_plugins.generators.keeping import preference, scored
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.inference.segment import Passage, Written, written_for
from lev_plugins.text.edit_extraction import Rewrite
from lev_plugins.text.tokenise import ids_of

BATCH = 64  # sentences that are aligned, or scored, together


class Writing:
    drafts = False

    def __init__(self, decoder: CheckpointDecoder):
        self.decoder, self.task = decoder, decoder.task
        self.words = decoder.task.target_dictionary
        limits = decoder.max_positions
        self.longest = limits[-1] if isinstance(limits, tuple) else limits

    def rows(self, passages: list[Passage]) -> list[torch.Tensor]:
        return [self.task.source_row(each.pieces) for each in passages]

    def dataset(self, passages: list[Passage]) -> FairseqDataset:
        rows = self.rows(passages)
        return self.task.build_dataset_for_inference(rows, [len(row) for row in rows])

    def written(self, passages: list[Passage], hypotheses: list[dict]) -> list[Written]:
        given = [ids_of(passage.pieces, self.words) for passage in passages]
        new = [self.decoder.plain(hypothesis["tokens"].tolist())[:-1] for hypothesis in hypotheses]
        origins: list[list[int | None]] = [list(range(len(row))) for row in given]
        changed = [i for i, (one, other) in enumerate(zip(given, new, strict=True)) if one != other]
        for start in range(0, len(changed), BATCH):
            some = changed[start : start + BATCH]
            for i, found in zip(some, self.aligned([given[i] for i in some], [new[i] for i in some]), strict=True):
                origins[i] = told_apart(found, given[i], new[i], self.words.unk())
        return [written_for(*each, self.words) for each in zip(passages, new, origins, strict=True)]

    def aligned(self, given: list[list[int]], written: list[list[int]]) -> list[list[int | None]]:
        pad = self.words.pad()
        one, other = (collate_tokens([torch.tensor([*row, pad]) for row in rows], pad) for rows in (given, written))
        kept, matched = align(one, other, pad)
        found = []
        for row, old, new in zip(written, kept, matched, strict=True):
            places = iter(old.nonzero()[:, 0].tolist())
            found.append([next(places) if same else None for same in new[: len(row)].tolist()])
        return found

    @torch.no_grad()
    def judge(
        self,
        passages: list[Passage],
        hypotheses: list[dict],
        written: list[Written],
        rewrites: list[list[Rewrite]],
    ) -> list[list[tuple[float, int]]]:
        """Confidence of each rewrite, and one iteration."""
        tried = [self.with_each_undone(*each) for each in zip(passages, written, rewrites, strict=True)]
        fitting = [(i, row) for i, rows in enumerate(tried) for row in rows if self.fits(row)]
        scores = iter(self.scores(passages, fitting))
        found = [confidences([next(scores) if self.fits(row) else None for row in rows]) for rows in tried]
        self.task.source_dictionary.return_borrowed()
        return found

    def with_each_undone(self, passage: Passage, output: Written, rewrites: list[Rewrite]) -> list[torch.Tensor]:
        """The output, and the output without one rewrite, for each of them; nothing where there is none."""
        if not rewrites:
            return []
        given = ids_of(passage.pieces, self.words)
        undone = [
            [*output.ids[: each.written.start], *given[each.given.start : each.given.stop]]
            + output.ids[each.written.stop :]
            for each in rewrites
        ]
        return [torch.tensor([*row, self.words.eos()]) for row in [output.ids, *undone]]

    def fits(self, row: torch.Tensor) -> bool:
        return len(row) <= self.longest

    def scores(self, passages: list[Passage], rows: list[tuple[int, torch.Tensor]]) -> Iterator[dict]:
        """Of each row, as an output for the passage with its number."""
        sources = self.rows(passages)
        for start in range(0, len(rows), BATCH):
            owners, some = zip(*rows[start : start + BATCH], strict=True)
            sample = self.sample([sources[i] for i in owners])
            yield from scored(self.decoder.models, sample, list(some), self.words)

    def sample(self, sources: list[torch.Tensor]) -> dict:
        pad = self.task.source_dictionary.pad()
        tokens = collate_tokens(sources, pad, left_pad=self.task.cfg.left_pad_source).to(self.decoder.device)
        return self.task.spelled({"net_input": {"src_tokens": tokens, "src_lengths": tokens.ne(pad).sum(1)}})


def confidences(scores: list[Any]) -> list[tuple[float, int]]:
    """From the scores of an output, and of it without each rewrite; 0 where that is too long for the model to say."""
    return [(0.0 if other is None else preference(scores[0], other), 1) for other in scores[1:]]


def told_apart(origin: list[int | None], given: list[int], written: list[int], unknown: int) -> list[int | None]:
    """All unknown words have one id: of those between two known words, the ones in the most likely places were kept.

    Here the fourth word of ``a ? ? ? b`` in ``a x y ? b``, not its second:

    >>> told_apart([0, None, None, 1, 4], [5, 3, 3, 3, 6], [5, 8, 9, 3, 6], unknown=3)
    [0, None, None, 3, 4]
    """
    found = list(origin)
    known = [(here, there) for here, there in enumerate(origin) if there is not None and written[here] != unknown]
    left = -1, -1
    for right in [*known, (len(written), len(given))]:
        kept = [here for here in range(left[0] + 1, right[0]) if origin[here] is not None]
        places = [there for there in range(left[1] + 1, right[1]) if given[there] == unknown]
        offsets = [
            [abs(there - left[1] - here + left[0]) + abs(right[1] - there - right[0] + here) for there in places]
            for here in kept
        ]
        for here, place in zip(kept, cheapest(offsets), strict=True):
            found[here] = places[place]
        left = right
    return found


def cheapest(costs: list[list[int]]) -> list[int]:
    """A column for each row, from left to right, with the smallest sum.

    >>> cheapest([[2, 0, 9], [0, 9, 3]]), cheapest([])
    ([1, 2], [])
    """
    ways: list[tuple[int, list[int]] | None] = [(0, [])] * (len(costs[0]) + 1 if costs else 1)
    for row in costs:  # ways[n]: the best one within the first n columns
        new: list[tuple[int, list[int]] | None] = [None]
        for column, cost in enumerate(row):
            before = ways[column]
            best = None if before is None else (before[0] + cost, [*before[1], column])
            new.append(min((way for way in (best, new[-1]) if way is not None), default=None))
        ways = new
    assert ways[-1] is not None
    return ways[-1][1]
