"""Checkpoints are read without running what is in them, and written whole or not at all."""

import argparse
import os
import pickle
from pathlib import Path

import pytest
import torch

from lev_plugins import checkpoints
from lev_plugins.errors import UserError

GOOD = {"model": {"weight": torch.arange(4.0)}, "args": argparse.Namespace(arch="levt"), "cfg": None}


class Malicious:
    def __init__(self, canary: Path):
        self.canary = canary

    def __reduce__(self):
        return os.mkdir, (str(self.canary),)


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "new" / "folder" / "checkpoint.pt"
    checkpoints.save(GOOD, path)
    state = checkpoints.load(path)
    assert torch.equal(state["model"]["weight"], GOOD["model"]["weight"])
    assert state["args"] == GOOD["args"]
    assert [file.name for file in path.parent.iterdir()] == ["checkpoint.pt"]


@pytest.mark.parametrize("new_format", [True, False])
def test_a_malicious_pickle_is_refused_by_name_and_not_executed(tmp_path, new_format):
    path, canary = tmp_path / "bad.pt", tmp_path / "canary"
    torch.save({**GOOD, "extra_state": Malicious(canary)}, path, _use_new_zipfile_serialization=new_format)
    with pytest.raises(UserError, match=r"bad\.pt was not loaded, .*: it contains posix\.mkdir"):
        checkpoints.load(path)
    assert not canary.exists()


def test_a_plain_malicious_pickle_too(tmp_path):
    path, canary = tmp_path / "bad.pt", tmp_path / "canary"
    path.write_bytes(pickle.dumps(Malicious(canary)))
    with pytest.raises(UserError, match=r"bad\.pt was not loaded, and nothing in it was executed"):
        checkpoints.load(path)
    assert not canary.exists()


@pytest.mark.parametrize("kept", [0.2, 0.6, 0.99])
def test_a_truncated_file(tmp_path, kept):
    path = tmp_path / "short.pt"
    checkpoints.save({"model": {"weight": torch.zeros(10_000)}}, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(UserError, match=r"short\.pt was not loaded, .*: it is truncated, .* use an older one"):
        checkpoints.load(path)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x80\x02garbage", bytes(1000)])
def test_no_torch_file(tmp_path, content):
    path = tmp_path / "other.pt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"other\.pt was not loaded"):
        checkpoints.load(path)


@pytest.mark.parametrize("name", ["absent.pt", "."])
def test_no_file(tmp_path, name):
    with pytest.raises(UserError, match="there is no checkpoint"):
        checkpoints.load(tmp_path / name)


def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.pt"
    checkpoints.save(GOOD, path)

    def fail(state, file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(OSError, match="No space left on device"):
        checkpoints.save({"model": {}}, path)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]
    assert torch.equal(checkpoints.load(path)["model"]["weight"], GOOD["model"]["weight"])
