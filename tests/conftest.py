"""Registration with fairseq, as by ``--user-dir``; shared fixtures, the order of tests, and their time limits."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import torch

import lev_plugins
from lev_plugins.cli.main import main
from lev_plugins.labelling.text import LABEL_KINDS
from tests import labelling
from tests.helpers import Refusal
from tests.systems import GOLDEN

lev_plugins.register()

# a shell starts background jobs with SIGINT ignored; the processes that tests start and interrupt would inherit that
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FOLDERS = ["integration", "parity", "unit"]  # of tests, in the order to run them
QUICK_SECONDS, SLOW_SECONDS = 20, 600  # processor time of a test; a slow processor needs twice that of a fast one


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Refusal:
    """Returns a function that runs a command of lev-plugins and returns the line in which it refuses its arguments."""

    def refuse(*words: object) -> str:
        capsys.readouterr()
        assert main([str(word) for word in words]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("lev-plugins: error: ") and err.count("\n") == 1
        return err

    return refuse


@pytest.fixture(scope="session")
def golden_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns a function from the name of a golden checkpoint to its model folder, which is exported once."""
    flags = {"levt": ["levt/data"], "pbd": ["noisy/data", "--bpe", "chars"], "labels": ["labels/data"]}

    @cache
    def folder(name: str) -> Path:
        out, (data, *bpe) = tmp_path_factory.mktemp("golden") / name, flags[name]
        words = ["export", GOLDEN / name / "checkpoint.pt", out, "--data", GOLDEN / data, *bpe]
        assert main([str(word) for word in words]) == 0
        return out

    return folder


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of toy data, one for each kind of labels."""
    return {kind: labelling.folder_of(tmp_path_factory.mktemp(kind), kind) for kind in LABEL_KINDS}


def pytest_configure() -> None:
    torch.set_num_threads(1)  # commands run in forks, which would wait for the threads of OpenMP for ever


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first, so that the workers of xdist end together."""
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, FOLDERS.index(folder_of_test(item))))


def folder_of_test(item: pytest.Item) -> str:
    """Return the folder of ``tests/`` that a test is in."""
    return item.path.relative_to(Path(__file__).parent).parts[0]


def processor_seconds() -> float:
    """Return the processor time of this process and of the child processes that have ended."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that needs more processor time than its tier allows, where the clock would depend on the load."""
    limit = QUICK_SECONDS if item.get_closest_marker("slow") is None else SLOW_SECONDS
    start = processor_seconds()
    result = yield
    seconds = processor_seconds() - start
    if seconds > limit:
        pytest.fail(f"{seconds:.0f} s of processor time, but at most {limit} are allowed: see CONTRIBUTING.md", False)
    return result
