"""Examples that differ from epoch to epoch."""

from __future__ import annotations

from typing import Any

import torch
from fairseq.data import BaseWrapperDataset


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
