"""Examples that differ from epoch to epoch, and batches that do not."""

from __future__ import annotations

from typing import Any

import torch
from fairseq.data import BaseWrapperDataset
from fairseq.tasks import FairseqTask

__all__ = ["HearsOfEpochs", "SameBatches"]


class HearsOfEpochs(BaseWrapperDataset):
    """fairseq keeps its worker processes from epoch to epoch: they would not see changes of a plain attribute."""

    def __init__(self, dataset: Any):
        super().__init__(dataset)
        self.shared_epoch = torch.ones((), dtype=torch.long).share_memory_()

    @property
    def epoch(self) -> int:
        return int(self.shared_epoch)

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        self.shared_epoch.fill_(epoch)


class SameBatches(FairseqTask):
    """fairseq draws batches once, with a seed that depends on the epoch in which it begins.

    A training that went on in epoch 5 had other batches than before it stopped: it repeated some sentences of that
    epoch and missed others.
    """

    def get_batch_iterator(self, dataset: Any, *args: Any, epoch: int = 1, **options: Any) -> Any:
        kept = self.dataset_to_epoch_iter.get(dataset)
        batches = super().get_batch_iterator(dataset, *args, epoch=1, **options)
        if batches is not kept:
            dataset.set_epoch(epoch)
            batches.epoch = max(epoch, 1)
        return batches
