"""What fairseq forgets when a training stops and goes on, or has ended."""

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


def test_a_checkpoint_is_copied_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    new.write_bytes(b"new" * 1000)
    last.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", filling)
        with pytest.raises(OSError, match="No space left"):
            PathManager.copy(str(new), str(last), overwrite=True)
    assert last.read_bytes() == b"old" and sorted(tmp_path.iterdir()) == [new, last]
    new.chmod(0o600)
    old_mask = os.umask(0o077)
    try:
        assert PathManager.copy(str(new), str(last), overwrite=True)
    finally:
        os.umask(old_mask)
    assert last.read_bytes() == new.read_bytes() and last.stat().st_mode & 0o777 == 0o600


def filling(source: str, target: str) -> None:
    Path(target).write_bytes(Path(source).read_bytes()[:10])
    raise OSError(errno.ENOSPC, "No space left on device")


def loaded(updates: int, next_epoch: int, caplog: pytest.LogCaptureFixture, **options: Any) -> tuple[int, str]:
    """--max-epoch after loading such a checkpoint, and what was logged."""
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


def test_a_training_that_is_complete_stays_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    assert loaded(19, 3, caplog, max_update=20) == (0, "")
    end, text = loaded(20, 3, caplog, max_update=20)
    assert end == -1 and "complete: it has had 20 of 20 updates; raise --max-update to continue" in text
    end, text = loaded(20, 3, caplog, max_epoch=2)
    assert end == -1 and "2 of 2 epochs" in text
    end, text = loaded(20, 3, caplog, stop_time_hours=0.5)
    assert end == -1 and "1.00 of 0.5 hours; raise --stop-time-hours" in text
    with pytest.raises(UserError, match=r"--restore-file other\.pt"):
        loaded(3, 1, caplog, max_update=2, restore_file="other.pt")
    # a model that is fine-tuned begins without the hours that it was trained before
    assert loaded(0, 1, caplog, stop_time_hours=0.5) == (0, "")
    assert checkpoint_utils.load_checkpoint.__wrapped__.__module__ == "fairseq.checkpoint_utils"
