"""A training that is stopped and started again, or that has ended, as if it had never been stopped."""

from __future__ import annotations

import functools
import logging
import shutil
from collections.abc import Callable
from typing import Any

from fairseq import checkpoint_utils
from fairseq.file_io import PathManager
from fairseq.tasks import FairseqTask

from lev_plugins.errors import require
from lev_plugins.files import all_or_nothing

__all__ = ["GoesOn", "install"]

logger = logging.getLogger(__name__)
NEVER = -1  # of epochs; 0 would be no limit
PATIENCE = {"best": float, "num_runs": int}  # what fairseq counts for --patience, as attributes of a function

Function = Callable[..., Any]


def install() -> None:
    """For all tasks of fairseq: called once, when the plug-ins are registered."""
    PathManager.copy = staticmethod(whole(PathManager.copy))
    checkpoint_utils.load_checkpoint = finished(checkpoint_utils.load_checkpoint)


def whole(copy: Function) -> Function:
    """fairseq copies a new checkpoint onto the last and the best one: a stop or a full disk left a part of them."""

    @functools.wraps(copy)
    def copy_whole(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        if PathManager.path_requires_pathmanager(dst_path):
            return bool(copy(src_path, dst_path, overwrite=overwrite))
        with open(src_path, "rb") as source, all_or_nothing(dst_path) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        return True

    return copy_whole


def finished(load: Function) -> Function:
    """fairseq looks at --max-update and --patience only after one more update, which changes the result."""

    @functools.wraps(load)
    def loading(cfg: Any, trainer: Any, **options: Any) -> tuple[Any, Any]:
        extra_state, batches = load(cfg, trainer, **options)
        updates = trainer.get_num_updates()
        require(
            isinstance(updates, int),
            "the number of updates in the checkpoint is not a number: it is damaged, use an older one (--restore-file)",
        )
        reason = why_complete(updates, batches.next_epoch_idx, cfg.patience, trainer.cfg.optimization)
        if reason is not None:
            logger.info(f"this training is complete: {reason} to continue")
            trainer.cfg.optimization.max_epoch = NEVER
        elif updates and trainer.get_lr() == 0:
            logger.warning("the learning rate is 0, the end of its schedule: more updates change nothing")
        return extra_state, batches

    return loading


def why_complete(updates: int, next_epoch: int, patience: int, limits: Any) -> str | None:
    """Why a training has ended, and what to do.

    >>> from types import SimpleNamespace as Limits
    >>> why_complete(20, 3, -1, Limits(max_update=20, max_epoch=0))
    'it has had 20 of 20 updates; raise --max-update'
    >>> why_complete(20, 3, -1, Limits(max_update=0, max_epoch=2))
    'it has had 2 of 2 epochs; raise --max-epoch'
    >>> why_complete(20, 3, -1, Limits(max_update=0, max_epoch=0)) is None
    True
    """
    if 0 < limits.max_update <= updates:
        return f"it has had {updates:,} of {limits.max_update:,} updates; raise --max-update"
    if 0 < limits.max_epoch < next_epoch:
        return f"it has had {next_epoch - 1:,} of {limits.max_epoch:,} epochs; raise --max-epoch"
    without = patience_counts().get("num_runs", 0)
    if 0 < patience <= without:
        return f"{without} validations in a row were no better than the best; raise --patience"
    return None


def patience_counts() -> dict[str, float]:
    counter = patience_counter()
    return {name: kind(getattr(counter, name)) for name, kind in PATIENCE.items() if hasattr(counter, name)}


def patience_counter() -> Any:
    from fairseq_cli import train  # only in a training: it imports all of fairseq

    return train.should_stop_early


class GoesOn(FairseqTask):
    """A task whose training goes on with the same batches and the same count for --patience."""

    def get_batch_iterator(self, dataset: Any, *args: Any, epoch: int = 1, **options: Any) -> Any:
        """fairseq draws batches once, with a seed that depends on the epoch in which it begins.

        A training that went on in epoch 5 had other batches than before it stopped: it repeated some sentences of
        that epoch and missed others.
        """
        kept = self.dataset_to_epoch_iter.get(dataset)
        batches = super().get_batch_iterator(dataset, *args, epoch=1, **options)
        if batches is not kept:
            dataset.set_epoch(epoch)
            batches.epoch = max(epoch, 1)
            batches._get_iterator_for_epoch = shuffling(batches)
        return batches

    def get_checkpoint_dict(self) -> dict[str, Any]:
        return {type(self).__name__: {"patience": patience_counts()}}

    def set_checkpoint_dict(self, state: dict[str, Any]) -> None:
        for name, value in state.get("patience", {}).items():
            setattr(patience_counter(), name, value)


def shuffling(batches: Any) -> Function:
    """fairseq keeps what the first epoch said: with --curriculum, batches were never shuffled."""
    kept = batches._get_iterator_for_epoch

    @functools.wraps(kept)
    def of_epoch(epoch: int, shuffle: bool, **options: Any) -> Any:
        if batches.dataloader is not None:
            batches.epoch_batch_sampler.shuffle = shuffle
        return kept(epoch, shuffle, **options)

    return of_epoch
