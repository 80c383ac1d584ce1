"""What fairseq forgets when a training stops and goes on, or has ended."""

import errno
import logging
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager
from fairseq_cli.train import should_stop_early

from lev_plugins import registration  # noqa: F401  installs what is tested
from lev_plugins.errors import UserError
from lev_plugins.fairseq_fixes.resuming import loading_unless_complete, patience_counts, restore_patience
from tests.helpers import RollIn, random_rows, toy_dataset, toy_task


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("best", "num_runs"):
        monkeypatch.setattr(should_stop_early, name, None, raising=False)
        monkeypatch.delattr(should_stop_early, name)


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
    cfg = SimpleNamespace(patience=-1, restore_file="checkpoint_last.pt", reset_optimizer=False, reset_meters=False)
    cfg.no_save = True
    trainer = SimpleNamespace(
        is_data_parallel_master=True,
        get_num_updates=lambda: updates,
        get_lr=lambda: options.get("lr", 0.1),
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


def test_a_training_that_is_complete_stays_as_it_is(caplog: pytest.LogCaptureFixture, forgotten: None) -> None:
    assert loaded(19, 3, caplog, max_update=20) == (0, "")
    assert loaded(0, 1, caplog, lr=0) == (0, "")  # a schedule may begin with 0
    end, text = loaded(20, 3, caplog, max_update=20)
    assert end == -1 and "complete: it has had 20 of 20 updates; raise --max-update to continue" in text
    end, text = loaded(20, 3, caplog, max_epoch=2)
    assert end == -1 and "2 of 2 epochs" in text
    end, text = loaded(20, 3, caplog, max_update=30, lr=0)
    assert end == 0 and "the learning rate is 0" in text
    end, text = loaded(20, 3, caplog, stop_time_hours=0.5)
    assert end == -1 and "1.00 of 0.5 hours; raise --stop-time-hours" in text
    should_stop_early.num_runs = 3
    end, text = loaded(20, 3, caplog, max_update=30, patience=3)
    assert end == -1 and "3 validations in a row were no better than the best; raise --patience" in text
    assert loaded(20, 3, caplog, max_update=30, patience=3, reset_meters=True) == (0, "")  # new validations
    assert not hasattr(should_stop_early, "num_runs")
    with pytest.raises(UserError, match=r"--restore-file other\.pt: nothing is left to train, it has had 3 of"):
        loaded(3, 1, caplog, max_update=2, restore_file="other.pt")
    # a model that is fine-tuned begins without the hours that it was trained before
    assert loaded(0, 1, caplog, stop_time_hours=0.5) == (0, "")
    assert checkpoint_utils.load_checkpoint.__wrapped__.__module__ == "fairseq.checkpoint_utils"


def test_patience_counts_on_after_a_stop(forgotten: None, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = SimpleNamespace(checkpoint=SimpleNamespace(patience=2, maximize_best_checkpoint_metric=False))
    rows = random_rows(4, 1)
    batches = toy_task().get_batch_iterator(toy_dataset(rows, rows, rows, RollIn(1)), max_sentences=4)
    batches.next_epoch_itr()
    assert batches.state_dict()["patience"] == {}
    assert not should_stop_early(limits, 1.0) and not should_stop_early(limits, 1.5)
    stored = {"train_iterator": batches.state_dict()}
    assert stored["train_iterator"]["patience"] == {"best": 1.0, "num_runs": 1}
    del should_stop_early.best, should_stop_early.num_runs  # another process
    restore_patience({"train_iterator": {"epoch": 1}}, "TextEditingTask")  # a checkpoint of fairseq's own tasks
    assert patience_counts() == {}
    restore_patience(stored, "TextEditingTask")
    batches.load_state_dict(stored["train_iterator"])
    assert should_stop_early(limits, 1.2)
    module = SimpleNamespace(should_stop_early=SimpleNamespace())  # python -m fairseq_cli.train
    monkeypatch.setitem(sys.modules, "__main__", module)
    old = {"train_iterator": {"epoch": 1}, "TextEditingTask": {"patience": {"num_runs": 5, "other": 1}}}
    restore_patience(old, "TextEditingTask")
    assert vars(module.should_stop_early) == {"num_runs": 5}


def test_batches_are_shuffled_after_a_curriculum(forgotten: None) -> None:
    """Whether an epoch is reached without a stop or begun after one."""
    rows = random_rows(40, 1, shortest=3, longest=9)

    def batches(epoch: int) -> Any:
        data = toy_dataset(rows, rows, rows, RollIn(1, 0.5, 0.5))
        return toy_task().get_batch_iterator(data, max_sentences=4, seed=1, epoch=epoch)

    def order(epoch: Any) -> list[list[int]]:
        return [batch["id"].tolist() for batch in epoch]

    whole = batches(1)
    first, second = (order(whole.next_epoch_itr(shuffle=epoch > 1)) for epoch in (1, 2))
    again = order(whole.next_epoch_itr(shuffle=True))
    assert sorted(first) == sorted(second) and first != second and again != second
    assert order(batches(2).next_epoch_itr(shuffle=True)) == second
