"""Batches that miss no sentence and that a shutdown of the interpreter does not interrupt."""

from __future__ import annotations

from typing import Any

from lev_plugins.fairseq_fixes.epochs import HearsOfEpochs
from lev_plugins.fairseq_fixes.leaving import not_while_leaving

__all__ = ["EverySentence"]


class EverySentence(HearsOfEpochs):
    """Keeps a last batch that is not a multiple of --required-batch-size-multiple (8); fairseq drops it."""

    def batch_by_size(self, indices: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if not len(indices):
            return []
        batches = list(super().batch_by_size(indices, *args, **kwargs))
        left = indices[sum(len(batch) for batch in batches) :]
        return [*batches, left] if len(left) else batches

    @not_while_leaving
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index)

    @not_while_leaving
    def collater(self, samples: Any) -> Any:
        return super().collater(samples)

    @property
    def src(self) -> Any:
        return self.dataset.src

    @property
    def tgt(self) -> Any:
        return self.dataset.tgt
