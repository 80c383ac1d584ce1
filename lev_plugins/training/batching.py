"""Datasets that keep the last batch, and whose worker processes know the epoch."""

from collections.abc import Sequence

import numpy as np
import torch
from fairseq.data import BaseWrapperDataset, FairseqDataset
from numpy.typing import NDArray
from torch import Tensor


class SharedEpochDataset(BaseWrapperDataset):
    """A dataset whose epoch is in shared memory.

    fairseq keeps its worker processes from epoch to epoch, so they do not see changes of a plain attribute.
    """

    def __init__(self, dataset: FairseqDataset) -> None:
        super().__init__(dataset)
        self.shared_epoch = torch.ones((), dtype=torch.long).share_memory_()

    @property
    def epoch(self) -> int:
        return int(self.shared_epoch)

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        self.shared_epoch.fill_(epoch)


class KeepLastBatch(SharedEpochDataset):
    """A dataset with a last batch that is not a multiple of --required-batch-size-multiple (8); fairseq drops it."""

    def batch_by_size(self, indices: NDArray[np.int64], *args: object, **kwargs: object) -> list[NDArray[np.int64]]:
        if not len(indices):
            return []
        batches = list(super().batch_by_size(indices, *args, **kwargs))
        rest = indices[sum(len(batch) for batch in batches) :]
        return [*batches, rest] if len(rest) else batches

    @property
    def src(self) -> Sequence[Tensor]:
        return self.dataset.src

    @property
    def tgt(self) -> Sequence[Tensor] | None:
        return self.dataset.tgt
