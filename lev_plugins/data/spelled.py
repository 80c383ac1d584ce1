"""Sentence pairs whose batches say how the unknown words of the sources are spelt."""

from __future__ import annotations

from typing import Any

import torch
from fairseq.data import FairseqDataset
from torch import Tensor

from lev_plugins.data.drafts.dictionary import EditingDictionary, lend
from lev_plugins.data.drafts.loading import parts_of
from lev_plugins.data.drafts.notes import read_notes
from lev_plugins.data.noisy import NoisyWords
from lev_plugins.data.unknown import joined_ids
from lev_plugins.edits import BORROWED
from lev_plugins.fairseq_fixes.batching import EverySentence
from lev_plugins.text.spelling import unknown_words


class SpelledPairs(EverySentence):
    """Adds spellings to a ``LanguagePairDataset``: of the ``noise`` on its targets, and ``spelt``, of its sources."""

    def __init__(
        self,
        pair: Any,
        words: EditingDictionary,
        buckets: int,
        noise: NoisyWords | None = None,
        spelt: dict[int, Tensor] | None = None,
    ):
        super().__init__(pair)
        self.words, self.buckets, self.noise, self.spelt = words, buckets, noise, spelt or {}

    def __getitem__(self, index: int) -> dict[str, Any]:
        example: dict[str, Any] = super().__getitem__(index)
        written = self.noise(example["target"], index, self.epoch) if self.noise is not None else None
        if written is not None:
            borrowed: dict[str, int] = {}
            row = torch.tensor([*lend(written, self.words, borrowed), self.words.eos()])
            return {**example, "source": row, "unknown": {i: word for word, i in borrowed.items()}}
        row = self.spelt.get(int(index), example["source"])
        if self.noise is None:
            return {**example, "source": row}
        return {**example, "source": row, "unknown": {i: self.words[i] for i in row[row >= BORROWED].tolist()}}

    def collater(self, samples: list[dict[str, Any]]) -> dict[str, Any]:
        samples = [dict(each) for each in samples]
        unknown = joined_ids(samples, {"source"}, self.words)
        batch: dict[str, Any] = super().collater(samples)
        if batch:
            batch["net_input"]["unknown"] = tuple(unknown_words(unknown, self.buckets))
        return batch


def read_spellings(prefix: str, suffix: str, sources: FairseqDataset, words: EditingDictionary) -> dict[int, Tensor]:
    """By index, the sources with unknown words, as ``lev-plugins prepare`` noted them beside the binarised text."""
    found: dict[int, Tensor] = {}
    start = 0
    for number, (part, ratio) in enumerate(zip(*parts_of(sources), strict=True)):
        noted = read_notes(f"{prefix}{number or ''}.{suffix}", part, words, begun=False)
        for _ in range(ratio):
            found |= {start + index: note.ids[1:] for index, note in noted.items()}
            start += len(part)
    return found
