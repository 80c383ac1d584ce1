"""Resuming: a training that was stopped and started again gives the same model as one that was not.

A training that is complete trains no further.
"""

import functools
import logging
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fairseq import checkpoint_utils
from fairseq.data import FairseqDataset
from fairseq.data.iterators import EpochBatchIterator
from fairseq.dataclass.configs import CheckpointConfig
from fairseq.file_io import PathManager
from fairseq.tasks import FairseqTask

from lev_plugins.utils.errors import require
from lev_plugins.utils.files import lock

if TYPE_CHECKING:
    from fairseq.trainer import Trainer

logger = logging.getLogger(__name__)
NO_EPOCHS = -1  # for --max-epoch, where 0 is no limit
LAST_CHECKPOINT = "checkpoint_last.pt"  # fairseq's default for --restore-file

Function = Callable[..., Any]
fairseq_copy: Function = PathManager.copy


def install() -> None:
    """Patches fairseq, for all of its tasks."""
    PathManager.copy = staticmethod(copy_whole)
    checkpoint_utils.load_checkpoint = loading_unless_complete(checkpoint_utils.load_checkpoint)


def copy_whole(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
    """Copies a checkpoint as fairseq does, but with a rename, so that a stop leaves no incomplete file."""
    if PathManager.path_requires_pathmanager(dst_path):
        return bool(fairseq_copy(src_path, dst_path, overwrite=overwrite))
    scratch = f"{dst_path}.tmp"  # as fairseq does; files.all_or_nothing would keep the mode of an old file
    try:
        shutil.copyfile(src_path, scratch)
        os.replace(scratch, dst_path)
    except BaseException:
        with suppress(OSError):
            os.unlink(scratch)
        raise
    return True


# ---- a complete training ---------------------------------------------------------------------------------------------
def loading_unless_complete(load: Function) -> Function:
    """Returns fairseq's ``load`` of a checkpoint with checks.

    fairseq checks --max-update only after one more update, which changes the result. It also lets two
    trainings write to one folder, where the checkpoints of one replace those of the other.
    """

    @functools.wraps(load)
    def load_unless_complete(
        cfg: CheckpointConfig, trainer: "Trainer", **options: object
    ) -> tuple[dict[str, Any] | None, EpochBatchIterator]:
        if trainer.is_data_parallel_master and not cfg.no_save:
            message = f"another training is writing to --save-dir {cfg.save_dir}: wait until it ends, stop it, or "
            lock(cfg.save_dir, f"{message}choose another --save-dir")
        extra_state, batches = load(cfg, trainer, **options)
        if not trainer.get_num_updates():  # fine-tuning: fairseq would count the hours of the earlier training
            trainer._previous_training_time = 0
        reason = why_complete(trainer, batches.next_epoch_idx)
        if reason is not None:
            require(
                cfg.restore_file == LAST_CHECKPOINT,
                f"--restore-file {cfg.restore_file}: nothing is left to train, {reason}, or add --reset-optimizer "
                "--reset-lr-scheduler --reset-meters --reset-dataloader, which count from 0",
            )
            logger.info(f"this training is complete: {reason} to continue")
            trainer.cfg.optimization.max_epoch = NO_EPOCHS
        return extra_state, batches

    return load_unless_complete


def why_complete(trainer: "Trainer", next_epoch: int) -> str | None:
    """Returns why a training has ended and what to do, or None if it has not."""
    limits, updates = trainer.cfg.optimization, trainer.get_num_updates()
    if 0 < limits.max_update <= updates:
        return f"it has had {updates:,} of {limits.max_update:,} updates; raise --max-update"
    if 0 < limits.max_epoch < next_epoch:
        return f"it has had {next_epoch - 1:,} of {limits.max_epoch:,} epochs; raise --max-epoch"
    hours = trainer.cumulative_training_time() / 3600
    if 0 < limits.stop_time_hours < hours:
        return f"it has had {hours:.2f} of {limits.stop_time_hours} hours; raise --stop-time-hours"
    return None


class ResumableTask(FairseqTask):
    """A task whose training continues with the same data and batches after a stop."""

    def data_fingerprints(self) -> dict[str, tuple[object, str]]:
        """Returns what a checkpoint stores of the data, and the files: dictionaries of one size may differ."""
        return {}

    def state_dict(self) -> dict[str, object]:
        return {**super().state_dict(), **{name: value for name, (value, _) in self.data_fingerprints().items()}}

    def load_state_dict(self, state_dict: dict[str, object]) -> None:
        current = self.data_fingerprints()
        for name, (value, file) in current.items():
            require(
                state_dict.get(name, value) == value,
                f"{file} has other lines, or another order, than in the training of the checkpoint: use the folder, "
                "or the dict.*.txt files, that it was trained with",
            )
        super().load_state_dict({name: value for name, value in state_dict.items() if name not in current})

    def get_batch_iterator(
        self, dataset: FairseqDataset, *args: object, epoch: int = 1, **options: object
    ) -> EpochBatchIterator:
        """Returns fairseq's iterator, with the batches of a training that began in epoch 1.

        fairseq draws batches once, with a seed that depends on the epoch in which it begins: a training that continued
        in epoch 5 had other batches than before it stopped, repeated some sentences of that epoch and missed others.
        """
        cached = self.dataset_to_epoch_iter.get(dataset)
        batches = super().get_batch_iterator(dataset, *args, epoch=1, **options)
        if batches is not cached:
            dataset.set_epoch(epoch)
            batches.epoch = max(epoch, 1)
        return batches
