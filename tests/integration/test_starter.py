"""What other tests rely on: a command that the starter runs is that command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.commands import BIN, ENVIRONMENT, run

NOISE = ["noise", "--kind", "swap", "--word-rate", "1"]
SAY = """
import os, sys
sys.stdout.write(sys.stdin.read())
sys.stderr.write(f"{sys.argv} {os.getcwd()} {os.environ.get('SAID')} {__name__} {'lev_plugins' in sys.modules}")
sys.exit(3)
"""
WAIT = "import time; print('here', flush=True); time.sleep(600)"


@pytest.mark.parametrize("words", [NOISE, [*NOISE, "--char-rate", "2"], ["noise"]], ids=len)
def test_it_says_what_the_command_says(words: list[str]) -> None:
    text = "naïve Zürich\n"
    assert run("lev-plugins", *words, stdin=text) == run(BIN / "lev-plugins", *words, stdin=text)


def test_arguments_streams_folder_and_variables_are_its_own(tmp_path: Path) -> None:
    found = run("python", "-c", SAY, "a b", stdin="é", cwd=tmp_path, SAID="hello")
    assert (found.code, found.out) == (3, "é")
    assert found.err == f"['-c', 'a b'] {tmp_path} hello __main__ False"
    (tmp_path / "say.py").write_text(SAY, encoding="utf-8")
    assert "['say.py'] " in run("python", "say.py", cwd=tmp_path).err


def waiting() -> subprocess.Popen[str]:
    process = subprocess.Popen(["python", "-c", WAIT], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "here\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_reaches_it(number: signal.Signals) -> None:
    process = waiting()
    process.send_signal(number)
    rest, _ = process.communicate(timeout=60)  # the stream ends when the command has ended, not its stand-in
    assert (process.returncode, rest) == (-number, "")


def test_other_variables_for_python_make_a_start_of_its_own() -> None:
    forked = "import sys; print('starter.py' in sys.orig_argv[1])"
    assert run("python", "-c", forked).out == f"{hasattr(os, 'pidfd_open')}\n"
    assert run("python", "-c", forked, PYTHONHASHSEED="1").out == "False\n"


IMPORT = """
import logging, sys
from importlib.util import find_spec
assert find_spec("torch") and not {"torch", "numpy", "fairseq", "lev_plugins"} & set(sys.modules)
import lev_plugins
assert "fairseq" not in sys.modules and not logging.getLogger().handlers
import fairseq.data
assert fairseq.data is sys.modules["fairseq"].data and fairseq.__spec__.origin and logging.getLogger().handlers
import numpy, torch
print(torch.ones(2).numpy().sum(), find_spec("numpy").origin == sys.modules["numpy"].__file__)
"""


@pytest.mark.slow
def test_a_library_is_there_when_it_is_imported_and_not_before() -> None:
    for python in ("python", sys.executable):
        result = run(python, "-c", IMPORT)
        assert (result.code, result.out) == (0, "2.0 True\n"), result.err
