"""Of two commands that write to one folder, the second is refused; a killed one leaves no lock."""

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
def lock_holder(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Starts a process that holds the lock of a folder and has a child."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def load_for_training(folder: Path, **options: Any) -> None:
    """Loads a checkpoint as fairseq-train does; the error shows that loading has begun."""

    def begin(*unused: object, **more: object) -> Any:
        raise FileNotFoundError("begun")

    cfg = SimpleNamespace(save_dir=str(folder), no_save=options.get("no_save", False))
    trainer = SimpleNamespace(is_data_parallel_master=options.get("master", True))
    with pytest.raises(FileNotFoundError, match="begun"):
        loading_unless_complete(begin)(cfg, trainer)


def test_a_second_training_in_one_folder_is_refused(tmp_path: Path) -> None:
    with lock_holder(tmp_path) as holder:
        with pytest.raises(UserError, match=rf"--save-dir {tmp_path}"):
            load_for_training(tmp_path)
        load_for_training(tmp_path, master=False)  # another process of the first one, which has the same folder
        load_for_training(tmp_path, no_save=True)
        load_for_training(tmp_path.parent / "not of this system")
        holder.kill()  # but not what it has started
        holder.wait()
        assert (tmp_path / ".lock").exists()
        load_for_training(tmp_path)
        load_for_training(tmp_path)  # one process may go on with its own


def test_file_systems_without_locks_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*unused: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.lockf", fail)
    load_for_training(tmp_path)


def test_a_second_distill_to_one_folder_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    data = random_triples(tmp_path, {"train": 4})
    teacher = write_teacher(tmp_path / "teacher.pt", data, *TRANSFORMER, "-s", "en", "-t", "de")
    command = ["distill", data, "--path", teacher, "--cpu", "--max-len-b", 5, "--dest", tmp_path / "new"]
    (tmp_path / "new.shards").mkdir()
    with lock_holder(tmp_path / "new.shards"):
        assert f"another distill is making {tmp_path / 'new'}" in refusal(*command)
    assert main([*map(str, command)]) == 0 and (tmp_path / "new" / "dict.de.txt").exists()


def test_the_second_of_two_new_folders_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with (
        pytest.raises(UserError, match=f"{out} was written by another command"),
        files.all_or_nothing_folder(out) as outer,
    ):
        (outer / "file").write_text("second")
        with files.all_or_nothing_folder(out) as inner:
            (inner / "file").write_text("first")
    assert (out / "file").read_text() == "first" and [*tmp_path.iterdir()] == [out]
