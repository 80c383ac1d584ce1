"""The last line of a failing fairseq command explains errors of fairseq and torch."""

import errno
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from fairseq.checkpoint_utils import load_model_ensemble_and_task
from fairseq.data.data_utils import filter_by_size
from fairseq.tasks.translation import load_langpair_dataset
from safetensors import SafetensorError

from lev_plugins.utils.errors import CONTINUED, STOPPED, UserError, explain, explain_at_exit


def explanation_of(failing: Callable[[], Any]) -> str | None:
    with pytest.raises(Exception) as caught:
        failing()
    return explain(caught.value)


def load_too_long() -> Any:
    sizes = Namespace(size=lambda index: (1501, 0), sizes=None)
    return filter_by_size(np.array([0]), sizes, (1024, 1024), raise_exception=True)


def load_wrong_weights() -> Any:
    return torch.nn.Linear(2, 2).load_state_dict(torch.nn.Linear(3, 2).state_dict())


def load_missing_part(folder: Path) -> Any:
    names = ("foo", "noisy", None, "clean", None)
    rest = {"combine": False, "dataset_impl": None, "upsample_primary": 1, "left_pad_source": True}
    rest |= {"left_pad_target": False, "max_source_positions": 9, "max_target_positions": 9}
    return load_langpair_dataset(str(folder), *names, **rest)


def test_errors_of_fairseq_and_torch_are_explained(tmp_path: Path) -> None:
    message = explanation_of(load_too_long)
    assert message is not None and "it has (1501, 0) tokens" in message and "the model accepts (1024, 1024)" in message
    message = explanation_of(lambda: load_model_ensemble_and_task(["none.pt"]))
    assert message == "--path: there is no checkpoint none.pt"
    message = explanation_of(lambda: load_missing_part(tmp_path))
    assert message is not None and f"{tmp_path} has no part called foo" in message and "--dataset-impl" in message
    message = explanation_of(load_wrong_weights)
    assert message is not None and message.startswith("the checkpoint does not fit this model")


def test_undecodable_input_is_explained() -> None:
    message = explanation_of(lambda: b"w3 \xff w4".decode())
    assert message is not None and message.startswith("the input is not UTF-8 (byte 0xff)")


def test_only_fairseq_commands_end_with_our_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def previous(*failure: object) -> None:
        sys.stderr.write("a traceback\n")

    def reported(error: BaseException) -> str:
        sys.excepthook(type(error), error, None)
        return capsys.readouterr().err

    monkeypatch.setattr(sys, "excepthook", previous)
    monkeypatch.delitem(sys.modules, "fairseq_cli", raising=False)
    explain_at_exit()
    assert reported(UserError("wrong")) == "a traceback\n"
    monkeypatch.setitem(sys.modules, "fairseq_cli", ModuleType("fairseq_cli"))
    explain_at_exit()
    assert reported(UserError("wrong")) == "lev-plugins: error: wrong\n"
    assert reported(KeyError("x")) == "a traceback\n"
    full = OSError(ENOSPC, "no room")
    assert reported(full).startswith("lev-plugins: error: the disk, or your share of it, is full")
    chained = KeyError("x")
    chained.__context__ = full
    assert reported(chained).startswith("a traceback\nlev-plugins: error: the disk, or your share of it, is full")
    assert reported(FloatingPointError("gradients are Nan/Inf")).startswith("a traceback\nlev-plugins: error: the loss")
    monkeypatch.delitem(sys.modules, "fairseq_cli.train", raising=False)
    assert reported(KeyboardInterrupt()) == f"{STOPPED}\n"
    monkeypatch.setitem(sys.modules, "fairseq_cli.train", ModuleType("fairseq_cli.train"))
    assert reported(KeyboardInterrupt()) == f"{STOPPED}{CONTINUED}\n"
    assert explain(KeyboardInterrupt()) is None


@pytest.mark.parametrize(
    ("number", "meaning"),
    [
        (errno.ENOSPC, "the disk, or your share of it, is full"),
        (errno.EDQUOT, "the disk, or your share of it, is full"),
        (errno.EFBIG, "ulimit -f"),
    ],
)
def test_a_full_disk_and_a_file_limit_are_explained(number: int, meaning: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages outside a training do not mention checkpoints."""
    failures = [OSError(number, os.strerror(number)), SafetensorError(f"I/O error: no room (os error {number})")]
    monkeypatch.delitem(sys.modules, "fairseq_cli.train", raising=False)
    assert all(meaning in str(explain(error)) and "checkpoints" not in str(explain(error)) for error in failures)
    monkeypatch.setitem(sys.modules, "fairseq_cli.train", ModuleType("fairseq_cli.train"))
    assert all("earlier checkpoints are intact" in str(explain(error)) for error in failures)


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (FloatingPointError("gradients are Nan/Inf"), "the loss or its gradients became NaN"),
        (FloatingPointError("Minimum loss scale reached (0.0001)."), "the loss or its gradients became NaN"),
        (AssertionError("min_len cannot be larger than max_len, please"), "--min-len exceeds the longest output"),
        (
            AssertionError("Optimizer does not match; please reset (--reset-optimizer). FairseqAdam vs FairseqNAG"),
            "the checkpoint was trained with FairseqAdam",
        ),
        (
            RuntimeError("Cannot resume training due to dataloader mismatch, please report this to the fairseq devel"),
            "the checkpoint is from the middle of an epoch",
        ),
        (ValueError("malformed node or string: <ast.Name>"), "--model-overrides must be a dictionary"),
    ],
)
def test_errors_caused_by_flags_are_explained(error: Exception, meaning: str) -> None:
    message = explain(error)
    assert message is not None and message.startswith(meaning)
