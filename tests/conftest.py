"""Tests use the components by their names in fairseq, as its commands do; tiers, groups and the limits of time."""

import signal
from pathlib import Path

import pytest
import torch

import lev_plugins
from lev_plugins.cli.main import main
from lev_plugins.data.labels.text import KINDS
from tests import labelling
from tests.helpers import Refusal
from tests.processor_time import ProcessorTime

lev_plugins.register()
pytest_plugins = ["pytester"]

# a shell starts what runs in the background deaf to Ctrl-C, and so would be all that tests start and interrupt
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PIPELINES = ("example", "demo")  # in the names of the files that run examples/ from end to end
LONGEST_FIRST = ["integration", "parity", "unit"]  # folders of tests
EVERYWHERE = {"toy", "noisy", "folders"}  # fixtures that cost so little that each worker makes its own


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Refusal:
    """The one line that a command of lev-plugins says when it refuses these arguments."""

    def of(*words: object) -> str:
        capsys.readouterr()
        assert main([str(word) for word in words]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("lev-plugins: error: ") and err.count("\n") == 1
        return err

    return of


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Toy data of each kind of labels."""
    return {kind: labelling.folder_of(tmp_path_factory.mktemp(kind), kind) for kind in KINDS}


def pytest_configure(config: pytest.Config) -> None:
    torch.set_num_threads(1)  # commands run in forks, which would wait for the threads of OpenMP for ever
    config.pluginmanager.register(ProcessorTime())


@pytest.hookimpl(tryfirst=True)  # pytest-xdist's own hook reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For ``--dist loadgroup``: tests that share a fixture go to one worker, all others to any; long ones come first.

    So the workers, which take group after group, end together.
    """
    first: dict[str, str] = {}  # by fixture, a fixture of the same group
    for item in items:
        if item.path.parent.name == "integration" and any(name in item.path.stem for name in PIPELINES):
            item.add_marker(pytest.mark.slow)
        for one in shared_fixtures(item):
            first[root(first, one)] = root(first, shared_fixtures(item)[0])
    for item in items:
        for one in shared_fixtures(item)[:1]:
            item.add_marker(pytest.mark.xdist_group(root(first, one)))
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, LONGEST_FIRST.index(tier(item))))


def tier(item: pytest.Item) -> str:
    """Returns the folder of ``tests/`` in which a test is."""
    return item.path.relative_to(Path(__file__).parent).parts[0]


def root(first: dict[str, str], fixture: str) -> str:
    while first.setdefault(fixture, fixture) != fixture:
        fixture = first[fixture]
    return fixture


def shared_fixtures(item: pytest.Item) -> list[str]:
    """Those of this folder that are made once for several tests, each with the parameter it is made for."""
    definitions = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    places = item.callspec.indices if hasattr(item, "callspec") else {}
    return [
        f"{found[-1].baseid}:{name}:{places.get(name, '')}"
        for name, found in definitions.items()
        if found[-1].scope != "function" and found[-1].baseid and name not in EVERYWHERE
    ]
