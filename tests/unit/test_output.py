"""Standard output that cannot be written: a closed pipe is not an error, a full disk is reported in one line."""

import argparse
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import mentions

PRINTING_COMMANDS = {
    "path": ["path"],
    "lines": ["noise", "--kind", "swap", "--word-rate", "1"],
    "help": ["--help"],
    "help of a command": ["noise", "--help"],
}


def run_with_output(words: list[str], output: Any, folder: Path, buffered: bool = True) -> tuple[int, str]:
    """Runs a command that writes to a file or pipe, and returns its exit status and its errors."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    env |= {} if buffered else {"PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "lev_plugins", *words]
    process = subprocess.run(
        command, input=b"the cat sat\n", stdout=output, stderr=subprocess.PIPE, cwd=folder, env=env
    )
    return process.returncode, process.stderr.decode()


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("command", PRINTING_COMMANDS)
def test_a_closed_pipe_ends_a_command_without_an_error(command: str, buffered: bool, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        status, error = run_with_output(PRINTING_COMMANDS[command], writing, tmp_path, buffered)
    finally:
        os.close(writing)
    # later releases of Python 3.11, and newer ones: argparse ignores what happens to its help
    ignores = "OSError" in inspect.getsource(argparse.ArgumentParser._print_message)
    ignored = "--help" in PRINTING_COMMANDS[command] and not buffered and ignores
    assert error == "" and status == (0 if ignored else 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it stands for a full disk")
@pytest.mark.parametrize("command", PRINTING_COMMANDS)
def test_a_full_disk_is_reported_in_one_line(command: str, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        status, error = run_with_output(PRINTING_COMMANDS[command], full, tmp_path)
    assert status == 2 and error.startswith("lev-plugins: error: ") and error.count("\n") == 1
    assert mentions(error, "disk full")
