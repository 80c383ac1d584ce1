"""Batches that miss no sentence."""

from __future__ import annotations

from typing import Any

from lev_plugins.fairseq_fixes.epochs import HearsOfEpochs


class EverySentence(HearsOfEpochs):
    """Keeps a last batch that is not a multiple of --required-batch-size-multiple (8); fairseq drops it."""

    def batch_by_size(self, indices: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if not len(indices):
            return []
        batches = list(super().batch_by_size(indices, *args, **kwargs))
        left = indices[sum(len(batch) for batch in batches) :]
        return [*batches, left] if len(left) else batches

    @property
    def src(self) -> Any:
        return self.dataset.src

    @property
    def tgt(self) -> Any:
        return self.dataset.tgt
