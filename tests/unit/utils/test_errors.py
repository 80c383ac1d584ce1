"""What the last line of a failing fairseq command says of errors that come from fairseq and torch themselves."""

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


def said(failing: Callable[[], Any]) -> str | None:
    with pytest.raises(Exception) as caught:
        failing()
    return explain(caught.value)


def too_long() -> Any:
    sizes = Namespace(size=lambda index: (1501, 0), sizes=None)
    return filter_by_size(np.array([0]), sizes, (1024, 1024), raise_exception=True)


def other_weights() -> Any:
    return torch.nn.Linear(2, 2).load_state_dict(torch.nn.Linear(3, 2).state_dict())


def no_part(folder: Path) -> Any:
    names = ("foo", "noisy", None, "clean", None)
    rest = {"combine": False, "dataset_impl": None, "upsample_primary": 1, "left_pad_source": True}
    rest |= {"left_pad_target": False, "max_source_positions": 9, "max_target_positions": 9}
    return load_langpair_dataset(str(folder), *names, **rest)


def test_errors_of_fairseq_and_torch(tmp_path: Path) -> None:
    found = said(too_long)
    assert found is not None and "it has (1501, 0) tokens" in found and "the model accepts (1024, 1024)" in found
    found = said(lambda: load_model_ensemble_and_task(["none.pt"]))
    assert found == "--path: there is no checkpoint none.pt"
    found = said(lambda: no_part(tmp_path))
    assert found == (
        f"{tmp_path} has no part called foo (--gen-subset, --train-subset, --valid-subset) in these languages "
        "(--source-lang, --target-lang) and this format (--dataset-impl)"
    )
    found = said(other_weights)
    assert found is not None and found.startswith("the checkpoint does not fit this model")


def test_input_that_is_not_utf8() -> None:
    found = said(lambda: b"w3 \xff w4".decode())
    assert found is not None and found.startswith("the input is not UTF-8 (byte 0xff)")


def test_failures_of_fairseq_commands_alone_end_with_our_line(
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
    other = KeyError("x")
    other.__context__ = full
    assert reported(other).startswith("a traceback\nlev-plugins: error: the disk, or your share of it, is full")
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
        (errno.EFBIG, "a file would be larger than the shell allows (ulimit -f): raise its limit"),
    ],
)
def test_a_full_disk_is_told_apart_from_a_limit(number: int, meaning: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only in a training are there checkpoints."""
    found = [OSError(number, os.strerror(number)), SafetensorError(f"I/O error: no room (os error {number})")]
    monkeypatch.delitem(sys.modules, "fairseq_cli.train", raising=False)
    assert {explain(error) for error in found} == {f"{meaning}, and run the same command again"}
    monkeypatch.setitem(sys.modules, "fairseq_cli.train", ModuleType("fairseq_cli.train"))
    assert {explain(error) for error in found} == {
        f"{meaning}, and run the same command again; earlier checkpoints are intact"
    }


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (FloatingPointError("gradients are Nan/Inf"), "the loss or its gradients became NaN or infinite; a warning"),
        (FloatingPointError("Minimum loss scale reached (0.0001)."), "the loss or its gradients became NaN or inf"),
        (AssertionError("min_len cannot be larger than max_len, please"), "--min-len exceeds the longest output"),
        (
            AssertionError("Optimizer does not match; please reset (--reset-optimizer). FairseqAdam vs FairseqNAG"),
            "the checkpoint was trained with FairseqAdam, but this command asks for FairseqNAG",
        ),
        (
            RuntimeError("Cannot resume training due to dataloader mismatch, please report this to the fairseq devel"),
            "the checkpoint is from the middle of an epoch that now has fewer batches",
        ),
        (ValueError("malformed node or string: <ast.Name>"), "--model-overrides must be a dictionary in Python's"),
    ],
)
def test_errors_of_a_wrong_flag(error: Exception, meaning: str) -> None:
    found = explain(error)
    assert found is not None and found.startswith(meaning)
