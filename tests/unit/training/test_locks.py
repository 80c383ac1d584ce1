"""Two commands that write to one place: the second one is refused in one line; what a killed one left stops nobody."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lev_plugins.cli.main import main
from lev_plugins.training.resuming import loading_unless_complete
from lev_plugins.utils import files
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal
from tests.teachers import TRANSFORMER, random_triples, write_teacher

HOLDER = """
import os, sys, time
from lev_plugins.utils.files import lock
lock(sys.argv[1], "it is locked already")
if os.fork() == 0:  # as a worker that reads batches
    time.sleep(30)
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def another(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that writes to a folder, and one that it has started."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def load(folder: Path, **options: Any) -> None:
    """As fairseq-train loads a checkpoint; the error below says that it has begun to."""

    def begin(*unused: object, **more: object) -> Any:
        raise FileNotFoundError("begun")

    cfg = SimpleNamespace(save_dir=str(folder), no_save=options.get("no_save", False))
    trainer = SimpleNamespace(is_data_parallel_master=options.get("master", True))
    with pytest.raises(FileNotFoundError, match="begun"):
        loading_unless_complete(begin)(cfg, trainer)


def test_a_second_training_is_refused(tmp_path: Path) -> None:
    with another(tmp_path) as first:
        with pytest.raises(UserError, match=rf"another training is writing to --save-dir {tmp_path}: wait until"):
            load(tmp_path)
        load(tmp_path, master=False)  # another process of the first one, which has the same folder
        load(tmp_path, no_save=True)
        load(tmp_path.parent / "not of this system")
        first.kill()  # but not what it has started
        first.wait()
        assert (tmp_path / ".lock").exists()
        load(tmp_path)
        load(tmp_path)  # one process may go on with its own


def test_a_folder_without_locks_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*unused: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.lockf", fail)
    load(tmp_path)


def test_a_second_distill_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    data = random_triples(tmp_path, {"train": 4})
    teacher = write_teacher(tmp_path / "teacher.pt", data, *TRANSFORMER, "-s", "en", "-t", "de")
    command = ["distill", data, "--path", teacher, "--cpu", "--max-len-b", 5, "--dest", tmp_path / "new"]
    (tmp_path / "new.shards").mkdir()
    with another(tmp_path / "new.shards"):
        assert f"another distill is making {tmp_path / 'new'}: wait until it ends, or name" in refusal(*command)
    assert main([*map(str, command)]) == 0 and (tmp_path / "new" / "distill.json").exists()


def test_of_two_new_folders_the_second_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    message = rf"{out} was written by another command meanwhile \(.*not empty.*\)"
    with pytest.raises(UserError, match=message), files.all_or_nothing_folder(out) as second:
        (second / "file").write_text("second")
        with files.all_or_nothing_folder(out) as first:
            (first / "file").write_text("first")
    assert (out / "file").read_text() == "first" and [*tmp_path.iterdir()] == [out]
