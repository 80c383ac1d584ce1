"""What fairseq forgets when a training stops and goes on, or has ended."""

from __future__ import annotations

import errno
import logging
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager
from fairseq_cli.train import should_stop_early

from lev_plugins import registration  # noqa: F401  installs what is tested
from lev_plugins.fairseq_fixes.resuming import finished
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
        patch.setattr(shutil, "copyfileobj", filling)
        with pytest.raises(OSError, match="No space left"):
            PathManager.copy(str(new), str(last), overwrite=True)
    assert last.read_bytes() == b"old" and sorted(tmp_path.iterdir()) == [new, last]
    assert PathManager.copy(str(new), str(last), overwrite=True)
    assert last.read_bytes() == new.read_bytes()


def filling(source: Any, target: Any, length: int) -> None:
    target.write(source.read(10))
    raise OSError(errno.ENOSPC, "No space left on device")


def loaded(updates: int, next_epoch: int, caplog: pytest.LogCaptureFixture, **options: Any) -> tuple[int, str]:
    """--max-epoch after loading such a checkpoint, and what was logged."""
    values = {"max_update": 0, "max_epoch": 0, "patience": -1, "lr": 0.1, **options}
    limits = SimpleNamespace(max_update=values["max_update"], max_epoch=values["max_epoch"])
    trainer = SimpleNamespace(
        get_num_updates=lambda: updates,
        get_lr=lambda: values["lr"],
        cfg=SimpleNamespace(optimization=limits),
    )
    load = finished(lambda cfg, trainer: (None, SimpleNamespace(next_epoch_idx=next_epoch)))
    caplog.clear()
    with caplog.at_level(logging.INFO):
        load(SimpleNamespace(patience=values["patience"]), trainer)
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
    should_stop_early.num_runs = 3
    end, text = loaded(20, 3, caplog, max_update=30, patience=3)
    assert end == -1 and "3 validations in a row were no better than the best; raise --patience" in text
    assert checkpoint_utils.load_checkpoint.__wrapped__.__module__ == "fairseq.checkpoint_utils"


def test_patience_counts_on_after_a_stop(forgotten: None) -> None:
    limits = SimpleNamespace(checkpoint=SimpleNamespace(patience=2, maximize_best_checkpoint_metric=False))
    task = toy_task()
    assert not should_stop_early(limits, 1.0) and not should_stop_early(limits, 1.5)
    stored = task.get_checkpoint_dict()
    assert stored == {"TextEditingTask": {"patience": {"best": 1.0, "num_runs": 1}}}
    del should_stop_early.best, should_stop_early.num_runs  # another process
    assert task.get_checkpoint_dict() == {"TextEditingTask": {"patience": {}}}
    toy_task().set_checkpoint_dict(stored["TextEditingTask"])
    assert should_stop_early(limits, 1.2)


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
