"""Standard output that cannot be written: a closed pipe is no error, a full disk is one line."""

import argparse
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMANDS = {
    "path": ["path"],
    "lines": ["noise", "--kind", "swap", "--word-rate", "1"],
    "help": ["--help"],
    "help of a command": ["noise", "--help"],
}


def run(words: list[str], output: Any, folder: Path, buffered: bool = True) -> tuple[int, str]:
    """The exit status and the errors of a command that writes to a file or a pipe."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    env |= {} if buffered else {"PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "lev_plugins", *words]
    found = subprocess.run(command, input=b"the cat sat\n", stdout=output, stderr=subprocess.PIPE, cwd=folder, env=env)
    return found.returncode, found.stderr.decode()


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_closes_the_pipe_has_read_enough(command: str, buffered: bool, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        status, said = run(COMMANDS[command], writing, tmp_path, buffered)
    finally:
        os.close(writing)
    # later releases of Python 3.11, and newer ones: argparse ignores what happens to its help
    ignores = "OSError" in inspect.getsource(argparse.ArgumentParser._print_message)
    ignored = "--help" in COMMANDS[command] and not buffered and ignores
    assert said == "" and status == (0 if ignored else 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it stands for a full disk")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_one_line(command: str, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        status, said = run(COMMANDS[command], full, tmp_path)
    says = "the disk, or your share of it, is full: free some space, and run the same command again"
    assert (status, said) == (2, f"lev-plugins: error: {says}\n")
