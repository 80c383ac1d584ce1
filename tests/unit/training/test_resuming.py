"""Checkpoints are copied atomically, and complete trainings are not continued."""

import errno
import logging
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from lev_plugins import registration  # noqa: F401  installs what is tested
from lev_plugins.training.resuming import loading_unless_complete
from lev_plugins.utils.errors import UserError


def test_checkpoints_are_copied_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    checkpoint.write_bytes(b"new" * 1000)
    last.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", fail_on_full_disk)
        with pytest.raises(OSError, match="No space left"):
            PathManager.copy(str(checkpoint), str(last), overwrite=True)
    assert last.read_bytes() == b"old" and sorted(tmp_path.iterdir()) == [checkpoint, last]
    checkpoint.chmod(0o600)
    old_mask = os.umask(0o077)
    try:
        assert PathManager.copy(str(checkpoint), str(last), overwrite=True)
    finally:
        os.umask(old_mask)
    assert last.read_bytes() == checkpoint.read_bytes() and last.stat().st_mode & 0o777 == 0o600


def fail_on_full_disk(source: str, target: str) -> None:
    Path(target).write_bytes(Path(source).read_bytes()[:10])
    raise OSError(errno.ENOSPC, "No space left on device")


def load_at_update(updates: int, next_epoch: int, caplog: pytest.LogCaptureFixture, **options: Any) -> tuple[int, str]:
    """Loads a checkpoint, and returns the resulting --max-epoch and the log."""
    limits = SimpleNamespace(max_update=0, max_epoch=0, stop_time_hours=0)
    cfg = SimpleNamespace(restore_file="checkpoint_last.pt")
    cfg.no_save = True
    trainer = SimpleNamespace(
        is_data_parallel_master=True,
        get_num_updates=lambda: updates,
        task=None,
        _previous_training_time=3600.0,
        cfg=SimpleNamespace(optimization=limits),
    )
    trainer.cumulative_training_time = lambda: trainer._previous_training_time
    for name, value in options.items():
        setattr(limits if hasattr(limits, name) else cfg, name, value)
    load = loading_unless_complete(lambda cfg, trainer: (None, SimpleNamespace(next_epoch_idx=next_epoch)))
    caplog.clear()
    with caplog.at_level(logging.INFO):
        load(cfg, trainer)
    return limits.max_epoch, caplog.text


def test_complete_trainings_are_not_continued(caplog: pytest.LogCaptureFixture) -> None:
    assert load_at_update(19, 3, caplog, max_update=20) == (0, "")
    end, text = load_at_update(20, 3, caplog, max_update=20)
    assert end == -1 and "20 of 20 updates" in text and "--max-update" in text
    end, text = load_at_update(20, 3, caplog, max_epoch=2)
    assert end == -1 and "2 of 2 epochs" in text
    end, text = load_at_update(20, 3, caplog, stop_time_hours=0.5)
    assert end == -1 and "1.00 of 0.5 hours" in text
    with pytest.raises(UserError, match=r"--restore-file other\.pt"):
        load_at_update(3, 1, caplog, max_update=2, restore_file="other.pt")
    # a model that is fine-tuned begins without the hours that it was trained before
    assert load_at_update(0, 1, caplog, stop_time_hours=0.5) == (0, "")
    assert checkpoint_utils.load_checkpoint.__wrapped__.__module__ == "fairseq.checkpoint_utils"
