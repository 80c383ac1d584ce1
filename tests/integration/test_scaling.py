"""The program of docs/scaling.md on several workers writes what one process writes, also if a worker is killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.commands import ENVIRONMENT, LEVT, TIMEOUT, succeed
from tests.pages import blocks

pytest.importorskip("dask.bag")
pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")  # which distributed needs

pytestmark = pytest.mark.slow

SCALING_PAGE = "docs/scaling.md"


@pytest.fixture(scope="module")
def checkout(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with a corpus, the program of the page, and the corpus as one process edits it."""
    folder = tmp_path_factory.mktemp("checkout")
    succeed("lev-plugins", "export", LEVT, folder / "toy" / "light", "--data", toy)
    corpus = folder / "toy" / "corpus"
    corpus.mkdir()
    text = (
        (toy.parent / "train.mt").read_text("utf-8") + "\n\r\nÜber  today\tcomes \n" + "our teacher\u2028yes\r\n" * 20
    )
    (corpus / "a.txt").write_text(text, "utf-8", newline="")
    (corpus / "b.txt").write_text("", "utf-8")
    (corpus / "c.txt").write_text(f"{'v' * 12000}\ngladly and and", "utf-8")  # longer than a partition; no line feed
    [program] = [block for _, block in blocks(SCALING_PAGE, "python") if "client.compute" in block]
    (folder / "program.py").write_text(program, "utf-8")
    edited = succeed("lev-plugins", "edit", "toy/light", stdin=read_folder(corpus), cwd=folder)
    (folder / "one").write_bytes(edited.out.encode())
    return folder


def read_folder(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@contextmanager
def running(checkout: Path) -> Iterator["subprocess.Popen[str]"]:
    """Starts the program of the page without earlier output."""
    shutil.rmtree(checkout / "toy" / "edited", ignore_errors=True)
    command = [sys.executable, "program.py"]
    with subprocess.Popen(command, cwd=checkout, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as program:
        try:
            yield program
        finally:
            program.terminate()


def wait_for(what: Callable[[], object]) -> None:
    limit = time.monotonic() + 120
    while not what():
        assert time.monotonic() < limit
        time.sleep(0.01)


def written_parts(checkout: Path) -> list[Path]:
    """Returns the complete parts in the order in which they were written."""
    files = list((checkout / "toy" / "edited").glob("*.txt"))
    return sorted((path for path in files if path.stat().st_size), key=lambda path: path.stat().st_mtime_ns)


def kill_a_worker(program: "subprocess.Popen[str]") -> None:
    children = psutil.Process(program.pid).children()
    workers = [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)


def test_a_killed_worker_changes_no_output(checkout: Path) -> None:
    with running(checkout) as program:
        wait_for(lambda: len(written_parts(checkout)) >= 5)
        kill_a_worker(program)
        write_times = {
            path: path.stat().st_mtime_ns for path in written_parts(checkout)[:-2]
        }  # these may not have been released
        _, log = program.communicate(timeout=TIMEOUT)
    assert program.returncode == 0 and "Restarting worker" in log, log
    assert (
        read_folder(checkout / "toy" / "edited")
        == (checkout / "one").read_bytes()
        != read_folder(checkout / "toy" / "corpus")
    )
    # parts that were complete are not edited again
    assert len(write_times) < len(written_parts(checkout)) / 2
    assert {path: path.stat().st_mtime_ns for path in write_times} == write_times
